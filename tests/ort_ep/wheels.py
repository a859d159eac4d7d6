#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a version of onnxruntime into an environment of its own and runs a script there.

    wheels.py VERSION SOURCE BUILD FOLDER SCRIPT [ARGUMENT...]        VERSION: "1.23.2", or "newest"

The script gets SOURCE, BUILD and the arguments. Exits with 77 where pip cannot install the version.
"""
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    version, source, build, folder = sys.argv[1], *(Path(word).resolve() for word in sys.argv[2:5])
    python = folder / "bin/python"
    package = "onnxruntime" if version == "newest" else f"onnxruntime=={version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:              # several tests use the environment
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", package, "onnx", "numpy"], text=True, capture_output=True)
    if done.returncode != 0:
        print(f"skipped: pip cannot install {package}\n{done.stderr}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:  # tests count files that are left in it
        # Newer versions send data about their use to their makers without the variable.
        environment = {**os.environ, "TMPDIR": temporary, "ORT_DISABLE_TELEMETRY": "1"}
        sys.exit(subprocess.run([python, sys.argv[5], source, build, *sys.argv[6:]], env=environment).returncode)


main()
