# SPDX-License-Identifier: Apache-2.0
"""Cases of operators on integers of 8 bits."""
import numpy as np

from case import Random, f32, i8, u8


def scaled(x, scale, zero, prefix):
    """Returns the three inputs of an operand; `zero` None: omitted."""
    return {prefix: x, f"{prefix}_scale": f32(scale) if np.isscalar(scale) else scale, f"{prefix}_zero": zero}


def fixed_of(*prefixes):
    return tuple(f"{prefix}_{part}" for prefix in prefixes for part in ("scale", "zero"))


def binary(write):
    fixed = fixed_of("a", "b", "c")
    for op, scale in (("QLinearAdd", 0.0613), ("QLinearMul", 0.0317)):
        r = Random(op)

        def case(name, a, b, zeros, c_scale=scale, **more):
            result = {"c_scale": f32(c_scale), "c_zero": zeros[2]}
            write(op, name, {**scaled(a, 0.02, zeros[0], "a"), **scaled(b, 0.03, zeros[1], "b"), **result},
                  **{"fixed": fixed, **more})

        case("u8", r.u8(3, 7), r.u8(3, 7), (u8(128), u8(120), u8(110)))
        case("i8", r.i8(3, 7), r.i8(3, 7), (i8(3), i8(-7), i8(5)))
        case("row", r.u8(2, 3, 7), r.u8(7), (u8(100), u8(128), u8(128)))
        case("column", r.u8(4, 1), r.u8(4, 9), (u8(128), u8(128), u8(128)))
        case("weight", r.u8(4, 8), r.u8(4, 8), (u8(128), u8(130), u8(120)), fixed=("b", *fixed))
        case("scales_at_run_time", r.u8(2, 8), r.u8(2, 8), (u8(128), u8(130), u8(120)), fixed=())


def unary(write):
    fixed = fixed_of("x", "y")

    def case(op, name, x, scales, zeros, attrs=None):
        write(op, name, {**scaled(x, scales[0], zeros[0], "x"), "y_scale": f32(scales[1]), "y_zero": zeros[1]}, attrs,
              fixed=fixed)

    r = Random("unary")
    case("QLinearSigmoid", "u8", r.u8(4, 9), (0.05, 1 / 256), (u8(128), u8(0)))
    case("QLinearSigmoid", "i8", r.i8(4, 9), (0.04, 1 / 200), (i8(5), i8(-100)))
    case("QLinearSigmoid", "no_zero_points", r.i8(40), (0.03, 0.01), (None, None))
    case("QLinearLeakyRelu", "u8", r.u8(4, 9), (0.05, 0.04), (u8(128), u8(60)), {"alpha": 0.3})
    case("QLinearLeakyRelu", "i8", r.i8(4, 9), (0.05, 0.05), (i8(5), i8(-20)), {"alpha": 0.1})
    case("QLinearLeakyRelu", "default_alpha", r.i8(4, 9), (0.05, 0.02), (i8(100), i8(40)))
    for name, x, zeros, attrs in (
            ("last", r.u8(3, 8), (u8(128), u8(0)), {"opset": 13, "axis": -1}),
            ("middle", r.i8(2, 5, 3), (i8(0), i8(-128)), {"opset": 13, "axis": 1}),
            ("opset_12", r.u8(2, 3, 4), (u8(128), u8(0)), {"opset": 12, "axis": 1}),
            ("opset_11_last", r.u8(2, 3, 4), (u8(100), u8(0)), {"opset": 11, "axis": 2})):
        case("QLinearSoftmax", name, x, (0.02, 1 / 256 if "1" not in name else 1 / 512), zeros, attrs)


