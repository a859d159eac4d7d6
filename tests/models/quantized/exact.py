# SPDX-License-Identifier: Apache-2.0
"""Whether each integer of a quantised network is the right rounding, given the integers before it.

Every node is evaluated in f64 on the operands that byoc computed. Beside each value is a bound of
its error in f32, whatever the order of sums and whether products are fused with them. An integer is
right if some number within the bound rounds to it. So a network all of whose integers are right can
differ from another one only by values next to a tie, and by what follows from them.
"""

from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

UNIT = 2.0 ** -24  # half a unit in the last place of a float of 1


class Value(NamedTuple):
    x: np.ndarray  # f64, or integers
    error: np.ndarray  # of a computation in f32, at most; same shape

    def map(self, move):
        return Value(move(self.x), move(self.error))


def exact(x):
    x = np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else np.asarray(x)
    return Value(x, np.zeros(x.shape))


def rounded(x, error):
    """A result of one operation, rounded once."""
    return Value(x, error + UNIT * (np.abs(x) + error))


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def along(parameter, axis, rank):
    """A scale or zero point per entry of a dim, as an operand that broadcasts."""
    parameter = np.asarray(parameter)
    return parameter if parameter.size == 1 else parameter.reshape([-1 if d == axis % rank else 1 for d in range(rank)])


def windows(x, kernel, strides, dilations, pads, fill, ceil=False):
    """[n, c, out..., kernel...] of an image; pads are begins, then ends."""
    rank = len(kernel)
    around = [[pads[d], pads[d + rank]] for d in range(rank)]
    for d in range(rank if ceil else 0):
        wide = x.shape[d + 2] + sum(around[d]) - dilations[d] * (kernel[d] - 1) - 1
        more = -wide % strides[d]
        if (wide + more) // strides[d] * strides[d] < x.shape[d + 2] + around[d][0]:
            around[d][1] += more
    x = np.pad(x, [(0, 0), (0, 0), *around], constant_values=fill)
    spans = [dilations[d] * (kernel[d] - 1) + 1 for d in range(rank)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + rank)))
    at = [slice(None)] * 2 + [slice(None, None, s) for s in strides] + [slice(None, None, d) for d in dilations]
    return view[tuple(at)]


def sum_of(products, magnitudes, moved, terms):
    """A sum of `terms` products of f32 in any order; moved: what errors of the operands add."""
    return Value(products, moved + (terms + 2) * UNIT * (magnitudes + moved))


def products(a, b, multiply, terms):
    magnitudes = multiply(np.abs(a.x), np.abs(b.x))
    moved = multiply(np.abs(a.x), b.error) + multiply(a.error, np.abs(b.x)) + multiply(a.error, b.error)
    return sum_of(multiply(a.x, b.x), magnitudes, moved, terms)


def plus(a, b):
    return rounded(a.x + b.x, a.error + b.error)


def conv(node, x, w, bias=None):
    how = attributes(node)
    rank = w.x.ndim - 2
    groups = how.get("group", 1)
    ones = [1] * rank

    def multiply(image, weights):
        cells = windows(image, weights.shape[2:], how.get("strides", ones), how.get("dilations", ones),
                        how.get("pads", [0] * 2 * rank), 0)
        parts = [np.tensordot(c, v, axes=([1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]))
                 for c, v in zip(np.split(cells, groups, 1), np.split(weights, groups, 0))]
        return np.moveaxis(np.concatenate(parts, -1), -1, 1)

    y = products(x, w, multiply, int(np.prod(w.x.shape[1:])))
    return y if bias is None else plus(y, bias.map(lambda v: v.reshape([-1] + [1] * rank)))


def conv_transpose(node, x, w, bias=None):
    how = attributes(node)
    rank = w.x.ndim - 2
    kernel, strides = list(w.x.shape[2:]), how["strides"]
    if kernel != list(strides) or how.get("group", 1) != 1 or any(how.get("pads", [0])):
        raise NotImplementedError("a transposed convolution whose windows overlap")

    def multiply(image, weights):
        y = np.tensordot(image, weights, axes=([1], [0]))  # [n, in..., o, kernel...]
        order = [0, rank + 1] + [k for d in range(rank) for k in (d + 1, d + rank + 2)]
        return y.transpose(order).reshape([y.shape[0], y.shape[rank + 1]] + [i * k for i, k in zip(image.shape[2:], kernel)])

    y = products(x, w, multiply, w.x.shape[0])
    return y if bias is None else plus(y, bias.map(lambda v: v.reshape([-1] + [1] * rank)))


