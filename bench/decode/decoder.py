#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a decoder of text as an ONNX file: random weights, caches of a fixed length.

decoder.py [--layers N] [--width N] ... OUT.onnx

Each layer has RMSNormalization, queries with rotary positions, grouped heads of keys and values whose rows TensorScatter
writes into caches, Attention that stops at the valid rows, and a gated product. Inputs: `tokens`, i64 [1, T] with any T;
`start`, i64 [1], the rows that the caches have; `past_key_K` and `past_value_K`, f32 [1, kv_heads, length, size] of each
layer K. Outputs: `logits`, f32 [1, vocabulary], of the last token; `present_key_K` and `present_value_K`. Needs onnx and
numpy.
"""
import argparse

import numpy as np
import onnx
from onnx import helper, numpy_helper

I64, F32 = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT


class Writer:
    """Collects nodes and weights. Names of values are those of their nodes."""

    def __init__(self, seed):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, name, rows, columns):
        """Returns a matrix that keeps the scale of what it multiplies."""
        array = self.random.standard_normal((rows, columns), dtype=np.float32)
        return self.constant(name, array * np.float32(rows**-0.5))

    def call(self, op, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def product(self, name, x, rows, columns):
        return self.call("MatMul", name, x, self.weight(f"{name}_weight", rows, columns))

    def norm(self, name, x, width):
        return self.call("RMSNormalization", name, x, self.constant(f"{name}_scale", np.ones(width, np.float32)))

    def heads(self, name, x, count):
        """Makes [1, count, T, size] of [1, T, count * size]."""
        shape = self.constant(f"{name}_shape", np.array([0, 0, count, -1], np.int64))
        return self.call("Transpose", f"{name}_heads", self.call("Reshape", f"{name}_split", x, shape), perm=[0, 2, 1, 3])


def angles(length, size):
    """Returns cosines and sines of the positions, [length, size / 2] each."""
    rates = 10000.0**(-np.arange(0, size, 2) / size)
    turns = np.arange(length)[:, None] * rates
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def layer(w, k, x, o):
    size, name = o.width // o.heads, f"layer{k}"
    kv_width = o.kv_heads * size
    inside = w.norm(f"{name}_norm", x, o.width)
    q, key, value = (w.heads(f"{name}_{part}", w.product(f"{name}_{part}", inside, o.width, columns), heads)
                     for part, columns, heads in (("q", o.width, o.heads), ("k", kv_width, o.kv_heads),
                                                  ("v", kv_width, o.kv_heads)))
    q, key = (w.call("RotaryEmbedding", f"{part}_turned", part, "cos", "sin", "positions") for part in (q, key))
    key = w.call("TensorScatter", f"present_key_{k}", f"past_key_{k}", key, "start", axis=2)
    value = w.call("TensorScatter", f"present_value_{k}", f"past_value_{k}", value, "start", axis=2)
    seen = w.call("Attention", f"{name}_attention", q, key, value, "", "", "", "valid", is_causal=1)
    rows = w.call("Transpose", f"{name}_rows", seen, perm=[0, 2, 1, 3])
    joined = w.call("Reshape", f"{name}_joined", rows, w.constant(f"{name}_width", np.array([0, 0, -1], np.int64)))
    x = w.call("Add", f"{name}_attended", x, w.product(f"{name}_o", joined, o.width, o.width))
    inside = w.norm(f"{name}_norm2", x, o.width)
    gate = w.product(f"{name}_gate", inside, o.width, o.hidden)
    gate = w.call("Mul", f"{name}_swish", gate, w.call("Sigmoid", f"{name}_sigmoid", gate))
    both = w.call("Mul", f"{name}_both", gate, w.product(f"{name}_up", inside, o.width, o.hidden))
    return w.call("Add", name, x, w.product(f"{name}_down", both, o.hidden, o.width))


def graph(o):
    w, value = Writer(o.seed), helper.make_tensor_value_info
    cos, sin = angles(o.length, o.width // o.heads)
    w.constant("cos", cos), w.constant("sin", sin)
    count = w.call("Shape", "count", "tokens", start=1, end=2)
    scalar = w.call("Squeeze", "count_scalar", count)
    zero, one = w.constant("zero", np.array(0, np.int64)), w.constant("one", np.array(1, np.int64))
    w.call("Add", "valid", "start", count)
    steps = w.call("Range", "steps", zero, scalar, one)
    w.call("Unsqueeze", "positions", w.call("Add", "places", steps, "start"), w.constant("axis", np.array([0], np.int64)))
    x = w.call("Gather", "embedded", w.weight("embedding", o.vocabulary, o.width), "tokens")
    for k in range(o.layers):
        x = layer(w, k, x, o)
    last = w.call("Gather", "last", x, w.constant("last_row", np.array(-1, np.int64)), axis=1)
    w.call("MatMul", "logits", w.norm("norm", last, o.width), w.weight("head", o.width, o.vocabulary))
    cache = [1, o.kv_heads, o.length, o.width // o.heads]
    caches = [f"{part}_{k}" for k in range(o.layers) for part in ("key", "value")]
    inputs = [value("tokens", I64, [1, "T"]), value("start", I64, [1])] + [value(f"past_{c}", F32, cache) for c in caches]
    outputs = [value("logits", F32, [1, o.vocabulary])] + [value(f"present_{c}", F32, cache) for c in caches]
    made = helper.make_graph(w.nodes, "decoder", inputs, outputs, w.weights)
    return helper.make_model(made, ir_version=11, producer_name="", opset_imports=[helper.make_opsetid("", 24)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, about in (("layers", 12, "layers"), ("width", 768, "numbers per token"), ("heads", 12, "heads of queries"),
                                 ("kv-heads", 4, "heads of keys and values, a divisor of --heads"),
                                 ("hidden", 2048, "numbers inside of the gated product"),
                                 ("vocabulary", 32000, "tokens there are"), ("length", 2304, "rows of a cache"),
                                 ("seed", 0, "of the weights")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{about} (default {default})")
    parser.add_argument("out", metavar="OUT.onnx")
    options = parser.parse_args()
    onnx.save(graph(options), options.out)


if __name__ == "__main__":
    main()
