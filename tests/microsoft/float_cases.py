# SPDX-License-Identifier: Apache-2.0
"""Cases of activations, products of floats, normalisations and blocks of few bits."""
import numpy as np

from case import Random


def activations(write):
    for op, attrs in (("Gelu", {}), ("QuickGelu", {})):
        for name, x in (("f32", Random(op).f32(2, 3, 5, scale=2)), ("vector", Random(op).f32(33, scale=3)),
                        ("one", Random(op).f32(1, 1, 1, 1))):
            write(op, name, {"x": x}, attrs)
    write("Gelu", "fixed_rows", {"x": Random("rows").f32(7, 64, scale=0.5)})
    write("QuickGelu", "alpha", {"x": Random("alpha").f32(4, 6)}, {"alpha": 0.7})
    write("QuickGelu", "negative_alpha", {"x": Random("nalpha").f32(4, 6)}, {"alpha": -1.25})
    r = Random("FastGelu")
    write("FastGelu", "f32", {"x": r.f32(2, 3, 5, scale=2)})
    write("FastGelu", "bias", {"x": r.f32(2, 3, 5), "bias": r.f32(5)})
    write("FastGelu", "fixed_bias", {"x": r.f32(4, 8), "bias": r.f32(8)}, fixed=("bias",))
    r = Random("BiasGelu")
    write("BiasGelu", "f32", {"x": r.f32(2, 3, 5, scale=2), "bias": r.f32(5)})
    write("BiasGelu", "fixed", {"x": r.f32(3, 16), "bias": r.f32(16)}, fixed=("bias",))
    write("BiasGelu", "one", {"x": r.f32(2, 2, 1), "bias": r.f32(1)})


def products(write):
    r = Random("FusedMatMul")
    write("FusedMatMul", "plain", {"a": r.f32(2, 3), "b": r.f32(3, 4)})
    write("FusedMatMul", "alpha", {"a": r.f32(2, 5, 3), "b": r.f32(2, 3, 4)}, {"alpha": 0.125})
    write("FusedMatMul", "matrices", {"a": r.f32(3, 2), "b": r.f32(4, 3)}, {"transA": 1, "transB": 1, "alpha": 2.5})
    write("FusedMatMul", "trans_a", {"a": r.f32(2, 3, 5), "b": r.f32(2, 3, 4)}, {"transA": 1})
    write("FusedMatMul", "trans_b", {"a": r.f32(2, 2, 5, 3), "b": r.f32(2, 1, 4, 3)}, {"transB": 1, "alpha": -1.0})
    write("FusedMatMul", "batch_a", {"a": r.f32(5, 2, 3), "b": r.f32(2, 3, 4)}, {"transBatchA": 1})
    write("FusedMatMul", "batch_both", {"a": r.f32(3, 2, 5), "b": r.f32(4, 2, 3)},
          {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1})
    write("FusedMatMul", "batch_rank_4", {"a": r.f32(5, 2, 3, 4), "b": r.f32(2, 3, 4, 6)}, {"transBatchA": 1})
    write("FusedMatMul", "f64", {"a": r.f32(4, 3).astype(np.float64), "b": r.f32(3, 2).astype(np.float64)},
          {"alpha": 3.0})
    r = Random("TransposeMatMul")
    write("TransposeMatMul", "plain", {"a": r.f32(2, 3), "b": r.f32(3, 4)})
    write("TransposeMatMul", "both", {"a": r.f32(2, 3, 5), "b": r.f32(2, 4, 3)}, {"transA": 1, "transB": 1})
    write("TransposeMatMul", "alpha", {"a": r.f32(2, 3), "b": r.f32(4, 3)}, {"transB": 1, "alpha": 0.3})
    r = Random("FusedGemm")
    ab = {"a": r.f32(2, 3), "b": r.f32(3, 4)}
    write("FusedGemm", "relu", {**ab, "c": r.f32(4)}, {"activation": "Relu"})
    write("FusedGemm", "leaky", {**ab, "c": r.f32(2, 4)},
          {"activation": "LeakyRelu", "activation_alpha": 0.3, "beta": 0.5})
    write("FusedGemm", "no_c", dict(ab), {"activation": "Tanh", "alpha": 2.0})
    write("FusedGemm", "transposed", {"a": r.f32(3, 2), "b": r.f32(4, 3), "c": r.f32(1, 4)},
          {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4, "transA": 1, "transB": 1})
    write("FusedGemm", "elu", {**ab, "c": r.f32(2, 1)}, {"activation": "Elu", "activation_alpha": 0.6})
    write("FusedGemm", "sigmoid", {**ab, "c": r.f32(1)}, {"activation": "Sigmoid"})


