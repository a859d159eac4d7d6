# SPDX-License-Identifier: Apache-2.0
"""Kernels of each class give the right numbers: the PTX of the artifact runs on a pretended driver.

Small models are compared with the reference plugin, blocks of networks with what torch computed.
usage: values_test.py BUILD DRIVER [CUBLASLT]
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from models import MODELS

BUILD, DRIVER, LIBRARY = (*sys.argv[1:4], "none")[:3]
INPUTS = {"gather": ["--input", "i=i64[7]=3"]}
TESTS = Path(__file__).resolve().parent.parent
STORED = sorted(path.parent for pattern in ("blocks/*/model.onnx", "digits/model.onnx", "control/*/model.onnx")
                for path in (TESTS / "models").glob(pattern) if (path.parent / "test_data_set_0").is_dir())
OPEN = ["open_loops"]  # sizes of a run are not for devices


def verify(name, model, folder, *more):
    command = [os.path.join(BUILD, "bin/byoc"), "verify", str(model), "--compiler", "cuda", "--default", "json",
               "--plugin-option", f"cuda.driver={DRIVER}", "--plugin-option", f"cuda.cublaslt={LIBRARY}", "-o", os.path.join(folder, name + ".wrong"), *more]
    run = subprocess.run(command, capture_output=True, text=True,
                         env={**os.environ, "BYOC_DEVICE_TIMEOUT_MS": "500000"})
    return name, run.returncode, run.stdout + run.stderr


def small(name, folder):
    path = os.path.join(folder, name + ".ir")
    with open(path, "w") as file:
        file.write(MODELS[name])
    return verify(name, path, folder, "--strict", *INPUTS.get(name, []))


KERNELS = {"rows": 1, "norm": 1, "columns": 3, "attention_groups": 2, "attention_f16_groups": 2,
           **{name: 1 for name in MODELS if name.startswith("attention") and "groups" not in name}}


def kernels(name, folder):
    """Softmax and norms of rows are one kernel, and attention is. A reshape of its result is another one."""
    command = [os.path.join(BUILD, "bin/byoc"), "print", os.path.join(folder, name + ".ir"), "--asm", "--compiler", "cuda",
               "--default", "json", "--plugin-option", "cuda.cublaslt=none"]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    count = text.count(".entry")
    return f"{name}: kernels", int(count != KERNELS[name]), f"{count} kernels, expected {KERNELS[name]}"


def stored(path, folder):
    return verify(path.name, path / "model.onnx", folder, "--against", str(path / "test_data_set_0"))


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(small, name, folder) for name in MODELS]
        for job in jobs:
            job.result()
        jobs += [pool.submit(kernels, name, folder) for name in KERNELS]
        jobs += [pool.submit(stored, path, folder) for path in STORED if path.name not in OPEN]
        for job in jobs:
            name, code, text = job.result()
            print(f"{'ok  ' if code == 0 else 'FAIL'} {name}", flush=True)
            if code != 0:
                print(text)
                wrong += 1
    print(f"{len(jobs) - wrong} of {len(jobs)} models right")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
