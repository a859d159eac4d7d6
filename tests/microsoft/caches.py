#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models/cache_*: a step of a decoder on caches of a fixed size, by ai.onnx's TensorScatter and Attention with
nonpad_kv_seqlen, with ONNX Runtime's results without optimisation.

caches.py [--folder FOLDER]

One token and several, images with different lengths, heads that share keys and values, operands of rank 3 and 4, f32 and
f16. Keys after the length are NaN, so that reading one shows. Needs onnx and onnxruntime.
"""
import argparse
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from case import Random, computed, store

# name: heads, heads of keys, new tokens, keys in the cache, size of a head, type, is_packed, attributes, new lengths
MODELS = {
    "cache_token": (6, 2, 1, 24, 16, np.float32, False, {}, (5, 18)),
    "cache_tokens": (4, 2, 5, 70, 20, np.float32, False, {"is_causal": 1}, (66, 5)),
    "cache_packed": (4, 4, 1, 33, 8, np.float32, True, {"softcap": 1.5, "scale": 0.4}, (33, 1)),
    "cache_f16": (8, 2, 1, 40, 64, np.float16, False, {"is_causal": 1}, (40, 9)),
}


def shape(is_packed, heads, length, size):
    return (2, length, heads * size) if is_packed else (2, heads, length, size)


def cache(r, spec, lengths, dtype):
    """Returns old rows; those that no run has written are NaN."""
    is_packed, heads, length, size = spec
    rows = r.f32(2, length, heads, size)
    for image, end in enumerate(lengths):
        rows[image, end:] = np.nan
    rows = rows.reshape(2, length, heads * size) if is_packed else rows.transpose(0, 2, 1, 3)
    return np.ascontiguousarray(rows).astype(dtype)


def model(name):
    heads, kv_heads, tokens, keys, size, dtype, is_packed, attrs, lengths = MODELS[name]
    r, element = Random(name), helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    starts = [end - tokens for end in lengths]
    feeds = {"q": r.f32(*shape(is_packed, heads, tokens, size)).astype(dtype)}
    for x in "kv":
        feeds[x] = r.f32(*shape(is_packed, kv_heads, tokens, size)).astype(dtype)
        feeds[f"past_{x}"] = cache(r, (is_packed, kv_heads, keys, size), starts, dtype)
    feeds["starts"], feeds["lengths"] = np.array(starts, np.int64), np.array(lengths, np.int64)
    axis = 1 if is_packed else 2
    nodes = [helper.make_node("TensorScatter", [f"past_{x}", x, "starts"], [f"new_{x}"], axis=axis) for x in "kv"]
    if is_packed:
        attrs = attrs | {"q_num_heads": heads, "kv_num_heads": kv_heads}
    nodes.append(helper.make_node("Attention", ["q", "new_k", "new_v", "", "", "", "lengths"], ["y"], **attrs))
    value = helper.make_tensor_value_info
    types = {"starts": onnx.TensorProto.INT64, "lengths": onnx.TensorProto.INT64}
    graph = helper.make_graph(
        nodes, name, [value(key, types.get(key, element), array.shape) for key, array in feeds.items()],
        [value("y", element, feeds["q"].shape)] +
        [value(f"new_{x}", element, feeds[f"past_{x}"].shape) for x in "kv"])
    made = helper.make_model(graph, ir_version=11, producer_name="", opset_imports=[helper.make_opsetid("", 24)])
    return made, feeds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "models")
    given = parser.parse_args()
    for name in MODELS:
        made, feeds = model(name)
        folder = given.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "test_data_set_0").mkdir(parents=True)
        onnx.save(made, folder / "model.onnx")
        store(folder, "input", feeds)
        # ONNX Runtime multiplies hidden values by 0, which NaN survives
        results = computed(made, {key: np.nan_to_num(array) if array.dtype == feeds["q"].dtype else array
                                  for key, array in feeds.items()})
        for at, x in ((1, "k"), (2, "v")):  # rows that nothing wrote
            results[at] = np.where(np.isnan(feeds[f"past_{x}"]) & (results[at] == 0), feeds[f"past_{x}"], results[at])
        store(folder, "output", dict(zip(("y", "new_k", "new_v"), results)))
        print(f"{name:16} {(folder / 'model.onnx').stat().st_size:6} bytes; largest {np.abs(results[0]).max():.3f}")


if __name__ == "__main__":
    main()
