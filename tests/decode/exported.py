# SPDX-License-Identifier: Apache-2.0
"""The decoder of bench/decode/decoder.py as another exporter writes it: names `past_key_values.0.key` and `present.0.key`,
GroupQueryAttention that turns queries and keys and writes the caches, valid rows as the sum of a mask."""
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/decode"))
import decoder  # noqa: E402

DOMAIN = "com.microsoft"
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def attention(w, k, inside, o):
    """Returns the attended rows of layer k."""
    name, kv_width = f"layer{k}", o.kv_heads * (o.width // o.heads)
    q, key, value = (w.product(f"{name}_{part}", inside, o.width, columns)
                     for part, columns in (("q", o.width), ("k", kv_width), ("v", kv_width)))
    inputs = [q, key, value, f"past_key_values.{k}.key", f"past_key_values.{k}.value", "seqlens", "total", "cos", "sin"]
    outputs = [f"{name}_attention", f"present.{k}.key", f"present.{k}.value"]
    w.nodes.append(helper.make_node("GroupQueryAttention", inputs, outputs, name=outputs[0], domain=DOMAIN,
                                    num_heads=o.heads, kv_num_heads=o.kv_heads, do_rotary=1))
    return outputs[0]


def layer(w, k, x, o):
    name = f"layer{k}"
    seen = attention(w, k, w.norm(f"{name}_norm", x, o.width), o)
    x = w.call("Add", f"{name}_attended", x, w.product(f"{name}_o", seen, o.width, o.width))
    inside = w.norm(f"{name}_norm2", x, o.width)
    gate = w.product(f"{name}_gate", inside, o.width, o.hidden)
    gate = w.call("Mul", f"{name}_swish", gate, w.call("Sigmoid", f"{name}_sigmoid", gate))
    both = w.call("Mul", f"{name}_both", gate, w.product(f"{name}_up", inside, o.width, o.hidden))
    return w.call("Add", name, x, w.product(f"{name}_down", both, o.hidden, o.width))


def lengths(w):
    """Makes `seqlens` and `total` of the mask."""
    one = w.constant("one", np.array([1], np.int64))
    w.call("Sub", "last", w.call("ReduceSum", "count", "attention_mask", one, keepdims=0), one)
    w.call("Cast", "seqlens", "last", to=TensorProto.INT32)
    extent = w.call("Gather", "extent", w.call("Shape", "extents", "attention_mask"),
                    w.constant("at_one", np.array(1, np.int64)), axis=0)
    w.call("Cast", "total", extent, to=TensorProto.INT32)


def graph(o):
    """Returns the model of the options of decoder.py, with the same weights by name and shape."""
    w, value = decoder.Writer(o.seed), helper.make_tensor_value_info
    cos, sin = decoder.angles(o.length, o.width // o.heads)
    w.constant("cos", cos), w.constant("sin", sin)
    lengths(w)
    x = w.call("Gather", "embedded", w.weight("embedding", o.vocabulary, o.width), "input_ids")
    for k in range(o.layers):
        x = layer(w, k, x, o)
    w.call("MatMul", "logits", w.norm("norm", x, o.width), w.weight("head", o.width, o.vocabulary))
    names = [f"{k}.{part}" for k in range(o.layers) for part in ("key", "value")]

    def cache(prefix, rows):
        return [value(f"{prefix}.{name}", F32, ["batch_size", o.kv_heads, rows, o.width // o.heads]) for name in names]

    inputs = [value("input_ids", I64, ["batch_size", "sequence_length"]),
              value("attention_mask", I64, ["batch_size", "total_sequence_length"])]
    outputs = [value("logits", F32, ["batch_size", "sequence_length", o.vocabulary])]
    made = helper.make_graph(w.nodes, "exported", inputs + cache("past_key_values", "past_sequence_length"),
                             outputs + cache("present", "total_sequence_length"), w.weights)
    return helper.make_model(made, ir_version=11, producer_name="", opset_imports=[
        helper.make_opsetid("", 23), helper.make_opsetid(DOMAIN, 1)])
