#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports scripted code of torch: a loop that appends to a list, and an If that reads it.

make_scripted.py [FOLDER]

Needs torch and onnxruntime of the Python index; torch 2.15 made the file here.
"""
import sys
from pathlib import Path
from typing import List

import numpy as np
import onnxruntime
import torch
from onnx import numpy_helper


class Scripted(torch.nn.Module):
    def forward(self, x, h):
        out: List[torch.Tensor] = []
        for i in range(x.size(0)):
            h = torch.tanh(x[i] + h)
            out.append(h)
        if h.sum() > 0:
            y = torch.stack(out)
        else:
            y = torch.stack(out)[:2]
        return y, h


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent) / "scripted"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(14)
    x = random.standard_normal((5, 2, 3)).astype(np.float32)
    args = (torch.from_numpy(x), torch.zeros(2, 3))
    torch.onnx.export(torch.jit.script(Scripted()), args, str(folder / "model.onnx"), opset_version=17, dynamo=False,
                      input_names=["x", "h"], output_names=["y", "last"])
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    for k, shift in enumerate((2, -2)):
        data = folder / f"test_data_set_{k}"
        data.mkdir(exist_ok=True)
        inputs = {"x": x + np.float32(shift), "h": np.zeros((2, 3), np.float32)}
        outputs = dict(zip(("y", "last"), session.run(None, inputs)))
        for prefix, values in (("input", inputs), ("output", outputs)):
            for n, (name, value) in enumerate(values.items()):
                (data / f"{prefix}_{n}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())


if __name__ == "__main__":
    main()
