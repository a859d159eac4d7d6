# SPDX-License-Identifier: Apache-2.0
"""What happens without a driver, with an old one, and when a device fails: errors with names and cures, and the process
lives."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from models import MODELS

BUILD, DRIVER = sys.argv[1:3]
os.environ["BYOC_PREFIX"] = BUILD
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))
WRONG = 0


def byoc(*args, driver=DRIVER, **environment):
    command = [os.path.join(BUILD, "bin/byoc"), *args]
    if driver:
        command += ["--plugin-option", f"cuda.driver={driver}", "--plugin-option", "cuda.cublaslt=none"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    return run.returncode, run.stdout + run.stderr


def expect(what, result, code, *texts):
    global WRONG
    missing = [text for text in texts if text not in result[1]]
    is_right = result[0] == code and not missing
    print(f"{'ok  ' if is_right else 'FAIL'} {what}")
    if not is_right:
        print(f"    exit code {result[0]}, expected {code}; missing: {missing}\n{result[1]}")
        WRONG += 1


def write(folder, name):
    path = os.path.join(folder, name + ".ir")
    with open(path, "w") as file:
        file.write(MODELS[name])
    return path


def process_lives(folder):
    """A device that is lost fails its own programs, and no other ones of the process."""
    try:
        import byoc
        import numpy as np
    except ImportError as error:
        return print(f"skipped: a process that lives: {error}")
    path, other = write(folder, "chain"), write(folder, "long")
    options = {"default": "json", "plugin_options": {"cuda.driver": DRIVER, "cuda.cublaslt": "none"}}
    x, y, rows = np.full((3, 50), 0.5, np.float32), np.ones(50, np.float32), np.ones((7, 1001), np.float32)
    own, host = byoc.compile(path, compiler="cuda", **options), byoc.compile(other, compiler="json", default="json")
    before, on_host = np.asarray(own(x, y)), np.asarray(host(rows))
    expect("gives the results of the host", (int(not np.allclose(before, np.exp(np.tanh(x + y)) * x, rtol=1e-5)), ""), 0)
    os.environ["FAKE_CUDA_FAULT"] = "2"  # of the process's launches
    for what in "a run that loses the device", "the next run":
        try:
            own(x, y)
            expect(f"fails {what}", (0, "no error"), 1)
        except byoc.Error as error:
            expect(f"fails {what}", (1, f"{error.slug} {error}"), 1, "device-lost")
    expect("runs other programs of the process", (int((np.asarray(host(rows)) != on_host).any()), ""), 0)
    try:
        byoc.compile(path, compiler="cuda", **options)(x, y)
        expect("refuses a new program for a lost device", (0, "no error"), 1)
    except byoc.Error as error:
        expect("refuses a new program for a lost device", (1, f"{error.slug} {error}"), 1, "device-unavailable",
               "the device is lost to this process")
    del os.environ["FAKE_CUDA_FAULT"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        model, product, gather = (write(folder, name) for name in ["chain", "product", "gather"])
        by_cuda = ["--compiler", "cuda", "--default", "json", "--strict"]
        saved = [os.path.join(folder, f"{k}.byoc") for k in range(3)]
        for path in saved[:2]:
            expect("compiles without a driver", byoc("compile", product, *by_cuda, "-o", path, driver="/nowhere.so"), 0)
        with open(saved[0], "rb") as one, open(saved[1], "rb") as two:
            expect("gives the same bytes twice", (int(one.read() != two.read()), ""), 0)
        expect("runs an artifact", byoc("run", saved[0]), 0)
        expect("names a missing driver", byoc("run", saved[0], driver="/nowhere.so"), 1, "device-unavailable",
               "cannot be opened: install the driver")
        expect("names an old driver", byoc("run", saved[0], FAKE_CUDA_VERSION="10020"), 1, "device-unavailable",
               "for CUDA 10.2", "at least 11.0")
        expect("names a driver that is not ready", byoc("run", saved[0], FAKE_CUDA_INIT="802"), 1, "device-unavailable",
               "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager")
        expect("names a device whose context takes all memory", byoc("run", saved[0], FAKE_CUDA_CONTEXT="2"), 1,
               "CUDA_ERROR_OUT_OF_MEMORY", "end other programs")
        expect("names a machine without devices", byoc("run", saved[0], FAKE_CUDA_DEVICES="0"), 1,
               "device-unavailable", "CUDA_ERROR_NO_DEVICE")
        expect("refuses a target", byoc("compile", model, *by_cuda, "-o", saved[2], "--plugin-option", "cuda.sm=52"), 1,
               "no target sm=52; known: 80, 86, 89, 90")
        expect("compiles for sm_90", byoc("compile", model, *by_cuda, "-o", saved[2], "--plugin-option", "cuda.sm=90"), 0)
        expect("refuses code for a newer device", byoc("run", saved[2], FAKE_CUDA_SM="86"), 1, "compiled for sm=90",
               "cuda.sm=86")
        expect("names a driver too old for the code", byoc("run", saved[2], FAKE_CUDA_VERSION="11010"), 1,
               "from CUDA 11.8 on", "this one is for 11.1", "update it, or compile with --plugin-option cuda.sm=80")
        expect("names memory that is short", byoc("run", saved[0], FAKE_CUDA_MEMORY_MIB="0"), 1, "device-memory")
        expect("names a kernel that fails", byoc("run", saved[0], FAKE_CUDA_FAULT="1"), 1, "device-lost",
               "CUDA_ERROR_LAUNCH_FAILED")
        expect("names a copy that loses the device", byoc("run", saved[0], FAKE_CUDA_COPY="700"), 1, "device-lost",
               "CUDA_ERROR_ILLEGAL_ADDRESS")
        expect("leaves a kernel that never ends", byoc("run", saved[0], FAKE_CUDA_HANG="1", BYOC_DEVICE_TIMEOUT_MS="300"),
               1, "device-timeout")
        expect("runs with indices inside", byoc("run", gather, *by_cuda, "--input", "i=i64[7]=-50"), 0)
        expect("names an index outside", byoc("run", gather, *by_cuda, "--input", "i=i64[7]=50"), 1,
               "gather: index 50 is outside of [-50, 50)")
        for command in ["plugins"], ["doctor", "--min-free", "0"]:
            expect(f"lists the device in byoc {command[0]}", byoc(*command), 0, "devices:\n  cuda: device 0, Fake GPU, 4096 MiB")
            expect(f"prints why there is none in byoc {command[0]}", byoc(*command, driver="/nowhere.so"), 0,
                   "cuda: no device, /nowhere.so, NVIDIA's driver, cannot be opened: install the driver")
            expect(f"looks for a device in byoc {command[0]} when cuda is not named", byoc(*command, driver=""), 0,
                   "devices:\n  cuda: ")
        process_lives(folder)
    return WRONG != 0


if __name__ == "__main__":
    sys.exit(main())