def concat_and_where(write):
    r = Random("concat")
    parts = {**scaled(r.u8(2, 3), 0.02, u8(128), "a"), **scaled(r.u8(2, 4), 0.03, u8(120), "b")}
    fixed = ("y_scale", "y_zero", *fixed_of("a", "b", "c"))
    write("QLinearConcat", "u8", {"y_scale": f32(0.03), "y_zero": u8(128), **parts}, {"axis": 1}, fixed=fixed)
    write("QLinearConcat", "one_scale", {"y_scale": f32(0.02), "y_zero": i8(3), **scaled(r.i8(2, 3), 0.02, i8(3), "a"),
                                         **scaled(r.i8(1, 3), 0.02, i8(3), "b")}, {"axis": 0}, fixed=fixed)
    write("QLinearConcat", "three", {"y_scale": f32(0.05), "y_zero": u8(100), **parts,
                                     **scaled(r.u8(2, 2), 0.01, u8(0), "c")}, {"axis": -1}, fixed=("c", *fixed))
    fixed = fixed_of("x", "y", "z")
    for name, of, zeros in (("u8", r.u8, (u8(128), u8(120), u8(128))), ("i8", r.i8, (i8(0), i8(-5), i8(7)))):
        write("QLinearWhere", name, {"c": r.u8(3, 7) > 120, **scaled(of(3, 7), 0.02, zeros[0], "x"),
                                     **scaled(of(3, 7), 0.03, zeros[1], "y"), "z_scale": f32(0.03), "z_zero": zeros[2]},
              fixed=fixed)
    write("QLinearWhere", "broadcast", {"c": r.u8(4, 1) > 120, **scaled(r.u8(4, 6), 0.02, u8(128), "x"),
                                        **scaled(r.u8(6), 0.03, u8(120), "y"), "z_scale": f32(0.03),
                                        "z_zero": u8(128)}, fixed=fixed)


def pools(write):
    r, fixed = Random("pools"), fixed_of("x", "y")

    def case(op, name, x, zeros, attrs=None, scales=(0.02, 0.012)):
        write(op, name, {**scaled(x, scales[0], zeros[0], "x"), "y_scale": f32(scales[1]), "y_zero": zeros[1]}, attrs,
              fixed=fixed)

    op, u = "QLinearAveragePool", (u8(128), u8(120))
    case(op, "u8", r.u8(1, 3, 6, 6), u, {"kernel_shape": [2, 2], "strides": [2, 2]})
    case(op, "i8", r.i8(1, 3, 6, 6), (i8(3), i8(-4)), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    case(op, "counts_pads", r.u8(1, 2, 5, 5), u, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2],
                                                  "count_include_pad": 1})
    case(op, "ceil", r.u8(1, 2, 5, 5), u, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1})
    case(op, "channels_last", r.u8(1, 6, 6, 5), u, {"kernel_shape": [2, 2], "strides": [2, 2], "channels_last": 1})
    case(op, "one_dim", r.i8(1, 2, 9), (i8(1), i8(0)), {"kernel_shape": [2]})
    op = "QLinearGlobalAveragePool"
    case(op, "u8", r.u8(2, 9, 4, 4), u, scales=(0.02, 0.006))
    case(op, "i8", r.i8(2, 9, 3, 5), (i8(3), i8(-4)), scales=(0.02, 0.006))
    case(op, "channels_last", r.u8(2, 4, 4, 9), u, {"channels_last": 1}, scales=(0.02, 0.006))
    op = "NhwcMaxPool"
    write(op, "u8", {"x": r.u8(1, 6, 6, 4)}, {"kernel_shape": [2, 2], "strides": [2, 2]})
    write(op, "i8", {"x": r.i8(1, 6, 6, 4)}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    write(op, "ceil", {"x": r.u8(2, 5, 5, 3)}, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1})
    case("QLinearAveragePool", "ceil_counts_pads", r.u8(1, 2, 5, 6), u,
         {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 0, 0], "ceil_mode": 1, "count_include_pad": 1})


