#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a network as ONNX, simplified and partitioned, has ONNX's checker read it, and compares both with torch's outputs.

    exported.py BYOC FOLDER OUTPUT
"""
import glob
import os
import subprocess
import sys

import onnx

SIMPLIFY = "inline_functions,fold_constants,eliminate_dead_code,merge_equal_nodes,fold_batch_norm,eliminate_dead_code"
PARTITION = f"{SIMPLIFY},merge_composites=onednn,annotate_target=onednn,merge_compiler_regions,partition_graph"


def shape_flags(model, data):
    """The --shape flags of inputs with open sizes, as the stored inputs have them."""
    flags = []
    for k in range(len(glob.glob(os.path.join(data, "input_*.pb")))):
        with open(os.path.join(data, f"input_{k}.pb"), "rb") as file:
            tensor = onnx.TensorProto.FromString(file.read())
        open_inputs = [one.name for one in model.graph.input if any(d.dim_param for d in one.type.tensor_type.shape.dim)]
        if tensor.name in open_inputs:
            flags += ["--shape", f"{tensor.name}={'x'.join(map(str, tensor.dims))}"]
    return flags


def main():
    byoc, folder, output = sys.argv[1:]
    model, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "test_data_set_0")
    flags = shape_flags(onnx.load(model), data)
    for name, passes in (("simplified", SIMPLIFY), ("partitioned", PARTITION)):
        os.makedirs(os.path.join(output, name), exist_ok=True)
        path = os.path.join(output, name, "model.onnx")
        subprocess.run([byoc, "opt", model, *flags, "--passes", passes, "--compiler", "onednn", "-o", path], check=True)
        onnx.checker.check_model(path, full_check=True)
        functions = len(onnx.load(path).functions)
        if (functions > 0) != (name == "partitioned"):
            sys.exit(f"{path} has {functions} functions")
        subprocess.run([byoc, "verify", path, "--against", data, "--compiler", "onednn"], check=True)


main()
