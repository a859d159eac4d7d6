#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft, as ONNX Runtime computes them and as byoc does: forms that the stored cases leave out.

random_cases.py BYOC [--seed N] [--count N] [--compiler ID...] [--folder FOLDER] [--only OPERATOR...]

Writes COUNT cases per operator below FOLDER, a temporary one unless given, and runs `byoc test-onnx` on them, which
compares each number by itself. An integer that is a step off, and a float that is off by less than 1e-4 of the largest,
are printed, and no failures. Nodes that ONNX Runtime refuses are left out. Needs onnx and onnxruntime.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile

import numpy as np

import random_fused
import random_quantized
from case import Random, Writer, f32, i8, u8
from float_cases import packed
from random_quantized import integers


def mask_of(r, *shape):
    """A mask that leaves a key to each query: scores that all lie near -10000 lose their digits."""
    mask = (r.u8(*shape) > 80).astype(np.int32)
    mask[..., 0] = 1
    return mask


def group_query(r, pick):
    """Prompts, joined caches and those of a fixed size."""
    groups, n, s, size = pick(1, 2), pick(1, 1, 2), pick(1, 1, 2, 4), 16
    heads, kind = groups * pick(1, 2, 3), pick("prompt", "joined", "fixed", "fixed_prompt")
    n = 1 if kind in ("joined", "fixed") and s > 1 else n
    past = pick(1, 3, 5) if kind in ("joined", "fixed") else 0
    total = past + s
    lengths = [total - 1, max(total - 1 - pick(0, 1), s - 1)][:n] if kind == "fixed" else [total - 1] * n
    q, k, v = (r.f32(n, s, count * size) for count in (heads, groups, groups))
    inputs = {"q": np.concatenate([q, k, v], 2), "k": None, "v": None} if pick(0, 1) else {"q": q, "k": k, "v": v}
    caches = {"past_k": None, "past_v": None}
    if kind != "prompt":
        length = {"joined": past, "fixed": total + pick(0, 1, 4), "fixed_prompt": s + pick(0, 3)}[kind]
        caches = {name: r.f32(n, groups, length, size) for name in caches}
        for cache in caches.values():  # what is not valid yet is 0: both leave it as it is
            for image, last in enumerate(lengths):
                cache[image, :, 0 if total == s else last + 1 - s:] = 0
    inputs.update({**caches, "lengths": np.array(lengths, np.int32), "total": np.array(total, np.int32)})
    attrs = {"num_heads": heads, "kv_num_heads": groups}
    angles = {"cos": None, "sin": None}
    if pick(0, 1):
        turns = r.f32(24, 8, scale=2)
        angles = {"cos": np.cos(turns), "sin": np.sin(turns)}
        attrs.update(do_rotary=1, rotary_interleaved=pick(0, 1))
    for name, value in (("local_window_size", pick(1, 2, 4)), ("softcap", 0.7), ("scale", 0.4), ("smooth_softmax", 1)):
        if pick(0, 0, 1):
            attrs[name] = value
    inputs.update({**angles, "at": None, "bias": pick(None, r.f32(pick(1, n), pick(1, heads), s, total))})
    return inputs, attrs, 3, ("total", "cos", "sin")


