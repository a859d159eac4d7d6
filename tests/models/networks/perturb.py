#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a comparison with stored outputs notice a small mistake?

    python3 perturb.py build/nets/resnet18 --byoc build/bin/byoc
    python3 perturb.py build/nets/bert_base --byoc build/bin/byoc --compiler onednn,json --filters 5

Makes one filter of a convolution, or one matrix of another layer, 1 % larger in the ONNX file, and runs
`byoc verify` on the result, for some filters of every layer. Fails unless `byoc verify` refuses nine in ten of
them, and at least one in each layer. This is checks.py once more, with nothing of torch in it.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import numpy_helper

CHANGE = 1.01
SHARE = 0.9
FAILED = 1  # byoc's exit code


def layers(graph):
    """(initializer, whether each of its rows is a filter), for float weights of two or more dimensions."""
    readers = {name: (node.op_type, k) for node in graph.node for k, name in enumerate(node.input)}
    for weight in graph.initializer:
        if len(weight.dims) >= 2 and weight.data_type == onnx.TensorProto.FLOAT and weight.name in readers:
            yield weight, readers[weight.name] == ("Conv", 1)


def is_noticed(model, case, folder, options):
    path = folder / "model.onnx"
    onnx.save(model, str(path))
    command = [options.byoc, "verify", path, "--against", case / "test_data_set_0", "--compiler", options.compiler]
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if ran.returncode not in (0, FAILED) or ran.returncode == FAILED and "FAIL" not in ran.stdout:
        sys.exit(f"error: byoc verify ended with {ran.returncode}: {ran.stderr}")
    return ran.returncode == FAILED


def noticed_in(model, weight, rows, case, folder, options):
    """How many of the changes of this layer are noticed, and how many were made."""
    original = numpy_helper.to_array(weight)
    count = min(options.filters, len(original)) if rows else 1
    noticed = 0
    for row in random.sample(range(len(original)), count) if rows else [slice(None)]:
        changed = original.copy()
        changed[row] *= CHANGE
        weight.CopyFrom(numpy_helper.from_array(changed, weight.name))
        noticed += is_noticed(model, case, folder, options)
    weight.CopyFrom(numpy_helper.from_array(original, weight.name))
    return noticed, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path, help="a folder with model.onnx and test_data_set_0")
    parser.add_argument("--byoc", type=Path, default=Path("build/bin/byoc"), help="default: build/bin/byoc")
    parser.add_argument("--compiler", default="json", help="as for byoc verify (default: json)")
    parser.add_argument("--filters", type=int, default=2, help="how many of each convolution (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    options = parser.parse_args()
    random.seed(options.seed)
    model = onnx.load(str(options.case / "model.onnx"))
    unseen, counts = [], []
    with tempfile.TemporaryDirectory() as folder:
        if is_noticed(model, options.case, Path(folder), options):
            sys.exit("error: the unchanged model fails already")
        for weight, rows in layers(model.graph):
            counts.append(noticed_in(model, weight, rows, options.case, Path(folder), options))
            if counts[-1][0] == 0:
                unseen.append(weight.name)
    noticed, made = map(sum, zip(*counts))
    print(f"{options.case.name}: {noticed} of {made} changes in {len(counts)} layers are noticed")
    for name in unseen:
        print(f"error: no change of {name} is noticed", file=sys.stderr)
    return 1 if unseen or noticed < SHARE * made else 0


if __name__ == "__main__":
    sys.exit(main())
