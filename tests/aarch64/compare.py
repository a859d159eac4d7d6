#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs code of the llvm plugin for aarch64 under an emulator, and compares its results with those of the reference kernels.

  compare.py BYOC BYOC_RUN   BYOC: of this machine; BYOC_RUN: for aarch64, with the emulator before it

Each model is compiled for --target aarch64 and run on the inputs of one seed. Floats may differ by 1e-4 of the largest
magnitude, as in `byoc verify`; the other types are equal. It tests results, not times."""
import json
import os
import shlex
import subprocess
import sys
import tempfile

import numpy

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models")
TOLERANCE = 1e-4


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, BYOC_TUNING_PATH=""))
    if done.returncode:
        sys.exit(f"compare.py: {shlex.join(command)}\n{done.stdout}{done.stderr}")


def outputs_of(folder):
    with open(os.path.join(folder, "outputs.json"), encoding="utf-8") as file:
        outputs = json.load(file)["outputs"]
    return {output["name"]: numpy.load(os.path.join(folder, output["file"])) for output in outputs}


def difference(right, value):
    """Returns what is wrong with `value`, or nothing."""
    if right.shape != value.shape or right.dtype != value.dtype:
        return f"{value.dtype}{list(value.shape)}, expected {right.dtype}{list(right.shape)}"
    if right.dtype.kind != "f":
        return "" if numpy.array_equal(right, value) else "values differ"
    largest = numpy.abs(right).max(initial=0.0)
    error = numpy.abs(right - value).max(initial=0.0)
    return "" if error <= TOLERANCE * largest else f"differs by {error:.3g}, the largest value is {largest:.3g}"


def faults_of(model, flags, byoc, byoc_run):
    """Returns a line per output that differs."""
    with tempfile.TemporaryDirectory() as folder:
        artifact = os.path.join(folder, "model.byoc")
        right, value = os.path.join(folder, "right"), os.path.join(folder, "value")
        run(byoc, "compile", model, *flags, "--compiler", "llvm", "--strict", "--target", "aarch64", "-o", artifact)
        run(byoc, "run", model, *flags, "--compiler", "json", "--seed", "7", "--output-dir", right)
        run(*byoc_run, artifact, "--seed", "7", "--output-dir", value)
        expected, got = outputs_of(right), outputs_of(value)
        if list(expected) != list(got):
            return [f"has the outputs {list(got)}, expected {list(expected)}"]
        found = {name: difference(expected[name], got[name]) for name in expected}
        return [f"{name}: {text}" for name, text in found.items() if text]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    byoc, byoc_run = sys.argv[1], sys.argv[2:]
    blocks = os.path.join(MODELS, "blocks")
    models = [(os.path.join(blocks, name, "model.onnx"), []) for name in sorted(os.listdir(blocks))
              if os.path.isdir(os.path.join(blocks, name))]
    models.append((os.path.join(MODELS, "digits", "model.onnx"), ["--shape", "N=4"]))
    failed = False
    for model, flags in models:
        faults = faults_of(model, flags, byoc, byoc_run)
        print(os.path.basename(os.path.dirname(model)), "; ".join(faults) or "ok", flush=True)
        failed |= bool(faults)
    sys.exit(1 if failed or len(models) < 10 else 0)


main()