def convolutions(write):
    r = Random("FusedConv")
    x, w, b = r.f32(1, 4, 6, 6), r.f32(3, 4, 3, 3, scale=0.3), r.f32(3)
    fixed = ("w", "b")
    write("FusedConv", "relu", {"x": x, "w": w, "b": b}, {"activation": "Relu"}, fixed=fixed)
    write("FusedConv", "no_bias", {"x": x, "w": w},
          {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1, 1, 1]}, fixed=fixed)
    write("FusedConv", "clip", {"x": x, "w": w, "b": b},
          {"activation": "Clip", "activation_params": [-0.5, 1.5], "strides": [2, 2]}, fixed=fixed)
    write("FusedConv", "hard_sigmoid", {"x": x, "w": w, "b": b},
          {"activation": "HardSigmoid", "activation_params": [0.2, 0.4], "kernel_shape": [3, 3]}, fixed=fixed)
    write("FusedConv", "sum", {"x": x, "w": w, "b": b, "z": r.f32(1, 3, 4, 4)}, {"activation": "Relu"}, fixed=fixed)
    write("FusedConv", "sum_without_bias", {"x": x, "w": w, "b": None, "z": r.f32(1, 3, 6, 6)},
          {"activation": "Tanh", "auto_pad": "SAME_UPPER"}, fixed=fixed)
    write("FusedConv", "groups", {"x": x, "w": r.f32(4, 2, 3, 3, scale=0.3), "b": r.f32(4)},
          {"activation": "Sigmoid", "group": 2, "dilations": [2, 2]}, fixed=fixed)
    write("FusedConv", "one_dim", {"x": r.f32(2, 3, 9), "w": r.f32(5, 3, 4, scale=0.3), "b": r.f32(5)},
          {"activation": "Relu"}, fixed=fixed)


def nhwc(write):
    r = Random("NhwcConv")
    x, fixed = r.f32(1, 6, 6, 4), ("w", "b")
    write("NhwcConv", "bias", {"x": x, "w": r.f32(5, 4, 3, 3, scale=0.3), "b": r.f32(5)}, {"pads": [1, 1, 1, 1]},
          fixed=fixed)
    write("NhwcConv", "strides", {"x": x, "w": r.f32(5, 4, 2, 2, scale=0.3)}, {"strides": [2, 2]}, fixed=fixed)
    write("NhwcConv", "groups", {"x": x, "w": r.f32(8, 1, 3, 3, scale=0.3), "b": r.f32(8)}, {"group": 4}, fixed=fixed)
    write("NhwcConv", "one_dim", {"x": r.f32(2, 9, 3), "w": r.f32(4, 3, 4, scale=0.3)}, {"dilations": [2]},
          fixed=fixed)