def attention(r, pick):
    n, s, heads, size, past = pick(1, 2, 3), pick(1, 2, 5), pick(1, 2, 4), pick(2, 4), pick(0, 0, 3)
    total, width = s + past, heads * size
    masks = [None, mask_of(r, n, total), mask_of(r, n, s, total),
             r.i32(n, low=1, high=total + 1),
             np.concatenate([r.i32(n, low=max(1, total // 2), high=total + 1), r.i32(n, high=max(1, total // 2))])]
    inputs = {"x": r.f32(n, s, 6), "w": r.f32(6, 3 * width, scale=0.5), "b": pick(None, r.f32(3 * width)),
              "mask": pick(*masks), "past": r.f32(2, n, heads, past, size) if past else None,
              "bias": None if past else pick(None, r.f32(pick(1, n), pick(1, heads), s, total))}
    attrs = {"num_heads": heads, "unidirectional": pick(0, 1), "mask_filter_value": pick(-10000.0, -30.0)}
    return inputs, attrs, 2, ("w", "b")


def multi_head(r, pick):
    n, s, heads, size, past = pick(1, 2), pick(1, 3), pick(1, 2), pick(4, 8), pick(0, 0, 2)
    causal = pick(0, 0, 1)
    keys, values = s if causal else pick(1, 4), size if past else pick(size, 6)
    total, bias = keys + past, r.f32(2 * heads * size + heads * values)
    masks = [None, mask_of(r, n, total), mask_of(r, n, s, total)]
    inputs = {"q": r.f32(n, s, heads * size), "k": r.f32(n, keys, heads * size), "v": r.f32(n, keys, heads * values),
              "b": pick(None, bias), "mask": pick(*masks),
              "bias": pick(None, r.f32(pick(1, n), pick(1, heads), s, total)),
              "past_k": r.f32(n, heads, past, size) if past else None,
              "past_v": r.f32(n, heads, past, values) if past else None}
    return inputs, {"num_heads": heads, "unidirectional": causal}, 3 if past else pick(1, 3), ()


def fused_matmul(r, pick):
    batch = [2, 3][:pick(0, 1, 2)]
    attrs = {name: pick(0, 1) for name in ("transA", "transB")}
    attrs.update({name: pick(0, 1) if batch else 0 for name in ("transBatchA", "transBatchB")}, alpha=pick(1.0, 0.5))

    def operand(rows, columns, turned, moved):
        shape = [*batch, *((columns, rows) if turned else (rows, columns))]
        return r.f32(*([shape[-2], *shape[:-2], shape[-1]] if moved else shape))

    m, k, n = pick(1, 3), pick(1, 4), pick(1, 5)
    return {"a": operand(m, k, attrs["transA"], attrs["transBatchA"]),
            "b": operand(k, n, attrs["transB"], attrs["transBatchB"])}, attrs, 1, ()


def few_bits(r, pick):
    bits, size, n, k = pick(4, 8), pick(16, 32), pick(1, 5, 8), pick(16, 40, 64, 96)
    count = -(-k // size)
    zeros = pick(None, packed(r.u8(n, count, high=2**bits), bits), r.f32(n, count, scale=2, shift=2.0**(bits - 1)))
    inputs = {"a": r.f32(*pick((1,), (3,), (2, 2)), k), "b": packed(r.u8(n, count, size, high=2**bits), bits),
              "scales": r.positive(n, count, low=0.01, high=0.1), "zeros": zeros, "g_idx": None,
              "bias": pick(None, r.f32(n))}
    attrs = {"K": k, "N": n, "block_size": size, "bits": bits, "accuracy_level": pick(0, 4)}
    return inputs, attrs, 1, ("b", "scales", "zeros", "bias")


def qlinear_conv(r, pick):
    of, zero = integers(r, pick)
    dims, group, last = pick(1, 2), pick(1, 2), pick(0, 1)
    channels, out, extent = group * pick(1, 3), group * pick(2, 4), pick(5, 8)
    x = of(1, channels, *[extent] * dims)
    per_channel, is_i8 = pick(0, 1), pick(0, 1)
    weight = (r.i8 if is_i8 else r.u8)(out, channels // group, *[pick(1, 3)] * dims)
    w_zero = np.zeros(out, np.int8) if is_i8 and per_channel else (i8(0) if is_i8 else u8(120))
    w_scale = r.positive(out) if is_i8 and per_channel else f32(0.01)
    inputs = {"x": np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x, "x_scale": f32(0.02), "x_zero": zero,
              "w": weight, "w_scale": w_scale, "w_zero": w_zero, "y_scale": f32(0.11), "y_zero": zero,
              "b": pick(None, r.i32(out, low=-3000, high=3000))}
    attrs = {"group": group, "channels_last": last, "strides": [pick(1, 2)] * dims, "pads": [pick(0, 1)] * (2 * dims)}
    return inputs, attrs, 1, tuple(name for name in inputs if name != "x")


def qgemm(r, pick):
    of, zero = integers(r, pick)
    m, k, n, trans = pick(1, 3), pick(4, 16), pick(2, 5), (pick(0, 1), pick(0, 1))
    a, b = of(*((k, m) if trans[0] else (m, k))), r.i8(*((n, k) if trans[1] else (k, n)))
    columns = pick(0, 1)
    inputs = {"a": a, "a_scale": f32(0.02), "a_zero": zero, "b": b, "b_scale": r.positive(n) if columns else f32(0.01),
              "b_zero": np.zeros(n, np.int8) if columns else i8(0), "c": pick(None, r.i32(n, low=-2000, high=2000))}
    if pick(0, 1):
        inputs.update({"y_scale": f32(0.073), "y_zero": zero})
    return inputs, {"transA": trans[0], "transB": trans[1], "alpha": pick(1.0, 0.5)}, 1, \
        tuple(name for name in inputs if name != "a")


def dynamic_matmul(r, pick):
    n, k = pick(3, 6), pick(8, 32)
    is_i8, columns = pick(0, 1), pick(0, 1)
    inputs = {"a": r.f32(*pick((2,), (2, 3)), k, scale=pick(0.1, 1, 20), shift=pick(0.0, 3.0)),
              "b": (r.i8 if is_i8 else r.u8)(k, n), "b_scale": r.positive(n) if columns else f32(0.01),
              "b_zero": None if pick(0, 1) else
              (np.zeros(n, np.int8) if columns else i8(0)) if is_i8 else (r.u8(n) if columns else u8(120)),
              "bias": pick(None, r.f32(n))}
    return inputs, {}, 1, ("b", "b_scale", "b_zero", "bias")


FAMILIES = {"Attention": attention, "DynamicQuantizeMatMul": dynamic_matmul, "FusedMatMul": fused_matmul,
            "GroupQueryAttention": group_query, "MatMulNBits": few_bits, "MultiHeadAttention": multi_head,
            "QGemm": qgemm, "QLinearConv": qlinear_conv, **random_fused.FAMILIES, **random_quantized.FAMILIES}


def write_cases(folder, seed, count, only=()):
    write, refused = Writer(folder), 0
    for op, family in FAMILIES.items():
        for k in range(count):
            if only and op not in only:
                continue
            r = Random(f"{op} {seed} {k}")
            inputs, attrs, outputs, fixed = family(r, lambda *all_: all_[r.generator.integers(len(all_))])
            try:
                write(op, f"{seed}_{k}", inputs, attrs, outputs, fixed=fixed)
            except Exception as error:  # of onnxruntime, which has no common class of them
                refused += 1
                print(f"{op} {seed}_{k}: {str(error).splitlines()[0][-150:]}")
    print(f"{sum(write.counts.values())} cases; ONNX Runtime refused {refused}")


def failures_of(byoc, folder, compiler):
    ran = subprocess.run([byoc, "test-onnx", str(folder), "--compiler", compiler, "--json"], stdout=subprocess.PIPE,
                         text=True)
    failed = 0
    for case in json.loads(ran.stdout)["cases"]:
        if case["verdict"] in ("passed", "folded"):
            continue
        is_step = re.search(r"[ui]8\[[\d,]*\]: max error 1 ", case["reason"])
        share = re.search(r"f32\[[\d,]*\]: max error \S+ \((\S+) of max\)", case["reason"])
        is_small = is_step or share and float(share[1]) <= 1e-4
        failed += not is_small
        print(f"{compiler}: {'small' if is_small else case['verdict']}: {case['folder']}: {case['reason']}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("byoc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--compiler", nargs="*", default=["json"])
    parser.add_argument("--folder")
    parser.add_argument("--only", nargs="*", help="operators, all unless given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        write_cases(folder, given.seed, given.count, given.only)
        sys.exit(1 if sum(failures_of(given.byoc, folder, compiler) for compiler in given.compiler) else 0)


if __name__ == "__main__":
    main()
