#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models/blocks_*: products with matrices in blocks of DequantizeLinear, as exporters and the quantizers of
ONNX Runtime write them, with ONNX Runtime's results without optimisation.

blocks.py [--folder FOLDER]

A product by [k, n] with blocks along dim 0, by the transpose of [n, k] with blocks along dim 1, and Gemm by [n, k]
itself; integers of 4 and 8 bits with and without a sign, with zero points and without; a last block that is shorter.
Needs onnx and onnxruntime.
"""
import argparse
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import Random, computed, store

TYPES = {"i4": TensorProto.INT4, "u4": TensorProto.UINT4, "i8": TensorProto.INT8, "u8": TensorProto.UINT8}
# name, k, n, type, block, the product, zero points
LAYERS = (("first", 96, 80, "i4", 32, "MatMul", False), ("second", 80, 72, "u4", 16, "Transpose", True),
          ("third", 72, 64, "i8", 40, "MatMul", True), ("fourth", 64, 80, "u8", 64, "Gemm", False),
          ("fifth", 80, 64, "u4", 24, "Gemm", False), ("last", 64, 96, "i4", 128, "Transpose", True))


def integers(r, kind, shape):
    bits, low = int(kind[1]), -2**(int(kind[1]) - 1) if kind[0] == "i" else 0
    return r.generator.integers(low, low + 2**bits, shape)


def initializer(name, kind, values):
    """ONNX's helper packs integers of 4 bits."""
    return helper.make_tensor(name, TYPES[kind], values.shape, values.ravel().tolist())


def layer(r, x, spec, scale_type, nodes, constants):
    name, k, n, kind, block, product, has_zero = spec
    count = -(-k // block)
    axis = 0 if product == "MatMul" else 1
    weight = integers(r, kind, (k, n) if axis == 0 else (n, k))
    middle = (2**(int(kind[1]) - 1) if kind[0] == "u" else 0) + (1 if has_zero else 0)
    spread = 2**int(kind[1]) / 3.5 * k**0.5 if has_zero or kind[0] == "i" else 2**int(kind[1]) / 1.7 * k**0.5
    grains = (count, n) if axis == 0 else (n, count)
    scales = (r.positive(*grains, low=0.7, high=1.3) / spread).astype(scale_type)
    constants += [initializer(f"{name}.w", kind, weight), numpy_helper.from_array(scales, f"{name}.scale")]
    inputs = [f"{name}.w", f"{name}.scale"]
    if has_zero:
        zeros = np.clip(integers(r, kind, grains) // 3 + middle, *((0, 15) if kind[0] == "u" else (-7, 7)))
        constants.append(initializer(f"{name}.zero", kind, zeros))
        inputs.append(f"{name}.zero")
    nodes.append(helper.make_node("DequantizeLinear", inputs, [f"{name}.m"], axis=axis, block_size=block))
    if product == "Transpose":
        nodes.append(helper.make_node("Transpose", [f"{name}.m"], [f"{name}.t"], perm=[1, 0]))
    of_gemm = {"transB": 1} if product == "Gemm" else {}
    nodes.append(helper.make_node("Gemm" if of_gemm else "MatMul",
                                  [x, f"{name}.t" if product == "Transpose" else f"{name}.m"], [f"{name}.y"], **of_gemm))
    nodes.append(helper.make_node("Softsign", [f"{name}.y"], [f"{name}.s"]))
    return f"{name}.s"


def model(name, rows, scale_type):
    r, nodes, constants = Random(name), [], []
    y = "x"
    for spec in LAYERS:
        y = layer(r, y, spec, scale_type, nodes, constants)
    nodes.append(helper.make_node("Identity", [y], ["y"]))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(scale_type))
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", element, [rows, 96])],
                              [helper.make_tensor_value_info("y", element, [rows, 96])], constants)
    made = helper.make_model(graph, ir_version=10, producer_name="", opset_imports=[helper.make_opsetid("", 21)])
    return made, {"x": r.f32(rows, 96).astype(scale_type)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "models")
    given = parser.parse_args()
    for name, rows, scale_type in (("blocks_one_row", 1, np.float32), ("blocks_rows", 7, np.float32),
                                   ("blocks_f16", 3, np.float16)):
        made, feeds = model(name, rows, scale_type)
        folder = given.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "test_data_set_0").mkdir(parents=True)
        onnx.save(made, folder / "model.onnx")
        store(folder, "input", feeds)
        results = computed(made, feeds)
        store(folder, "output", {"y": results[0]})
        print(f"{name:26} {(folder / 'model.onnx').stat().st_size:8} bytes; largest {np.abs(results[0]).max():.3f}, "
              f"typical {np.abs(results[0]).mean():.3f}")


if __name__ == "__main__":
    main()
