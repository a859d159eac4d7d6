# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft on floats and blocks, for random_cases.py: a function per family returns inputs,
attributes, the number of outputs and the names of constants."""
import numpy as np

from float_cases import packed


def skip_norm(is_simplified):
    def family(r, pick):
        shape, width = [pick(1, 2), pick(1, 4)], pick(4, 8, 33)
        x, gamma, bias = r.f32(*shape, width), r.f32(width), pick(None, r.f32(width))
        skips = [r.f32(*shape, width)] if is_simplified else [r.f32(*shape, width), r.f32(1, shape[1], width),
                                                              r.f32(shape[1], width)]
        inputs = {"x": x, "skip": pick(*skips), "gamma": gamma}
        if not is_simplified:
            inputs["beta"] = pick(None, r.f32(width))
        return {**inputs, "bias": bias}, {"epsilon": pick(1e-5, 0.1)}, pick(1, ["y", "", "", "sum"]), ("gamma",)
    return family


def embed_norm(r, pick):
    n, s, width, words, places = pick(1, 3), pick(1, 5), pick(4, 16), 11, 7
    has_segments = pick(0, 1)
    inputs = {"ids": r.i32(n, s, high=words), "segments": r.i32(n, s, high=2) if has_segments else None,
              "word": r.f32(words, width), "position": r.f32(places, width),
              "segment": r.f32(2, width) if has_segments else None, "gamma": r.f32(width), "beta": r.f32(width),
              "mask": pick(None, (r.u8(n, s) > 90).astype(np.int32)),
              "positions": pick(None, r.i32(pick(1, n), s, high=places))}
    return inputs, {"epsilon": pick(1e-12, 0.01)}, ["y", "", "sum"], ("word", "position", "segment", "gamma", "beta")


def fused_conv(r, pick):
    dims, group = pick(1, 2), pick(1, 2)
    channels, out, extent = 2 * group * pick(1, 2), group * pick(1, 4), pick(6, 9)
    kernel, stride, pad = pick(1, 3), pick(1, 2), pick(0, 1)
    cells = (extent + 2 * pad - kernel) // stride + 1
    name, params = pick(("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.4, 1.1]), ("HardSigmoid", [0.3, 0.4]),
                        ("Sigmoid", []), ("Tanh", []))
    inputs = {"x": r.f32(2, channels, *[extent] * dims), "w": r.f32(out, channels // group, *[kernel] * dims, scale=0.4),
              "b": pick(None, r.f32(out)), "z": pick(None, r.f32(2, out, *[cells] * dims))}
    attrs = {"activation": name, "group": group, "strides": [stride] * dims, "pads": [pad] * (2 * dims)}
    if params:
        attrs["activation_params"] = params
    return inputs, attrs, 1, ("w", "b")


def fused_gemm(r, pick):
    m, k, n, trans = pick(1, 4), pick(3, 8), pick(1, 5), (pick(0, 1), pick(0, 1))
    name, alpha = pick(("Relu", None), ("LeakyRelu", 0.3), ("Elu", 0.7), ("Tanh", None), ("Sigmoid", None))
    inputs = {"a": r.f32(*((k, m) if trans[0] else (m, k))), "b": r.f32(*((n, k) if trans[1] else (k, n))),
              "c": pick(None, r.f32(n), r.f32(m, n), r.f32(m, 1))}
    attrs = {"activation": name, "transA": trans[0], "transB": trans[1], "alpha": pick(1.0, 0.5),
             "beta": pick(1.0, 2.0)}
    if alpha is not None:
        attrs["activation_alpha"] = alpha
    return inputs, attrs, 1, ("b",)


def rotary(r, pick):
    n, s, heads, size = pick(1, 2), pick(1, 3), pick(1, 4), pick(4, 16)
    angles = r.f32(9, size // 2, scale=2)
    x = r.f32(n, heads, s, size) if pick(0, 1) else r.f32(n, s, heads * size)
    at = np.array([pick(0, 4)], np.int64) if pick(0, 1) else r.i32(n, s, high=9).astype(np.int64)
    return {"x": x, "at": at, "cos": np.cos(angles), "sin": np.sin(angles)}, {"interleaved": pick(0, 1)}, 1, \
        ("cos", "sin")


def gathered_blocks(r, pick):
    bits, size, rows, width = pick(4, 8), pick(16, 32), 9, pick(16, 40, 64)
    count = -(-width // size)
    inputs = {"data": packed(r.u8(rows, width, high=2**bits), bits), "ids": r.i32(*pick((3,), (2, 2)), high=rows),
              "scales": r.positive(rows, count, low=0.01, high=0.1),
              "zeros": pick(None, packed(r.u8(rows, count, high=2**bits), bits))}
    return inputs, {"block_size": size, "bits": bits}, 1, ("data", "scales", "zeros")


FAMILIES = {"EmbedLayerNormalization": embed_norm, "FusedConv": fused_conv, "FusedGemm": fused_gemm,
            "GatherBlockQuantized": gathered_blocks, "RotaryEmbedding": rotary,
            "SkipLayerNormalization": skip_norm(False), "SkipSimplifiedLayerNormalization": skip_norm(True)}
