#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in C99 that opens the libraries of byoc/c/byoc.h with dlopen.

    c_test.py PROGRAM BUILD SOURCE [SANITIZERS]

In a build with sanitizers, "address,undefined" or "thread", a finding ends the program and thereby the test. Sizes are not
compared there: a sanitizer adds to libraries, and keeps freed memory.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

PROGRAM, BUILD, SOURCE = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
MODEL = SOURCE / "tests/models/digits/model.onnx"
SANITIZERS = [word for word in "".join(sys.argv[4:5]).split(",") if word]
PLUGINS = BUILD / "lib/byoc/plugins"
QUICK = ["rounds=2", "min-time=0.01", "warmup=0", "observations=none", "no-peaks"]
# A command with its options, as byoc_<command> and the command line have them: "rounds=2" is --rounds 2.
COMMANDS = {
    "explain": [],
    "verify": ["against=json", "seed=3"],
    "place": ["estimates"],
    "partition": ["output=-"],
    "bench": [*QUICK, "threads=1,2", "seed=5"],
    "profile": ["seed=5"],
    "report": ["output={folder}/page.html", "rounds=2", "min-time=0.01", "warmup=0", "vs=level=1"],
}
TIMED = {"bench", "profile", "report", "doctor"}
NEEDED = {"libc", "libm", "libstdc++", "libgcc_s", "libgomp", "ld-linux-x86-64", "linux-vdso", "libpthread", "libdl"}
OF_SANITIZERS = {"address": "libasan", "undefined": "libubsan", "thread": "libtsan"}


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if " T " in line}


def same_facts(value, key=""):
    """The value without what differs from one measurement to the next: numbers, and lists of numbers."""
    if isinstance(value, dict):
        return {name: same_facts(item, name) for name, item in value.items() if name != "busy"}
    if isinstance(value, list):
        items = [same_facts(item) for item in value]
        return "numbers" if all(item == "number" for item in items) and key.endswith("_ns") else items
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def flags(options):
    """Options as words of a command line."""
    return [word for option in options for word in f"--{option}".split("=", 1)]


def compare(command, ours, theirs):
    ours, theirs = json.loads(ours), json.loads(theirs)
    for value in (ours, theirs):
        value.pop("seconds", None)
    if command in TIMED:
        ours, theirs = same_facts(ours), same_facts(theirs)
    assert ours == theirs, f"{command}: {ours}\n{theirs}"
    print(f"byoc_{command}: as byoc {command} --json")


def compare_tools(whole, folder):
    """What the functions for models give is what the commands print, with the same options."""
    shared = ["shape=N=1", "compiler=onednn,llvm"]
    for command, options in COMMANDS.items():
        options = shared + [option.format(folder=folder) for option in options]
        ours = run(PROGRAM, "json", whole, MODEL, PLUGINS, command, *options)
        page = folder / "page.html"
        page_of_ours = page.read_text() if page.exists() else ""
        words = ["run", "--profile"] if command == "profile" else [command]
        compare(command, ours, run(BUILD / "bin/byoc", *words, MODEL, *flags(options), "--json"))
    assert page_of_ours.startswith("<!DOCTYPE html>") and "onednn_main_0" in page_of_ours, page_of_ours[:200]
    svg = run(PROGRAM, "json", whole, MODEL, PLUGINS, "partition_svg", *shared)
    run(BUILD / "bin/byoc", "partition", MODEL, *flags(shared), "--svg", folder / "net.svg")
    assert svg == (folder / "net.svg").read_text(), svg
    print("byoc_partition_svg: as byoc partition --svg")
    op = ["op=relu", "shape=x=4", "compiler=json", *QUICK]
    compare("bench", run(PROGRAM, "json", whole, "-", PLUGINS, "bench", *op),
            run(BUILD / "bin/byoc", "bench", *flags(op), "--json"))


def compare_installation(whole, folder):
    """Plugins and doctor, with a file that is no plugin."""
    os.environ["BYOC_PLUGIN_PATH"] = str(PLUGINS)           # the libraries were moved away from it
    (folder / "broken.so").write_text("no plugin")
    for command in ("plugins", "doctor"):
        option = f"plugin={folder / 'broken.so'}"
        ours = run(PROGRAM, "json", whole, MODEL, PLUGINS, command, option)
        theirs = run(BUILD / "bin/byoc", command, *flags([option]), "--json", code=1)
        compare(command, ours, theirs)
        assert "broken.so" in ours and '"refused"' in ours, ours


def declared(macros):
    text = "".join(header.read_text() for header in sorted((SOURCE / "include/byoc/c").glob("*.h")))
    return set(re.findall(rf"^(?:{macros}) [^;(]*?\b(byoc_[a-z_]+)\(", text, re.MULTILINE))


