#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""allocations.py BUILD FOLDER PROGRAM [MOST]: compiles a model by llvm and json, and lets every allocation of its runs fail by PROGRAM."""
import os
import subprocess
import sys
from pathlib import Path

MODEL = "fn main(%x: f32[8,16]) {\n  %w = const(0.0) : f32[8,16]\n  %0 = add(%x, %w)\n  %1 = relu(%0)\n  return %1\n}\n"


def main(build, folder, program, *most):
    build, folder = Path(build).resolve(), Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.ir").write_text(MODEL)
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), BYOC_TUNING_PATH="", BYOC_PLUGIN_PATH="")
    failed = False
    for compiler, plugin in (("llvm", "-"), ("json", build / "lib/byoc/plugins/libbyoc_json.so")):
        artifact = f"{compiler}.byoc"
        subprocess.run([build / "bin/byoc", "compile", "m.ir", "--compiler", compiler, "-o", artifact, "-q"],
                       cwd=folder, env=env, check=True)
        ran = subprocess.run([Path(program).resolve(), artifact, plugin, *most], cwd=folder, env=env, check=False,
                             capture_output=True, text=True, errors="replace")
        print(f"{compiler}:\n{ran.stdout}{ran.stderr}", flush=True)
        failed |= ran.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
