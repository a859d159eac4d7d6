# SPDX-License-Identifier: Apache-2.0
"""Writes one ONNX backend-style folder: model.onnx, and test_data_set_0/ with inputs and torch's outputs."""

import shutil
import warnings
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper


def to_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def run(model, inputs):
    """The model's outputs in evaluation mode, always as a tuple."""
    with torch.no_grad():
        return to_tuple(model.eval()(*inputs))


def write_tensors(folder, prefix, tensors, names):
    for i, (tensor, name) in enumerate(zip(tensors, names)):
        proto = numpy_helper.from_array(tensor.contiguous().numpy(), name)
        (folder / f"{prefix}_{i}.pb").write_bytes(proto.SerializeToString())


def write_case(folder, model, inputs, input_names, output_names, opset, *, dynamic_axes=None,
               keep_batch_norm=False):
    """Exports `model` as torch does at `opset` and stores what torch computes for `inputs`.

    dynamic_axes: {"x": {0: "N"}} makes dimension 0 of x symbolic.
    keep_batch_norm: BatchNormalization nodes stay; by default the exporter folds them into Conv.
    Returns (the path of model.onnx, torch's outputs).
    """
    folder = Path(folder)
    data = folder / "test_data_set_0"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    outputs = run(model, inputs)
    mode = torch.onnx.TrainingMode.PRESERVE if keep_batch_norm else torch.onnx.TrainingMode.EVAL
    path = folder / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns about every shape it reads; shapes are fixed here
        torch.onnx.export(model, tuple(inputs), str(path), opset_version=opset, training=mode,
                          input_names=list(input_names), output_names=list(output_names),
                          do_constant_folding=not keep_batch_norm,
                          dynamic_axes=dynamic_axes)
    onnx.checker.check_model(str(path), full_check=True)
    write_tensors(data, "input", inputs, input_names)
    write_tensors(data, "output", outputs, output_names)
    return path, outputs
