#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the cost of a call of a small program, in turns with ONNX Runtime where it is installed.

    speed.py SOURCE BUILD
"""
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
os.environ.setdefault("BYOC_PREFIX", str(BUILD))
sys.path.insert(0, str(SOURCE / "python"))

import byoc  # noqa: E402


def in_turns(functions, rounds=300, calls=300):
    """Returns the least time of a call of each function, in microseconds: rounds of all, one after the other. Rounds are
    short, so that on a busy machine some of them have a processor to the end."""
    best = {name: float("inf") for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            best[name] = min(best[name], (time.perf_counter() - begin) / calls * 1e6)
    return best


def relu(folder):
    text = folder / "relu.ir"
    text.write_text("fn main(%x: f32[4]) {\n  %0 = relu(%x)\n  return %0\n}\n")
    program = byoc.compile(text, compiler="llvm")
    x = np.array([1, -2, 3, -4], np.float32)
    assert program(x).tolist() == [1, 0, 3, 0]
    functions = {"byoc": lambda: program(x), "byoc, bound": program.bind(x)}
    try:
        import torch
        tensor = torch.from_numpy(x)
        functions[f"byoc, a tensor of torch {torch.__version__}"] = lambda: program(tensor)
    except ImportError:
        pass
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return functions
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", kind, [4])],
                              [helper.make_tensor_value_info("y", kind, [4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(4, np.float32)))
    functions[f"onnxruntime {onnxruntime.__version__}"] = lambda: session.run(None, {"x": x})
    functions["onnxruntime, bound"] = lambda: session.run_with_iobinding(binding)
    return functions


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, microseconds in in_turns(relu(Path(folder))).items():
            print(f"relu of 4 floats, {name}: {microseconds:.2f} us")


main()