def context_bytes(artifact):
    """The memory of a context of the digits network: its arena and workspace, and its tensors, each a multiple of 64."""
    memory = json.loads(run(BUILD / "bin/byoc-run", artifact, "--profile", "--json"))["memory"]
    tensors = [1 * 1 * 8 * 8 * 4, 1 * 10 * 4]
    return memory["arena_bytes"] + memory["workspace_bytes"] + sum((size + 63) // 64 * 64 for size in tensors)


def check_errors_reached():
    """Every function that can fail is in errors.c, with an error that is expected of it."""
    header = "".join(path.read_text() for path in sorted((SOURCE / "include/byoc/c").glob("*.h")))
    fallible = set(re.findall(r"^BYOC_(?:RUNTIME_)?API byoc_error\* (byoc_[a-z_]+)\(", header, re.MULTILINE))
    fallible.remove("byoc_error_new")                       # its result is the error that the caller orders
    text = (SOURCE / "tests/c/errors.c").read_text()
    reached = set(re.findall(r"EXPECT\(\w+, \S+,\s+p_(byoc_[a-z_]+)\(", text))
    assert fallible <= reached, f"errors.c reaches no error of {fallible - reached}"


RUNNING_SUM = """module {
  fn main(%x: f32[4], %past: f32[4]) {output_names=["present","twice"]} {
    %two = const(2.0) : f32[]
    %0 = add(%past, %x)
    %1 = multiply(%0, %two)
    return %0, %1
  }
}
"""


def check_states(runtime, folder):
    """A state is the sum of the inputs so far."""
    model, artifact = folder / "running_sum.ir", folder / "running_sum.byoc"
    model.write_text(RUNNING_SUM)
    run(BUILD / "bin/byoc", "compile", model, "--compiler", "json", "--state", "past=present", "-o", artifact)
    got = run(PROGRAM, "states", runtime, artifact, PLUGINS)
    wanted = "1 state, past to present, in place 0\npast 2 2 2 2\npresent 41 3 3 3\npast 0 0 0 0\n"
    assert got == wanted, got


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        whole, runtime = folder / "libbyoc.so.0", folder / "moved/libbyoc_runtime.so.0"
        runtime.parent.mkdir()
        shutil.copy(BUILD / "lib/libbyoc.so.0", whole)
        shutil.copy(BUILD / "lib/libbyoc_runtime.so.0", runtime)
        assert exported(runtime) == declared("BYOC_RUNTIME_API"), exported(runtime) ^ declared("BYOC_RUNTIME_API")
        assert exported(whole) == declared("BYOC_RUNTIME_API|BYOC_API"), exported(whole) ^ declared("BYOC_RUNTIME_API|BYOC_API")
        needed = {line.split()[0].split(".so")[0].split("/")[-1] for line in run("ldd", runtime).splitlines()}
        added = {OF_SANITIZERS[name] for name in SANITIZERS}
        assert added <= needed and needed <= NEEDED | added, (needed, added)
        # As packages have it, without symbols: states, isolated plugins, fallbacks, devices and signatures are in it.
        stripped = folder / "stripped.so"
        run("strip", "-o", str(stripped), str(runtime))
        size = stripped.stat().st_size
        assert size < 2_000_000 or SANITIZERS, size
        print(f"libbyoc_runtime.so: {size} bytes, needs {' '.join(sorted(needed))}")

        artifact = folder / "net.byoc"
        assert run(PROGRAM, "compile", whole, MODEL, PLUGINS, artifact) == "2 sizes: N=1, N=4\n"
        numpy.save(folder / "ones.npy", numpy.ones((1, 1, 8, 8), numpy.float32))
        run(BUILD / "bin/byoc-run", artifact, "--input", f"{folder / 'ones.npy'}", "--output-dir", folder / "out")
        expected = numpy.load(next((folder / "out").glob("*.npy"))).tobytes()
        for library in (whole, runtime):
            run(PROGRAM, "run", library, artifact, PLUGINS, folder / "y.bin")
            assert (folder / "y.bin").read_bytes() == expected, f"{library} computes other bytes than byoc-run"
        print("8 threads: equal to byoc-run, bit by bit")

        compare_tools(whole, folder)
        compare_installation(whole, folder)
        check_errors_reached()
        print("errors:", run(PROGRAM, "errors", whole, MODEL, PLUGINS).strip())
        print("a plugin of the program:", run(PROGRAM, "register", whole, MODEL, PLUGINS).strip())
        expected = context_bytes(artifact)
        for library in (whole, runtime):
            counted = run(PROGRAM, "allocator", library, artifact, PLUGINS)
            assert counted == f"{expected} bytes for a context, 0 left\n", counted
        print("the program's allocator:", counted.strip())
        check_states(runtime, folder)
        count = int(os.environ.get("BYOC_TEST_CYCLES", "20" if SANITIZERS else "300"))
        for growth in (run(PROGRAM, "cycles", runtime, artifact, PLUGINS, count),
                       run(PROGRAM, "compile-cycles", whole, MODEL, PLUGINS, count, folder / "again.byoc")):
            print(growth.strip())
            assert int(growth.split()[0]) < 2048 or SANITIZERS, growth


if __name__ == "__main__":
    main()
