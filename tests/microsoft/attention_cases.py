# SPDX-License-Identifier: Apache-2.0
"""Cases of attention and of rotated positions."""
import numpy as np

from case import Random, f32, i8, u8


def ints(*numbers):
    return np.array(numbers, np.int32)


def attention(write):
    r, op = Random("Attention"), "Attention"
    x, w, b = r.f32(2, 4, 8), r.f32(8, 24, scale=0.5), r.f32(24)
    base, fixed, two = {"x": x, "w": w, "b": b}, ("w", "b"), {"num_heads": 2}
    write(op, "plain", dict(base), two, fixed=fixed)
    write(op, "mask", {**base, "mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)}, two, fixed=fixed)
    write(op, "mask_of_rank_3", {**base, "mask": (r.u8(2, 4, 4) > 90).astype(np.int32)}, two, fixed=fixed)
    write(op, "lengths", {**base, "mask": ints(3, 2)}, two, fixed=fixed)
    write(op, "ends_and_starts", {**base, "mask": ints(4, 3, 1, 0)}, two, fixed=fixed)
    write(op, "causal", dict(base), {**two, "unidirectional": 1}, fixed=fixed)
    write(op, "causal_mask", {**base, "mask": np.array([[0, 1, 1, 1], [1, 1, 1, 0]], np.int32)},
          {**two, "unidirectional": 1, "mask_filter_value": -50.0}, fixed=fixed)
    write(op, "scale", {**base, "b": None}, {"num_heads": 4, "scale": 0.2}, fixed=fixed)
    write(op, "no_bias_but_mask", {**base, "b": None, "mask": ints(3, 2)}, two, fixed=fixed)
    write(op, "attention_bias", {**base, "mask": None, "past": None, "bias": r.f32(2, 2, 4, 4)}, two, fixed=fixed)
    write(op, "one_attention_bias", {**base, "mask": ints(4, 2), "past": None, "bias": r.f32(1, 1, 4, 4)}, two,
          fixed=fixed)
    write(op, "present", dict(base), two, 2, fixed=fixed)
    past = r.f32(2, 2, 2, 3, 4)
    write(op, "past", {**base, "mask": None, "past": past}, two, 2, fixed=fixed)
    write(op, "past_and_mask", {**base, "mask": (r.u8(2, 7) > 60).astype(np.int32), "past": past},
          {**two, "unidirectional": 1}, 2, fixed=fixed)
    write(op, "sizes", {"x": x, "w": r.f32(8, 28, scale=0.5), "b": r.f32(28)},
          {**two, "qkv_hidden_sizes": [8, 8, 12]}, fixed=fixed)
    r, op = Random("QAttention"), "QAttention"
    fixed = ("w", "b", "x_scale", "w_scale", "x_zero", "w_zero")
    base = {"x": r.u8(2, 4, 8), "w": r.i8(8, 24), "b": r.f32(24), "x_scale": f32(0.02), "w_scale": f32(0.01),
            "mask": None, "x_zero": u8(128), "w_zero": i8(0)}
    write(op, "plain", dict(base), two, fixed=fixed)
    write(op, "mask", {**base, "mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)}, two, fixed=fixed)
    write(op, "columns", {**base, "w_scale": r.positive(24), "w_zero": np.zeros(24, np.int8)},
          {**two, "unidirectional": 1}, fixed=fixed)
    write(op, "lengths", {**base, "mask": ints(3, 2), "w": r.u8(8, 24), "w_zero": u8(120)}, two, fixed=fixed)
    write(op, "past", {**base, "past": r.f32(2, 2, 2, 3, 4)}, {**two, "unidirectional": 1}, 2, fixed=fixed)
    write(op, "scale_at_run_time", dict(base), two, fixed=("w", "b", "w_scale", "w_zero"))


def multi_head(write):
    r, op, two = Random("MultiHead"), "MultiHeadAttention", {"num_heads": 2}
    q, k, v, b = r.f32(2, 3, 8), r.f32(2, 5, 8), r.f32(2, 5, 8), r.f32(24)
    base = {"q": q, "k": k, "v": v, "b": None}
    write(op, "plain", dict(base), two)
    write(op, "bias", {**base, "b": b}, two, fixed=("b",))
    write(op, "scale", dict(base), {"num_heads": 4, "scale": 0.3})
    write(op, "other_size_of_values", {**base, "v": r.f32(2, 5, 12)}, two)
    write(op, "lengths", {**base, "mask": ints(5, 2)}, two)
    write(op, "mask", {**base, "mask": (r.u8(2, 5) > 90).astype(np.int32)}, {**two, "mask_filter_value": -20.0})
    write(op, "mask_of_rank_3", {**base, "mask": (r.u8(2, 3, 5) > 90).astype(np.int32)}, two)
    write(op, "attention_bias", {**base, "mask": None, "bias": r.f32(2, 2, 3, 5)}, two)
    write(op, "one_attention_bias", {**base, "b": b, "mask": None, "bias": r.f32(1, 2, 3, 5)}, two)
    write(op, "causal", {"q": q, "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), "b": None}, {**two, "unidirectional": 1})
    past = {"past_k": r.f32(2, 2, 4, 4), "past_v": r.f32(2, 2, 4, 4)}
    write(op, "present", {**base, "b": b}, two, 3)
    write(op, "past", {"q": q, "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), "b": b, "mask": None, "bias": None, **past},
          two, 3)
    write(op, "causal_past", {"q": q, "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), "b": None, "mask": None, "bias": None,
                              **past}, {**two, "unidirectional": 1}, 3)
    write(op, "past_and_mask", {"q": q, "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), "b": None,
                                "mask": (r.u8(2, 7) > 60).astype(np.int32), "bias": None, **past}, two, 3)
    write(op, "keys_in_heads", {"q": q, "k": r.f32(2, 2, 5, 4), "v": r.f32(2, 2, 5, 4)}, two)
    write(op, "scores", dict(base), two, ["y", "", "", "qk"])


def caches(r, length, half):
    angles = r.f32(length, half, scale=2)
    return {"cos": np.cos(angles), "sin": np.sin(angles)}


def rotary(write):
    r, op = Random("Rotary"), "RotaryEmbedding"
    positions = np.array([[0, 1, 2], [4, 5, 6]], np.int64)
    fixed = ("cos", "sin")
    write(op, "heads", {"x": r.f32(2, 2, 3, 8), "at": positions, **caches(r, 9, 4)}, fixed=fixed)
    write(op, "packed", {"x": r.f32(2, 3, 16), "at": positions, **caches(r, 9, 4)}, fixed=fixed)
    write(op, "first_position", {"x": r.f32(2, 3, 16), "at": np.array([3], np.int64), **caches(r, 9, 4)}, fixed=fixed)
    write(op, "interleaved", {"x": r.f32(2, 2, 3, 8), "at": positions, **caches(r, 9, 4)}, {"interleaved": 1},
          fixed=fixed)
    write(op, "part_of_a_head", {"x": r.f32(2, 3, 16), "at": positions, **caches(r, 9, 2)},
          {"num_heads": 2, "rotary_embedding_dim": 4}, fixed=fixed)
    write(op, "caches_at_run_time", {"x": r.f32(1, 2, 3, 4), "at": positions[:1], **caches(r, 9, 2)})
    write(op, "f16", {"x": r.f16(2, 2, 3, 8), "at": positions,
                      **{name: cache.astype(np.float16) for name, cache in caches(r, 9, 4).items()}}, fixed=fixed)


def group_query(write):
    r, op = Random("GroupQuery"), "GroupQueryAttention"
    heads = {"num_heads": 4, "kv_num_heads": 2}
    total = ("total",)

    def given(n, s, past=0, cache=None, seqlens=None, total=None, dtype=np.float32, size=8, packed=False, **more):
        """`past`: positions before; `cache`: the length of the past that is given; None: none."""
        total = past + s if total is None else total
        lengths = ints(*(seqlens or [total - 1] * n))
        keys = {"q": r.f32(n, s, 8 * size)} if packed else {
            "q": r.f32(n, s, 4 * size), "k": r.f32(n, s, 2 * size), "v": r.f32(n, s, 2 * size)}
        if packed:
            keys.update({"k": None, "v": None})
        before = {"past_k": None, "past_v": None}
        if cache is not None:
            before = {name: r.f32(n, 2, cache, size) for name in before}
            for array in before.values():
                for image, length in enumerate(lengths):
                    array[image, :, int(length) + 1 - s if total != s else 0:] = 0
        arrays = {**keys, **before, "seqlens": lengths, "total": np.array(total, np.int32), **more}
        return {name: array.astype(dtype) if array is not None and array.dtype == np.float32 else array
                for name, array in arrays.items()}

    write(op, "prompt", given(2, 3), heads, 3, fixed=total)
    write(op, "packed", given(1, 3, packed=True), heads, 3, fixed=total)
    write(op, "one_output", given(2, 3), {**heads, "scale": 0.2}, fixed=total)
    write(op, "joined", given(1, 1, past=5, cache=5), heads, 3, fixed=total)
    write(op, "joined_several", given(1, 3, past=4, cache=4), heads, 3, fixed=total)
    write(op, "joined_images", given(2, 1, past=4, cache=4), heads, 3, fixed=total)
    write(op, "fixed_size", given(1, 1, past=3, cache=6), heads, 3, fixed=total)
    write(op, "fixed_size_prompt", given(2, 3, cache=6), heads, 3, fixed=total)
    write(op, "fixed_size_lengths", given(2, 1, past=4, cache=7, seqlens=[4, 2]), heads, 3, fixed=total)
    write(op, "window", given(1, 6), {**heads, "local_window_size": 2}, fixed=total)
    write(op, "window_past", given(1, 1, past=5, cache=5), {**heads, "local_window_size": 3}, 3, fixed=total)
    write(op, "softcap", given(2, 4), {**heads, "softcap": 0.8}, fixed=total)
    write(op, "smooth", given(2, 4), {**heads, "smooth_softmax": 1}, fixed=total)
    write(op, "rotary", given(1, 3, size=16, **caches(r, 9, 8)), {**heads, "do_rotary": 1}, 3,
          fixed=("cos", "sin", *total))
    write(op, "rotary_past", given(1, 1, past=5, cache=5, size=16, **caches(r, 9, 8)), {**heads, "do_rotary": 1}, 3,
          fixed=("cos", "sin", *total))
    write(op, "rotary_interleaved", given(2, 3, size=16, **caches(r, 9, 8)),
          {**heads, "do_rotary": 1, "rotary_interleaved": 1}, 3, fixed=("cos", "sin", *total))
    none = {"cos": None, "sin": None, "at": None}
    write(op, "attention_bias", given(2, 3, **none, bias=r.f32(1, 4, 3, 3)), heads, fixed=total)
    write(op, "softcap_and_bias", given(2, 3, **none, bias=r.f32(2, 1, 3, 3)), {**heads, "softcap": 0.7}, fixed=total)
    write(op, "sink", given(2, 3, **none, bias=None, sink=r.f32(4)), heads, fixed=total)
    write(op, "scores", given(1, 3), {**heads, "qk_output": 1}, 4, fixed=total)
    write(op, "capped_scores", given(2, 3, **none, bias=r.f32(1, 1, 3, 3)), {**heads, "qk_output": 1, "softcap": 0.7},
          4, fixed=total)
    write(op, "probabilities", given(1, 3), {**heads, "qk_output": 2}, 4, fixed=total)
    write(op, "both_directions", given(2, 3), {**heads, "causal": 0}, fixed=total)
    write(op, "f16", given(1, 3, dtype=np.float16), heads, 3, fixed=total)


def after_past(write):
    """Forms with tokens before, which open_test.cc reads with open numbers of tokens."""
    r, two = Random("AfterPast"), {"num_heads": 2}
    write("Attention", "past_causal", {"x": r.f32(2, 4, 8), "w": r.f32(8, 24, scale=0.5), "b": r.f32(24), "mask": None,
                                       "past": r.f32(2, 2, 2, 3, 4)}, {**two, "unidirectional": 1}, 2, fixed=("w", "b"))
    write("MultiHeadAttention", "causal_bias", {"q": r.f32(2, 3, 8), "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), "b": None,
                                                "mask": None, "bias": r.f32(2, 2, 3, 3)}, {**two, "unidirectional": 1})
    past = {"mask": None, "past_k": r.f32(2, 2, 5, 4), "past_v": r.f32(2, 2, 5, 4)}
    write("Attention", "onnx_past", {**{x: r.f32(2, 2, 3, 4) for x in "qkv"}, **past}, {"is_causal": 1}, 3, domain="",
          opset=23)
    write("Attention", "onnx_past_groups", {"q": r.f32(2, 3, 16), "k": r.f32(2, 3, 8), "v": r.f32(2, 3, 8), **past},
          {"is_causal": 1, "softcap": 1.5, "q_num_heads": 4, "kv_num_heads": 2}, 3, domain="", opset=23)
    new = {x: r.f32(2, 3, 8) for x in "qkv"}
    del past["mask"]
    write("MultiHeadAttention", "causal_past_and_bias", {**new, "b": None, "mask": None, "bias": r.f32(1, 2, 3, 8), **past},
          {**two, "unidirectional": 1}, 3)


def write_all(write):
    for family in (attention, multi_head, rotary, group_query, after_past):
        family(write)