def convolutions(write):
    r, op = Random("QLinearConv"), "QLinearConv"
    fixed = ("w", "bias", *fixed_of("x", "w", "y"))

    def case(name, x, x_zero, w, w_zero, w_scale, attrs, bias=True, y_scale=0.1):
        zero = u8(128) if x.dtype == np.uint8 else i8(4)
        inputs = {**scaled(x, 0.02, x_zero, "x"), **scaled(w, w_scale, w_zero, "w"), "y_scale": f32(y_scale),
                  "y_zero": zero, "bias": r.i32(w.shape[0], low=-3000, high=3000) if bias else None}
        write(op, name, inputs, attrs, fixed=fixed)

    w = r.i8(8, 3, 3, 3)
    case("u8_i8", r.u8(1, 3, 6, 6), u8(128), w, i8(0), 0.01, {})
    case("channels_last", r.u8(1, 6, 6, 3), u8(120), w, i8(0), 0.01, {"channels_last": 1, "pads": [1, 1, 1, 1]})
    case("scale_per_channel", r.u8(1, 6, 6, 3), u8(120), w, np.zeros(8, np.int8), r.positive(8),
         {"channels_last": 1, "strides": [2, 2]})
    case("depthwise", r.u8(1, 6, 6, 8), u8(120), r.i8(8, 1, 3, 3), i8(0), 0.01, {"channels_last": 1, "group": 8},
         bias=False, y_scale=0.05)
    case("i8_i8", r.i8(1, 5, 5, 3), i8(-3), w, i8(0), 0.01, {"channels_last": 1}, y_scale=0.13)
    case("u8_u8", r.u8(1, 3, 6, 6), u8(128), r.u8(8, 3, 3, 3), u8(125), 0.01, {"dilations": [2, 2]}, bias=False)


def products(write):
    r, op = Random("QGemm"), "QGemm"
    fixed = ("b", "c", *fixed_of("a", "b", "y"))

    def case(name, a, b, zeros, attrs=None, c=None, y=None, b_scale=0.01):
        inputs = {**scaled(a, 0.02, zeros[0], "a"), **scaled(b, b_scale, zeros[1], "b"), "c": c}
        if y is not None:
            inputs.update({"y_scale": f32(0.05), "y_zero": y})
        write(op, name, inputs, attrs, fixed=fixed)

    c = r.i32(5, low=-2000, high=2000)
    case("u8", r.u8(3, 8), r.u8(8, 5), (u8(128), u8(120)), c=c, y=u8(128))
    case("float_result", r.u8(3, 8), r.i8(8, 5), (u8(128), i8(0)), c=c)
    case("transposed", r.u8(8, 3), r.i8(5, 8), (u8(110), i8(0)), {"transA": 1, "transB": 1}, c=c, y=u8(120))
    case("columns", r.u8(3, 8), r.i8(8, 5), (u8(128), np.zeros(5, np.int8)), {"alpha": 0.5}, c=c, y=u8(128),
         b_scale=r.positive(5))
    case("columns_transposed", r.u8(3, 8), r.i8(5, 8), (u8(128), np.zeros(5, np.int8)), {"transB": 1}, c=c,
         b_scale=r.positive(5))
    case("no_bias", r.i8(3, 8), r.i8(8, 5), (i8(3), i8(0)), y=i8(-4))
    case("matrix_bias", r.u8(3, 8), r.i8(8, 5), (u8(128), i8(0)), {"alpha": 2.0},
         c=r.i32(3, 5, low=-2000, high=2000))

    r, op = Random("DynamicQuantizeMatMul"), "DynamicQuantizeMatMul"
    fixed = ("b", "b_scale", "b_zero", "bias")
    write(op, "u8", {"a": r.f32(3, 8), "b": r.u8(8, 5), "b_scale": f32(0.01), "b_zero": u8(120)}, fixed=fixed)
    write(op, "i8_bias", {"a": r.f32(2, 3, 8), "b": r.i8(8, 5), "b_scale": f32(0.01), "b_zero": i8(0),
                          "bias": r.f32(5)}, fixed=fixed)
    write(op, "columns", {"a": r.f32(4, 16), "b": r.i8(16, 6), "b_scale": r.positive(6),
                          "b_zero": np.zeros(6, np.int8), "bias": r.f32(6)}, fixed=fixed)
    write(op, "no_zero_point", {"a": r.f32(4, 16, shift=2.0), "b": r.i8(16, 6), "b_scale": f32(0.02),
                                "b_zero": None, "bias": r.f32(6)}, fixed=fixed)

    r, op = Random("MatMulIntegerToFloat"), "MatMulIntegerToFloat"
    fixed = ("b", "a_scale", "b_scale", "a_zero", "b_zero", "bias")

    def to_float(name, a, b, b_scale, zeros, bias=None, at_run_time=()):
        write(op, name, {"a": a, "b": b, "a_scale": f32(0.02), "b_scale": b_scale, "a_zero": zeros[0],
                         "b_zero": zeros[1], "bias": bias}, fixed=[name for name in fixed if name not in at_run_time])

    to_float("u8", r.u8(3, 8), r.u8(8, 5), f32(0.01), (u8(128), u8(120)))
    to_float("i8_bias", r.i8(2, 3, 8), r.i8(8, 5), f32(0.01), (i8(4), i8(0)), r.f32(5))
    to_float("columns", r.u8(3, 8), r.i8(8, 5), r.positive(5), (u8(128), np.zeros(5, np.int8)), r.f32(5))
    to_float("no_zero_points", r.u8(3, 8), r.i8(8, 5), f32(0.01), (None, None))
    to_float("scale_at_run_time", r.u8(3, 8), r.i8(8, 5), r.positive(5), (u8(120), None), r.f32(5),
             ("a_scale", "a_zero"))
    to_float("scale_at_run_time_u8", r.u8(4, 16), r.u8(16, 5), f32(0.01), (u8(120), u8(99)), None,
             ("a_scale", "a_zero"))
    to_float("columns_of_one_zero_point", r.u8(3, 8), r.u8(8, 5), r.positive(5), (u8(128), u8(119)))