def gemm(node, a, b, c=None):
    how = attributes(node)
    if how.get("transA"):
        a = a.map(np.transpose)
    if how.get("transB"):
        b = b.map(np.transpose)
    y = products(a, b, np.matmul, a.x.shape[-1])
    return y if c is None else plus(y, c)


def max_pool(node, x):
    how = attributes(node)
    rank = len(how["kernel_shape"])
    ones = [1] * rank

    def pool(v, fill):
        cells = windows(v, how["kernel_shape"], how.get("strides", ones), how.get("dilations", ones),
                        how.get("pads", [0] * 2 * rank), fill, how.get("ceil_mode", 0))
        return cells.max(axis=tuple(range(2 + rank, 2 + 2 * rank)))

    return Value(pool(x.x, -np.inf), pool(x.error, 0))


def mean(node, x):
    axes = tuple(range(2, x.x.ndim))
    terms = int(np.prod(x.x.shape[2:]))
    keep = {"axis": axes, "keepdims": True}
    return sum_of(x.x.mean(**keep), np.abs(x.x).mean(**keep), x.error.mean(**keep), terms)


def interpolated(x, axis, scale, how):
    """One dim of linear interpolation by half pixels, or of the nearest cell below."""
    extent = x.shape[axis]
    at = np.arange(int(extent * scale))
    if how == ("nearest", "asymmetric", "floor"):
        return x.take(np.floor(at / scale).astype(int), axis)
    if how[:2] != ("linear", "half_pixel"):
        raise NotImplementedError(f"interpolation: {how}")
    place = np.clip((at + 0.5) / scale - 0.5, 0, extent - 1)
    low = np.floor(place).astype(int)
    part = (place - low).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    return x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, extent - 1), axis) * part


def resize(node, x, *sizes):
    how = {"mode": b"nearest", "coordinate_transformation_mode": b"half_pixel", "nearest_mode": b"round_prefer_floor",
           **attributes(node)}
    rule = tuple(how[k].decode() for k in ("mode", "coordinate_transformation_mode", "nearest_mode"))
    is_list = len(sizes) > 2  # of extents, else of scales
    scales = [s / n for s, n in zip(sizes[-1].x, x.x.shape)] if is_list else sizes[-1].x
    value, magnitude, error, terms = x.x, np.abs(x.x), x.error, 1
    for axis, scale in enumerate(scales):
        if scale != 1:
            value, magnitude, error = (interpolated(v, axis, scale, rule) for v in (value, magnitude, error))
            terms *= 2
    return Value(value, error) if rule[0] == "nearest" else sum_of(value, magnitude, error, 2 * terms)


def function(f, slope):
    """A function whose slope is at most `slope`, computed to a few units relative to 1."""
    return lambda node, x: Value(f(x.x), slope * x.error + 8 * UNIT * np.maximum(np.abs(f(x.x)), 1))


def product(node, a, b):
    return rounded(a.x * b.x, np.abs(a.x) * b.error + a.error * np.abs(b.x) + a.error * b.error)


def power(node, x, exponent):
    if exponent.x != 2:
        raise NotImplementedError(f"the power {exponent.x}")
    y = product(node, x, x)
    return Value(y.x, y.error + 2 * UNIT * y.x)


def concat(node, *operands):
    axis = attributes(node)["axis"]
    return Value(np.concatenate([o.x for o in operands], axis), np.concatenate([o.error for o in operands], axis))


def split(node, x, *sizes):
    how = attributes(node)
    axis = how.get("axis", 0)
    if sizes:
        at = np.cumsum(sizes[0].x)[:-1]
    else:
        at = np.cumsum(how["split"])[:-1] if "split" in how else len(node.output)
    return [Value(a, b) for a, b in zip(np.split(x.x, at, axis), np.split(x.error, at, axis))]


