#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in C99 that opens the libraries of byoc/c/byoc.h with dlopen.

    c_test.py PROGRAM BUILD SOURCE
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

PROGRAM, BUILD, SOURCE = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
MODEL = SOURCE / "tests/models/digits/model.onnx"
PLUGINS = BUILD / "lib/byoc/plugins"
NEEDED = {"libc", "libm", "libstdc++", "libgcc_s", "libgomp", "ld-linux-x86-64", "linux-vdso", "libpthread", "libdl"}


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if " T " in line}


def declared(macros):
    text = (SOURCE / "include/byoc/c/byoc.h").read_text()
    return set(re.findall(rf"^(?:{macros}) [^;(]*?\b(byoc_[a-z_]+)\(", text, re.MULTILINE))


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
        assert needed <= NEEDED, needed - NEEDED
        size = runtime.stat().st_size
        assert size < 2_000_000, size
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

        for command, flags in {"explain": [], "verify": ["--against", "json", "--seed", "3"], "place": ["--estimates"]}.items():
            ours = json.loads(run(PROGRAM, "json", whole, MODEL, PLUGINS, command))
            theirs = json.loads(run(BUILD / "bin/byoc", command, MODEL, "--shape", "N=1", "--compiler", "onednn,llvm", *flags,
                                    "--json"))
            for value in (ours, theirs):
                value.pop("seconds", None)
            assert ours == theirs, f"{command}: {ours}\n{theirs}"
            print(f"byoc_{command}: as byoc {command} --json")

        print("errors:", run(PROGRAM, "errors", whole, MODEL, PLUGINS).strip())
        print("a plugin of the program:", run(PROGRAM, "register", whole, MODEL, PLUGINS).strip())
        growth = run(PROGRAM, "cycles", runtime, artifact, PLUGINS, 300)
        print(growth.strip())
        assert int(growth.split()[0]) < 2048, growth


if __name__ == "__main__":
    main()