def recurrent(write):
    """States and inputs are multiples of their range's step, and only one step multiplies a state: what ONNX Runtime
    rounds is so exact. Of its results of longer sequences, byoc's differ by that rounding."""
    r, op = Random("DynamicQuantizeLSTM"), "DynamicQuantizeLSTM"

    def on_grid(step, *shape):
        steps = r.i32(*shape, low=-100, high=156)
        steps.flat[0], steps.flat[-1] = -100, 155
        return (steps * step).astype(np.float32)

    def case(name, of, zero, time=1, directions=1, columns=False, state=True, still=False, outputs=3, **attrs):
        n, k, hidden = 2, 6, 5
        shape = (directions, 4 * hidden) if columns else (directions,)
        zeros = np.full(shape, zero, np.int8 if of == r.i8 else np.uint8)
        weights = of(directions, k, 4 * hidden), of(directions, hidden, 4 * hidden)
        inputs = {"x": on_grid(0.02, time, n, k), "w": weights[0],
                  "r": np.full_like(weights[1], zero) if still else weights[1],
                  "b": r.f32(directions, 8 * hidden, scale=0.3), "lengths": None,
                  "h": np.stack([on_grid(0.006, n, hidden) for _ in range(directions)]) if state else None,
                  "c": r.f32(directions, n, hidden) if state else None, "p": None,
                  "w_scale": r.positive(*shape, low=0.002, high=0.006), "w_zero": zeros,
                  "r_scale": r.positive(*shape, low=0.002, high=0.006), "r_zero": zeros}
        direction = ["", attrs.pop("direction", "forward"), "bidirectional"][directions]
        write(op, name, inputs, {"hidden_size": hidden, "direction": direction, **attrs}, outputs,
              fixed=("w", "r", "b", "w_scale", "w_zero", "r_scale", "r_zero"))

    case("i8", r.i8, 0)
    case("u8", r.u8, 120)
    case("columns", r.i8, 0, columns=True)
    case("directions", r.u8, 131, directions=2)
    case("sequence", r.i8, 0, time=4, still=True, outputs=1)
    case("sequence_from_the_end", r.i8, 0, time=4, still=True, direction="reverse", state=False)
    case("activations", r.u8, 128, activations=["HardSigmoid", "Relu", "Tanh"], clip=0.9)