def norms(write):
    r = Random("SkipLayerNormalization")
    x, skip, gamma, beta, bias = r.f32(2, 3, 8), r.f32(2, 3, 8), r.f32(8), r.f32(8), r.f32(8)
    op = "SkipLayerNormalization"
    write(op, "plain", {"x": x, "skip": skip, "gamma": gamma, "beta": beta})
    write(op, "no_beta", {"x": x, "skip": skip, "gamma": gamma}, {"epsilon": 0.1})
    write(op, "bias_and_sum", {"x": x, "skip": skip, "gamma": gamma, "beta": beta, "bias": bias},
          {"epsilon": 1e-5}, ["y", "", "", "sum"])
    write(op, "bias_without_beta", {"x": x, "skip": skip, "gamma": gamma, "beta": None, "bias": bias})
    write(op, "skip_per_position", {"x": x, "skip": r.f32(1, 3, 8), "gamma": gamma, "beta": beta})
    write(op, "skip_of_rank_2", {"x": x, "skip": r.f32(3, 8), "gamma": gamma, "beta": beta}, fixed=("gamma", "beta"))
    write(op, "f16", {"x": r.f16(2, 3, 8), "skip": r.f16(2, 3, 8), "gamma": r.f16(8), "beta": r.f16(8)})
    op, r = "SkipSimplifiedLayerNormalization", Random("SkipSimplified")
    write(op, "plain", {"x": x, "skip": skip, "gamma": gamma})
    write(op, "bias_and_sum", {"x": x, "skip": skip, "gamma": gamma, "bias": bias}, {"epsilon": 1e-3},
          ["y", "", "", "sum"])
    write(op, "rank_2", {"x": r.f32(5, 8), "skip": r.f32(5, 8), "gamma": gamma}, {"epsilon": 0.2}, fixed=("gamma",))
    write(op, "f16", {"x": r.f16(2, 3, 8), "skip": r.f16(2, 3, 8), "gamma": r.f16(8)})
    op, r = "SimplifiedLayerNormalization", Random("Simplified")
    write(op, "plain", {"x": x, "scale": gamma}, domain="", opset=13)
    write(op, "axis", {"x": x, "scale": r.f32(3, 8)}, {"axis": 1, "epsilon": 0.01}, domain="")
    write(op, "root", {"x": r.f32(4, 6), "scale": r.f32(6)}, {"stash_type": 1}, 2, domain="")
    write(op, "f64", {"x": r.f32(4, 6).astype(np.float64), "scale": r.f32(6).astype(np.float64)}, domain="")
    op = "LayerNormalization"
    write(op, "opset_13", {"x": x, "scale": gamma, "bias": beta}, domain="", opset=13)
    write(op, "axis", {"x": x, "scale": r.f32(3, 8), "bias": r.f32(3, 8)}, {"axis": -2}, domain="", opset=11)
    write(op, "no_bias", {"x": x, "scale": gamma}, {"epsilon": 0.3}, domain="", opset=16)
    op, r = "EmbedLayerNormalization", Random("Embed")
    ids, segments = r.i32(2, 4, high=9), r.i32(2, 4, high=2)
    tables = {"word": r.f32(9, 8), "position": r.f32(6, 8), "segment": r.f32(2, 8), "gamma": r.f32(8), "beta": r.f32(8)}
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    fixed = tuple(tables)
    write(op, "mask", {"ids": ids, "segments": segments, **tables, "mask": mask}, {}, 2, fixed=fixed)
    write(op, "no_mask", {"ids": ids, "segments": segments, **tables}, {"epsilon": 0.01}, 2, fixed=fixed)
    write(op, "no_segments", {"ids": ids, "segments": None, **tables, "segment": None, "mask": mask}, {}, 2,
          fixed=fixed)
    write(op, "positions", {"ids": ids, "segments": segments, **tables, "mask": None,
                            "positions": r.i32(2, 4, high=6)}, {}, ["y", "", "sum"], fixed=fixed)
    write(op, "one_row_of_positions", {"ids": ids, "segments": segments, **tables, "mask": mask,
                                       "positions": r.i32(1, 4, high=6)}, {}, 3, fixed=fixed)


def packed(codes, bits):
    """Packs codes [..., k] of few bits into bytes, the lowest bits first."""
    each = 8 // bits
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], -codes.shape[-1] % each), np.uint8)], -1)
    parts = codes.reshape(*codes.shape[:-1], -1, each)
    return np.bitwise_or.reduce(parts << (np.arange(each, dtype=np.uint8) * bits), axis=-1).astype(np.uint8)


