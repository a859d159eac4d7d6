# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft on integers of 8 bits, for random_cases.py: a function per family returns inputs,
attributes, the number of outputs and the names of constants."""
import numpy as np

from case import f32, i8, u8


def integers(r, pick):
    """Integers of one of both types, and a zero point."""
    return pick((r.u8, u8(pick(0, 100, 128))), (r.i8, i8(pick(0, -9, 5))))


def except_x(inputs, *names):
    return tuple(name for name in inputs if name not in names)


def binary(y_scale):
    def family(r, pick):
        of, zero = integers(r, pick)
        shapes = pick(((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (5,)), ((4, 1), (1, 7)), ((1,), (2, 33)))
        inputs = {"a": of(*shapes[0]), "a_scale": f32(0.02), "a_zero": zero, "b": of(*shapes[1]),
                  "b_scale": f32(0.011), "b_zero": pick(None, zero), "y_scale": f32(y_scale), "y_zero": zero}
        return inputs, {}, 1, except_x(inputs, "a", *pick(("b",), ()))
    return family


def unary(attrs_of=lambda pick: {}, y_scale=0.0173):
    def family(r, pick):
        of, zero = integers(r, pick)
        inputs = {"x": of(*pick((3, 33), (2, 3, 4), (7,))), "x_scale": f32(0.031), "x_zero": zero,
                  "y_scale": f32(y_scale), "y_zero": zero}
        return inputs, attrs_of(pick), 1, except_x(inputs, "x")
    return family


def softmax(r, pick):
    of, _ = integers(r, pick)
    zero, least = (u8(0), u8(0)) if of == r.u8 else (i8(3), i8(-128))
    inputs = {"x": of(2, 3, pick(4, 9)), "x_scale": f32(0.03), "x_zero": zero, "y_scale": f32(1 / 256),
              "y_zero": least}
    return inputs, {"axis": pick(-1, 2), "opset": 13}, 1, except_x(inputs, "x")


def pool(is_global):
    def family(r, pick):
        of, zero = integers(r, pick)
        last = pick(0, 1)
        x = of(2, pick(3, 16), pick(5, 6), pick(5, 7))
        inputs = {"x": np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x, "x_scale": f32(0.02),
                  "x_zero": zero, "y_scale": f32(0.0131), "y_zero": zero}
        attrs = {"channels_last": last}
        if not is_global:
            attrs.update(kernel_shape=[2, 3], strides=[pick(1, 2), 1], pads=pick([0, 0, 0, 0], [1, 1, 0, 1]),
                         count_include_pad=pick(0, 1), ceil_mode=pick(0, 1))
        return inputs, attrs, 1, except_x(inputs, "x")
    return family


def concat(r, pick):
    of, zero = integers(r, pick)
    inputs = {"y_scale": f32(0.023), "y_zero": zero}
    for k in range(pick(1, 2, 3)):
        inputs.update({f"x{k}": of(2, pick(1, 3, 5), 4), f"s{k}": f32(pick(0.023, 0.011)), f"z{k}": zero})
    return inputs, {"axis": pick(1, -2)}, 1, tuple(name for name in inputs if name[0] != "x")


def to_float(r, pick):
    of, zero = integers(r, pick)
    n, k, columns, is_i8 = pick(3, 17), pick(8, 40), pick(0, 1), pick(0, 1)
    inputs = {"a": of(*pick((3,), (2, 2)), k), "b": (r.i8 if is_i8 else r.u8)(k, n), "a_scale": f32(0.02),
              "b_scale": r.positive(n) if columns else f32(0.01), "a_zero": pick(None, zero),
              "b_zero": pick(None, i8(0) if is_i8 else u8(117)), "bias": pick(None, r.f32(n))}
    return inputs, {}, 1, except_x(inputs, "a", *pick((), ("a_scale", "a_zero")))


def attention(r, pick):
    n, s, heads, size, past = pick(1, 2), pick(1, 4), pick(1, 2), pick(4, 8), pick(0, 0, 2)
    width, is_i8, columns = heads * size, pick(0, 1), pick(0, 1)
    inputs = {"x": r.u8(n, s, 6), "w": (r.i8 if is_i8 else r.u8)(6, 3 * width), "b": r.f32(3 * width),
              "x_scale": f32(0.02), "w_scale": r.positive(3 * width) if columns else f32(0.01),
              "mask": pick(None, r.i32(n, low=1, high=s + past + 1)), "x_zero": u8(pick(0, 128)),
              "w_zero": (np.zeros(3 * width, np.int8) if columns else i8(0)) if is_i8 else
              (r.u8(3 * width) if columns else u8(121)),
              "past": r.f32(2, n, heads, past, size) if past else None}
    return inputs, {"num_heads": heads, "unidirectional": pick(0, 1)}, 2 if past else 1, \
        ("w", "b", "x_scale", "w_scale", "x_zero", "w_zero")


FAMILIES = {"MatMulIntegerToFloat": to_float, "QAttention": attention, "QLinearAdd": binary(0.027),
            "QLinearAveragePool": pool(False), "QLinearConcat": concat, "QLinearGlobalAveragePool": pool(True),
            "QLinearLeakyRelu": unary(lambda pick: {"alpha": pick(0.01, 0.3)}, 0.029), "QLinearMul": binary(0.019),
            "QLinearSigmoid": unary(y_scale=1 / 256), "QLinearSoftmax": softmax}
