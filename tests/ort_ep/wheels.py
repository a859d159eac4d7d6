#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a version of onnxruntime into an environment of its own and runs session_test.py there.

    wheels.py VERSION SOURCE BUILD FOLDER        VERSION: "1.23.2", or "newest"

Exits with 77 where pip cannot install it.
"""
import os
import subprocess
import sys
from pathlib import Path


def main():
    version, source, build, folder = sys.argv[1], *(Path(word).resolve() for word in sys.argv[2:5])
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    package = "onnxruntime" if version == "newest" else f"onnxruntime=={version}"
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", package, "onnx", "numpy"], text=True, capture_output=True)
    if done.returncode != 0:
        print(f"skipped: pip cannot install {package}\n{done.stderr}")
        sys.exit(77)
    test = source / "tests/ort_ep/session_test.py"
    temporary = folder / "temporary"                       # the test counts files that are left in it
    temporary.mkdir(exist_ok=True)
    sys.exit(subprocess.run([python, test, source, build], env={**os.environ, "TMPDIR": str(temporary)}).returncode)


main()