def cut(node, x, starts, ends, axes=None, steps=None):
    at = [slice(None)] * x.x.ndim
    for k, (first, last) in enumerate(zip(starts.x, ends.x)):
        axis = k if axes is None else int(axes.x[k])
        last = None if last > 2 ** 40 else int(last)
        at[axis] = slice(int(first), last, 1 if steps is None else int(steps.x[k]))
    return x.map(lambda v: v[tuple(at)])


def pad(node, x, pads, value=None):
    rank = x.x.ndim
    around = [(int(pads.x[d]), int(pads.x[d + rank])) for d in range(rank)]
    fill = 0 if value is None else float(value.x)
    return Value(np.pad(x.x, around, constant_values=fill), np.pad(x.error, around))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


OPS = {
    "Add": lambda node, a, b: plus(a, b),
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Flatten": lambda node, x: x.map(lambda v: v.reshape(v.shape[0], -1)),
    "Gemm": gemm,
    "GlobalAveragePool": mean,
    "MaxPool": max_pool,
    "Mul": product,
    "Pad": pad,
    "Pow": power,
    "Relu": lambda node, x: Value(np.maximum(x.x, 0), x.error),
    "Reshape": lambda node, x, to: x.map(lambda v: v.reshape([v.shape[k] if n == 0 else n for k, n in enumerate(to.x)])),
    "Resize": resize,
    "Sigmoid": function(sigmoid, 0.25),
    "Slice": cut,
    "Split": split,
    "Sub": lambda node, a, b: rounded(a.x - b.x, a.error + b.error),
    "Tanh": function(np.tanh, 1),
    "Transpose": lambda node, x: x.map(lambda v: v.transpose(attributes(node).get("perm"))),
}


class Judge:
    """A network whose integers are judged; `tensors` are those that byoc must return."""

    def __init__(self, path):
        self.model = onnx.load(path)
        graph = self.model.graph
        self.numbers = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.tensors = [node.output[0] for node in graph.node
                        if node.op_type == "QuantizeLinear" and node.input[0] not in self.numbers]

    def with_tensors(self):
        """The model with each tensor of integers as a further output."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        inferred = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
        model.graph.output.extend(inferred[name] for name in self.tensors if name in inferred)
        return model

    def judge(self, feed, got):
        """(wrong values, integers next to a tie that differ from the rounded f64, all integers).

        got: byoc's outputs and tensors, by name.
        """
        values = {name: exact(x) for name, x in {**self.numbers, **feed}.items()}
        wrong = near = count = 0
        for node in self.model.graph.node:
            operands = [values[name] if name else exact(np.array(())) for name in node.input]
            if node.op_type == "QuantizeLinear":
                low, middle, high = self.quotient(node, *operands)
                have = got.get(node.output[0], middle).astype(int)
                wrong += int(((have < low) | (have > high)).sum())
                near += int((have != middle).sum())
                count += have.size
                values[node.output[0]] = exact(have)
            elif node.op_type == "DequantizeLinear":
                values[node.output[0]] = self.floats(node, *operands)
            elif node.op_type == "Constant":
                values[node.output[0]] = exact(numpy_helper.to_array(node.attribute[0].t))
            else:
                results = OPS[node.op_type](node, *operands)
                values.update(zip(node.output, [results] if isinstance(results, Value) else results))
        for output in self.model.graph.output:
            off = np.abs(values[output.name].x - got[output.name])
            wrong += int((off > values[output.name].error).sum())
        return wrong, near, count

    def quotient(self, node, x, scale, zero):
        axis = attributes(node).get("axis", 1)
        scale, zero_point = along(scale.x, axis, x.x.ndim), along(zero.x, axis, x.x.ndim).astype(int)
        value = x.x / scale
        error = x.error / np.abs(scale) + 4 * UNIT * np.abs(value)
        least, most = (0, 255) if self.numbers[node.input[2]].dtype == np.uint8 else (-128, 127)
        return [np.clip(np.rint(v).astype(int) + zero_point, least, most) for v in (value - error, value, value + error)]

    def floats(self, node, x, scale, zero=None):
        axis = attributes(node).get("axis", 1)
        steps = x.x.astype(np.float64)
        if zero is not None:
            steps = steps - along(zero.x, axis, steps.ndim)
        return rounded(steps * along(scale.x, axis, steps.ndim), np.zeros(steps.shape))
