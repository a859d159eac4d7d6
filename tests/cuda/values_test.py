# SPDX-License-Identifier: Apache-2.0
"""Kernels of each class give the numbers of the reference: the PTX of the artifact runs on a pretended driver."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

from models import MODELS

BUILD, DRIVER = sys.argv[1:3]
INPUTS = {"gather": ["--input", "i=i64[7]=3"]}


def check(name, folder):
    path = os.path.join(folder, name + ".ir")
    with open(path, "w") as file:
        file.write(MODELS[name])
    command = [os.path.join(BUILD, "bin/byoc"), "verify", path, "--compiler", "cuda", "--default", "json",
               "--plugin-option", f"cuda.driver={DRIVER}", "--strict", "-o", os.path.join(folder, name + ".wrong")]
    run = subprocess.run(command + INPUTS.get(name, []), capture_output=True, text=True)
    return name, run.returncode, run.stdout + run.stderr


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, code, text in pool.map(lambda one: check(one, folder), MODELS):
            print(f"{'ok  ' if code == 0 else 'FAIL'} {name}")
            if code != 0:
                print(text)
                wrong += 1
    print(f"{len(MODELS) - wrong} of {len(MODELS)} models right")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