def blocks(write):
    op, r = "MatMulNBits", Random("MatMulNBits")

    def weights(k, n, size, bits, zero="none", dtype=np.float32):
        count = -(-k // size)
        b = packed(r.u8(n, count, size, high=2**bits), bits)
        scales = r.positive(n, count, low=0.01, high=0.1).astype(dtype)
        points = {"none": None, "float": r.f32(n, count, scale=2, shift=2.0**(bits - 1)).astype(dtype),
                  "packed": packed(r.u8(n, count, high=2**bits), bits)}[zero]
        return {"b": b, "scales": scales, "zero_points": points}, {"K": k, "N": n, "block_size": size, "bits": bits}

    fixed = ("b", "scales", "zero_points", "bias")
    for name, of in (("four_bits", (32, 8, 16, 4)), ("four_bits_short", (40, 6, 16, 4)),
                     ("zero_points", (64, 5, 32, 4, "packed")), ("odd_blocks", (48, 4, 16, 4, "packed")),
                     ("float_zero_points", (32, 4, 16, 4, "float")), ("eight_bits", (32, 8, 16, 8)),
                     ("eight_bits_zero_points", (64, 6, 32, 8, "packed"))):
        given, attrs = weights(*of)
        write(op, name, {"a": r.f32(3, of[0]), **given}, attrs, fixed=fixed)
    given, attrs = weights(32, 6, 16, 4, "packed")
    write(op, "bias", {"a": r.f32(2, 3, 32), **given, "g_idx": None, "bias": r.f32(6)}, attrs, fixed=fixed)
    write(op, "flat_scales", {"a": r.f32(2, 32), **given, "scales": given["scales"].ravel(),
                              "zero_points": given["zero_points"].ravel()}, attrs, fixed=fixed)
    given, attrs = weights(32, 6, 16, 4, "packed", np.float16)
    write(op, "f16", {"a": r.f16(2, 32), **given}, attrs, fixed=fixed)
    for name, of in (("rounded_rows", (70, 8, 32, 4)), ("rounded_rows_of_bytes", (64, 5, 16, 8, "packed")),
                     ("rounded_rows_zero_points", (256, 33, 128, 4, "packed")),
                     ("float_zero_points_round_nothing", (32, 4, 16, 4, "float"))):
        given, attrs = weights(*of)
        write(op, name, {"a": r.f32(3, of[0]), **given}, {**attrs, "accuracy_level": 4}, fixed=fixed)


def gathered_blocks(write):
    import ml_dtypes
    op, r, fixed = "GatherBlockQuantized", Random("GatherBlocks"), ("data", "scales", "zero_points")
    ids = np.array([[3, 0, 8], [1, 1, 7]], np.int64)

    def case(name, data, zeros, ids=ids, shape=(9, 2), dtype=np.float32, **attrs):
        write(op, name, {"data": data, "ids": ids, "scales": r.positive(*shape, low=0.01, high=0.1).astype(dtype),
                         "zero_points": zeros}, {"block_size": 16, **attrs}, fixed=fixed)

    def packed_rows(bits, *shape):
        return packed(r.u8(*shape, high=2**bits), bits)

    case("four_bits", packed_rows(4, 9, 32), None)
    case("zero_points", packed_rows(4, 9, 32), packed_rows(4, 9, 2))
    case("short_block", packed_rows(4, 9, 40), packed_rows(4, 9, 3), shape=(9, 3))
    case("eight_bits", r.u8(9, 32), r.u8(9, 2), ids=ids.astype(np.int32), bits=8)
    case("eight_bits_default", r.u8(9, 32), None, bits=8)
    case("u4", r.u8(9, 32, high=16).astype(ml_dtypes.uint4), r.u8(9, 2, high=16).astype(ml_dtypes.uint4))
    case("i4", r.i8(9, 32, low=-8, high=8).astype(ml_dtypes.int4), None)
    case("other_axes", r.i8(32, 9, low=-8, high=8).astype(ml_dtypes.int4), None, shape=(2, 9), gather_axis=1,
         quantize_axis=0)
    case("f16", packed_rows(4, 9, 32), None, dtype=np.float16)


def others(write):
    r = Random("others")
    write("CDist", "squared", {"a": r.f32(3, 4), "b": r.f32(5, 4)})
    write("CDist", "euclidean", {"a": r.f32(3, 4), "b": r.f32(2, 4)}, {"metric": "euclidean"})
    write("CDist", "f64", {"a": r.f32(3, 4).astype(np.float64), "b": r.f32(3, 4).astype(np.float64)},
          {"metric": "euclidean"})
    for name, axis in (("first", 0), ("last", -1), ("middle", 1)):
        write("ExpandDims", name, {"x": r.f32(2, 3), "axis": np.array(axis, np.int32)}, fixed=("axis",))
    x, grid = r.f32(1, 2, 5, 6), r.f32(1, 3, 4, 2, scale=0.6)
    write("GridSample", "plain", {"x": x, "grid": grid})
    write("GridSample", "nearest", {"x": x, "grid": grid}, {"mode": "nearest", "padding_mode": "border"})
    write("GridSample", "aligned", {"x": x, "grid": grid}, {"mode": "bicubic", "align_corners": 1})
    write("GridSample", "reflection", {"x": x, "grid": grid}, {"padding_mode": "reflection"})
    write("Trilu", "upper", {"x": r.f32(3, 4)})
    write("Trilu", "lower", {"x": r.f32(2, 4, 4), "k": np.array(1, np.int64)}, {"upper": 0}, fixed=("k",))
    write("Trilu", "shifted", {"x": r.i32(5, 3).astype(np.int64), "k": np.array(-2, np.int64)}, fixed=("k",))


def write_all(write):
    for family in (activations, products, convolutions, nhwc, norms, blocks, gathered_blocks, others):
        family(write)
