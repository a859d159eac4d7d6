#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which sources a batch compiles, and that edits and new sources are compiled.

batches.py TREE FOLDER: builds a small project in FOLDER with the batches of TREE, and runs its program.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(batches LANGUAGES C CXX)
include({tree}/cmake/options.cmake)
include({tree}/cmake/batches.cmake)
set_source_files_properties(a/own.cc PROPERTIES COMPILE_DEFINITIONS OWN=100)
file(GLOB sources CONFIGURE_DEPENDS *.cc */*.cc */*.c)
byoc_batches(sum sources)
add_executable(sum ${{sources}})
"""
SOURCES = {
    "main.cc": '#include <cstdio>\nint one(), two(), three(), alone(), own();\nextern "C" int plain(void);\n'
               'int main() { std::printf("%d", one() + two() + three() + alone() + own() + plain()); }\n',
    "a/one.cc": "namespace { int first() { return 1; } }\nint one() { return first(); }\n",
    "a/two.cc": "namespace { int second() { return 2; } }\nint two() { return second(); }\n",
    "a/three.cc": "int three() { return 3; }\n",
    "a/own.cc": "int own() { return OWN; }\n",
    "a/plain.c": "int plain(void) { int class = 1000; return class; }\n",
    "b/alone.cc": "int alone() { return 10; }\n",
}


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return done.stdout


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {found}, expected {expected}")


def build(folder, name, batch):
    run("cmake", "-S", folder, "-B", folder / name, "-G", "Ninja", f"-DBYOC_BATCH={batch}")
    run("cmake", "--build", folder / name)
    return run(folder / name / "bin/sum")


def batches_of(build_folder):
    """Returns the text of each batch, by its name."""
    return {path.name: path.read_text() for path in sorted((build_folder / "batches").glob("*"))}


def compiled(build_folder):
    """Returns the names of the files that the compiler is given."""
    entries = json.loads((build_folder / "compile_commands.json").read_text())
    return sorted(Path(entry["file"]).name for entry in entries)


def main():
    tree, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(tree=tree))
    single = sorted(Path(name).name for name in SOURCES)

    expect(build(folder, "build", 2), "1116", "the sum with batches")
    batch = '#include "../../a/one.cc"\n#include "../../a/three.cc"\n'
    joined = '#include "../../b/alone.cc"\n#include "../../main.cc"\n'
    expect(batches_of(folder / "build"), {"sum.a.1.cc": batch, "sum.b.1.cc": joined}, "batches of two")
    others = set(single) - {"one.cc", "three.cc", "alone.cc", "main.cc"}
    expect(compiled(folder / "build"), sorted(others | {"sum.a.1.cc", "sum.b.1.cc"}), "compiled with batches")
    database = folder / "build/compile_commands.json"
    alone = json.loads(run(sys.executable, tree / "cmake/single_commands.py", database))
    expect(sorted(Path(entry["file"]).name for entry in alone), single, "commands of single sources")
    expect([entry["command"].split()[-1] for entry in alone], [entry["file"] for entry in alone], "what they compile")

    (folder / "a/three.cc").write_text("int three() { return 4; }\n")
    (folder / "a/four.cc").write_text("int four() { return 5; }\n")
    run("cmake", "--build", folder / "build")
    expect(run(folder / "build/bin/sum"), "1117", "the sum after an edit")
    expect(sorted(batches_of(folder / "build")), ["sum.a.1.cc", "sum.a.2.cc", "sum.b.1.cc"], "batches with a new source")

    expect(build(folder, "build-single", 0), "1117", "the sum without batches")
    expect(compiled(folder / "build-single"), sorted(single + ["four.cc"]), "compiled without batches")

    for name in [f"c/part_{k}.cc" for k in range(7)] + ["d/other.cc"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"int {Path(name).stem}() {{ return 0; }}\n")
    (folder / "d/CMakeLists.txt").write_text("")
    expect(build(folder, "build-joined", 12), "1117", "the sum with joined folders")
    found = batches_of(folder / "build-joined")
    expect(sorted(found), ["sum.a.1.cc", "sum.c.1.cc"], "batches of folders")
    small = [f'#include "../../{name}.cc"\n' for name in ("a/four", "a/one", "a/three", "a/two", "b/alone")]
    expect(found["sum.a.1.cc"].splitlines(True), small, "small folders in one batch")
    expect({"other.cc", "main.cc"} <= set(compiled(folder / "build-joined")), True, "folders with their own CMakeLists.txt")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
