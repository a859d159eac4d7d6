#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""allocations.py BUILD FOLDER PROGRAM [MOST]: compiles a model by llvm, and lets every allocation of its runs fail by PROGRAM."""
import os
import subprocess
import sys
from pathlib import Path

MODEL = "fn main(%x: f32[8,16]) {\n  %w = const(0.0) : f32[8,16]\n  %0 = add(%x, %w)\n  %1 = relu(%0)\n  return %1\n}\n"


def main(build, folder, program, *most):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.ir").write_text(MODEL)
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), BYOC_TUNING_PATH="", BYOC_PLUGIN_PATH="")
    subprocess.run([Path(build).resolve() / "bin/byoc", "compile", "m.ir", "--compiler", "llvm", "-o", "m.byoc", "-q"],
                   cwd=folder, env=env, check=True)
    return subprocess.run([Path(program).resolve(), "m.byoc", "-", *most], cwd=folder, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