def embeddings(write):
    r, op = Random("QEmbed"), "QEmbedLayerNormalization"
    names = ("word", "position", "segment", "gamma", "beta")
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)

    def case(name, of, zero, has_segments=True, has_mask=True, **attrs):
        tables = dict(zip(names, (of(9, 8), of(6, 8), of(2, 8), of(8), of(8))))
        scales = {f"{name}_scale": f32(0.01 + 0.005 * k) for k, name in enumerate(names)}
        zeros = {f"{name}_zero": zero for name in names}
        inputs = {"ids": r.i32(2, 4, high=9), "segments": r.i32(2, 4, high=2), **tables, "mask": mask, **scales,
                  **zeros}
        for left_out in ([] if has_segments else ["segments", "segment", "segment_scale", "segment_zero"]) + \
                ([] if has_mask else ["mask"]):
            inputs[left_out] = None
        write(op, name, inputs, attrs, 2, fixed=(*tables, *scales, *zeros))

    case("u8", r.u8, u8(120))
    case("i8", r.i8, i8(3), epsilon=0.1)
    case("no_segments", r.u8, u8(100), has_segments=False)
    case("no_mask", r.u8, u8(128), has_mask=False)


def linear(write):
    r = Random("linear")
    fixed = ("scale", "zero")
    for op, of in (("QuantizeLinear", r.f32), ("DequantizeLinear", r.u8)):
        write(op, "u8", {"x": of(3, 7), "scale": f32(0.03), "zero": u8(128)}, fixed=fixed)
        write(op, "no_zero_point", {"x": np.abs(of(3, 7)), "scale": f32(0.02), "zero": None}, fixed=fixed)
    write("QuantizeLinear", "axis", {"x": r.f32(3, 4, 5), "scale": r.positive(4, low=0.01, high=0.05),
                                     "zero": r.u8(4, low=100, high=150)}, {"axis": 1}, fixed=fixed)
    write("QuantizeLinear", "i8_first_axis", {"x": r.f32(4, 5), "scale": r.positive(4, low=0.01, high=0.05),
                                              "zero": r.i8(4, low=-9, high=9)}, {"axis": 0}, fixed=fixed)
    write("QuantizeLinear", "u16", {"x": r.f32(3, 5), "scale": f32(0.0005), "zero": np.array(32768, np.uint16)},
          fixed=fixed)
    write("QuantizeLinear", "f16", {"x": r.f16(3, 5), "scale": np.array(0.02, np.float16), "zero": i8(3)},
          fixed=fixed)
    write("DequantizeLinear", "axis", {"x": r.i8(3, 4, 5), "scale": r.positive(5), "zero": r.i8(5)}, {"axis": -1},
          fixed=fixed)
    write("DequantizeLinear", "i32", {"x": r.i32(3, 4, low=-9000, high=9000), "scale": f32(0.001), "zero": None},
          fixed=fixed)
    write("DequantizeLinear", "i16", {"x": r.i32(3, 4, low=-9000, high=9000).astype(np.int16), "scale": f32(0.001),
                                      "zero": np.array(77, np.int16)}, fixed=fixed)
    write("DequantizeLinear", "f16", {"x": r.u8(3, 4), "scale": np.array(0.02, np.float16), "zero": u8(99)},
          fixed=fixed)


def write_all(write):
    for family in (binary, unary, concat_and_where, pools, convolutions, products, recurrent, embeddings, linear):
        family(write)
