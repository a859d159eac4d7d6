#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile models by kind, made by tables: bombs of constants, functions and bodies, wrong attributes, axes, sizes and types.

`kinds()` yields (name, model or bytes); each may be compiled or refused, as long as that ends, and by name. hostile_models.py
runs them.
"""
import struct

import onnx
from onnx import TensorProto, helper

from hostile_forms import form_kinds
from hostile_growth import growth_forms
from hostile_numbers import number_forms
from hostile_ops import op_kinds
from hostile_scopes import scope_forms
from hostile_shapes import B, F, HUGE, I, LEAST, S, U8, bodies, field, graph, info, model, node, scalar, tensor, varint


def constant_bombs():
    """Small files whose constants, once computed, fill the memory."""
    for bits in (20, 30, 33, 36, 39, 44, 61, 62):
        n = 1 << bits
        yield f"constant_of_shape_2_{bits}", model([node("ConstantOfShape", ["n"])], [], initializers=[tensor("n", [n])])
        yield f"expand_constant_2_{bits}", model([node("Expand", ["c", "n"])], [], initializers=[scalar("c", 1.5), tensor("n", [n])])
        yield f"tile_constant_2_{bits}", model([node("Tile", ["c", "n"])], [], initializers=[floats("c", 2), tensor("n", [n])])
        yield f"range_2_{bits}", model([node("Range", ["a", "b", "c"])], [], initializers=[ints("a", 0), ints("b", n), ints("c", 1)])
        yield f"one_hot_2_{bits}", model([node("OneHot", ["i", "d", "v"])], [], initializers=[
            tensor("i", [1, 2]), ints("d", n), helper.make_tensor("v", F, [2], [0, 1])])
        yield f"pad_constant_2_{bits}", model([node("Pad", ["c", "n"])], [], initializers=[floats("c", 2), tensor("n", [0, n])])
        yield f"resize_constant_2_{bits}", model([node("Resize", ["c", "", "s"])], [], initializers=[
            helper.make_tensor("c", F, [1, 1, 2, 2], [1] * 4), helper.make_tensor("s", F, [4], [1, 1, 1, float(n)])])
        yield f"eye_like_2_{bits}", model([node("ConstantOfShape", ["n"], ["m"]), node("EyeLike", ["m"])], [],
                                          initializers=[tensor("n", [1 << bits // 2, 1 << bits - bits // 2])])
        yield f"gather_constant_2_{bits}", model(
            [node("ConstantOfShape", ["n"], ["i"], value=helper.make_tensor("v", I, [1], [1])), node("Gather", ["c", "i"])], [],
            initializers=[tensor("n", [n]), floats("c", 2)])
        yield f"outer_product_2_{bits}", model(
            [node("ConstantOfShape", ["n"], ["a"]), node("ConstantOfShape", ["k"], ["b"]), node("MatMul", ["a", "b"])], [],
            initializers=[tensor("n", [1 << bits // 2, 1]), tensor("k", [1, 1 << bits - bits // 2])])
        yield f"window_2_{bits}", model([node("HannWindow", ["n"])], [], initializers=[ints("n", n)])
        yield f"random_2_{bits}", model([node("RandomNormal", [], shape=[n])], [])
        yield f"cumsum_2_{bits}", model([node("ConstantOfShape", ["n"], ["m"]), node("CumSum", ["m", "a"])], [],
                                        initializers=[tensor("n", [n]), ints("a", 0)])
        yield f"expand_input_2_{bits}", model([node("Expand", ["x", "n"], ["e"]), node("ReduceSum", ["e"])], [info("x", (1,))],
                                              initializers=[tensor("n", [n])])
        yield f"batched_outer_2_{bits}", model([node("MatMul", ["x", "z"])], [info("x", (1, 1 << bits // 2, 1)),
                                                                             info("z", (1 << bits - bits // 2, 1, 1))])
    for op, extra in (("Concat", dict(axis=0)), ("Mul", {}), ("Add", {})):
        for depth in (20, 31, 45, 63, 70, 3000):
            start = helper.make_tensor("v0", F, [1], [1.0])
            nodes = [node(op, [f"v{k}", f"v{k}"], [f"v{k + 1}" if k + 1 < depth else "y"], **extra) for k in range(depth)]
            yield f"doubled_{op}_constant_{depth}", model(nodes, [], initializers=[start])
            yield f"doubled_{op}_input_{depth}", model(nodes, [info("v0", (1,))])
    for depth in (10, 20, 62):  # a shape that is computed, larger with each step
        nodes = [node("Shape", ["x"], ["s0"])] + [node("Mul", [f"s{k}", f"s{k}"], [f"s{k + 1}"]) for k in range(depth)]
        yield f"shape_squared_{depth}", model(nodes + [node("ConstantOfShape", [f"s{depth}"])], [info("x", (3, 5))])
        yield f"shape_expanded_{depth}", model(nodes + [node("Expand", ["x", f"s{depth}"])], [info("x", (3, 5))])


def floats(name, count):
    return helper.make_tensor(name, F, [count], [0.5] * count)


def ints(name, value):
    return tensor(name, [value], I, [])


def with_functions(functions, top="f0"):
    out = model([node(top, domain="own")])
    out.functions.extend(functions)
    out.opset_import.append(helper.make_opsetid("own", 1))
    return out


def own(name, nodes, inputs=("a",), outputs=("b",)):
    return helper.make_function("own", name, list(inputs), list(outputs), nodes,
                                [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])


def function_bombs():
    """Functions of the model that grow when they are inlined, and wrong ones."""
    for depth in (10, 16, 20, 30, 60, 1000):
        laughs = [own(f"f{k}", [node(f"f{k + 1}", ["a"], ["m"], domain="own"), node(f"f{k + 1}", ["m"], ["b"], domain="own")])
                  for k in range(depth)]
        yield f"functions_doubled_{depth}", with_functions(laughs + [own(f"f{depth}", [node("Relu", ["a"], ["b"])])])
        chain = [own(f"f{k}", [node(f"f{k + 1}", ["a"], ["b"], domain="own")]) for k in range(depth)]
        yield f"functions_nested_{depth}", with_functions(chain + [own(f"f{depth}", [node("Relu", ["a"], ["b"])])])
    yield "functions_nested_20000", with_functions([own(f"f{k}", [node(f"f{k + 1}", ["a"], ["b"], domain="own")]) for k in range(20000)] +
                                                   [own("f20000", [node("Relu", ["a"], ["b"])])])
    yield "functions_mutual", with_functions([own("f0", [node("f1", ["a"], ["b"], domain="own")]),
                                              own("f1", [node("f0", ["a"], ["b"], domain="own")])])
    yield "function_twice", with_functions([own("f0", [node("Relu", ["a"], ["b"])]), own("f0", [node("Tanh", ["a"], ["b"])])])
    yield "function_no_output", with_functions([own("f0", [node("Relu", ["a"], ["c"])])])
    yield "function_empty", with_functions([own("f0", [])])
    yield "function_input_twice", with_functions([own("f0", [node("Relu", ["a"], ["b"])], ("a", "a"))])
    yield "function_output_is_input", with_functions([own("f0", [], ("a",), ("a",))])
    yield "function_reads_the_caller", with_functions([own("f0", [node("Add", ["a", "x"], ["b"])])])
    yield "function_hides_an_op", with_functions([helper.make_function("", "Relu", ["a"], ["b"], [node("Relu", ["a"], ["b"])],
                                                                       [helper.make_opsetid("", 17)])], "Relu")
    reference = node("Softmax", ["a"], ["b"])
    attribute = reference.attribute.add(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
    yield "function_attribute_missing", with_functions([own("f0", [reference])])
    outside = model([node("Softmax")])
    outside.graph.node[0].attribute.append(attribute)
    yield "attribute_reference_outside", outside


def attribute_kinds():
    """Every kind of attribute in the place of every other one."""
    values = {"float": 1.5, "int": 3, "huge": HUGE, "least": LEAST, "text": "text", "bytes": b"\xff\x00\xfe", "floats": [1.5, float("nan")],
              "ints": [1, -1, HUGE], "texts": ["a", "b"], "tensor": helper.make_tensor("t", F, [2], [1, 2]),
              "graph": graph([node("Relu", ["x"], ["z"])], [], [info("z", None)]), "nan": float("nan"), "inf": float("inf")}
    image, line = info("x", (1, 4, 8, 8)), info("x", (2, 3))
    places = [("Softmax", "axis", line, {}), ("Transpose", "perm", line, {}), ("Cast", "to", line, {}), ("LeakyRelu", "alpha", line, {}),
              ("Flatten", "axis", line, {}), ("MaxPool", "kernel_shape", image, {}), ("MaxPool", "strides", image, dict(kernel_shape=[2, 2])),
              ("AveragePool", "pads", image, dict(kernel_shape=[2, 2])), ("MaxPool", "auto_pad", image, dict(kernel_shape=[2, 2])),
              ("MaxPool", "ceil_mode", image, dict(kernel_shape=[2, 2])), ("DepthToSpace", "blocksize", image, {}), ("LRN", "size", image, {}),
              ("Constant", "value", line, {}), ("Constant", "value_ints", line, {}), ("Constant", "sparse_value", line, {}),
              ("ConstantOfShape", "value", info("x", (2,), I), {}), ("If", "then_branch", info("x", (), B), {}), ("Loop", "body", line, {}),
              ("Scan", "num_scan_inputs", line, {}), ("GlobalLpPool", "p", image, {}), ("Elu", "alpha", line, {}),
              ("Gelu", "approximate", line, {}), ("Trilu", "upper", line, {}), ("EyeLike", "dtype", line, {}), ("ArgMax", "keepdims", line, {}),
              ("ReduceL2", "axes", line, {}), ("Shape", "start", line, {}), ("Shape", "end", line, {}), ("Einsum", "equation", line, {})]
    for op, name, x, rest in places:
        for kind, value in values.items():
            inputs = [] if op == "Constant" else ["x"]
            yield f"{op}_{name}_{kind}", model([node(op, inputs, **{name: value}, **rest)], [x])
        twice = node(op, [] if op == "Constant" else ["x"], **rest)
        for value in (1, 2):
            twice.attribute.append(helper.make_attribute(name, value))
        yield f"{op}_{name}_twice", model([twice], [x])
        lies = node(op, [] if op == "Constant" else ["x"], **rest)
        lies.attribute.add(name=name, type=onnx.AttributeProto.INTS, f=1.0, s=b"x")
        yield f"{op}_{name}_type_lies", model([lies], [x])
        lies = node(op, [] if op == "Constant" else ["x"], **rest)
        lies.attribute.add(name=name, type=onnx.AttributeProto.TYPE_PROTOS)
        yield f"{op}_{name}_type_of_types", model([lies], [x])


def axis_kinds():
    """Axes outside of the rank, by attribute and by operand."""
    for axis in (2, -3, 64, -65, 1 << 31, -(1 << 31) - 1, HUGE, LEAST):
        for op in ("Softmax", "LogSoftmax", "Hardmax", "Concat", "Flatten", "ArgMax", "ArgMin", "LayerNormalization", "LpNormalization",
                   "GatherElements", "ScatterElements", "Split", "Compress", "Unique", "Gather", "QuantizeLinear", "TopK", "OneHot"):
            inputs = {"Concat": ["x", "x"], "LayerNormalization": ["x", "x"], "GatherElements": ["x", "i"], "Gather": ["x", "i"],
                      "ScatterElements": ["x", "i", "x"], "Compress": ["x", "m"], "QuantizeLinear": ["x", "v"], "TopK": ["x", "k"],
                      "OneHot": ["i", "k", "v"]}.get(op, ["x"])
            outputs = ["y", "z"] if op == "TopK" else ["y"]
            yield f"axis_{op}_{axis}", model([node(op, inputs, outputs, axis=axis)], [info("x"), info("i", (2, 3), I), info("m", (2,), B)],
                                             initializers=[floats("v", 2), tensor("k", [2])], opset=13 if op == "Split" else 17)
        for op in ("ReduceSum", "Squeeze", "Unsqueeze", "CumSum"):
            operand = ints("n", axis) if op == "CumSum" else tensor("n", [axis])
            yield f"axis_operand_{op}_{axis}", model([node(op, ["x", "n"])], initializers=[operand])
            yield f"axis_at_run_{op}_{axis}", model([node(op, ["x", "n"])], [info("x"), info("n", () if op == "CumSum" else (1,), I)])
        for op in ("ReduceMean", "ReduceMax", "ReduceProd", "ReduceL1", "ReduceLogSumExp"):
            yield f"axes_{op}_{axis}", model([node(op, axes=[axis])], opset=13)
            yield f"axes_repeated_{op}_{axis}", model([node(op, axes=[0, 0, axis % 2, -2])], opset=13)
        yield f"slice_axes_{axis}", model([node("Slice", ["x", "s", "s", "n"])], initializers=[tensor("s", [0]), tensor("n", [axis])])
        yield f"slice_starts_{axis}", model([node("Slice", ["x", "n", "s"])], initializers=[tensor("s", [1]), tensor("n", [axis])])
        yield f"slice_steps_{axis}", model([node("Slice", ["x", "s", "e", "s", "n"])],
                                           initializers=[tensor("s", [0]), tensor("e", [HUGE]), tensor("n", [axis])])
        yield f"trilu_{axis}", model([node("Trilu", ["x", "k"])], initializers=[ints("k", axis)])
        yield f"eye_like_k_{axis}", model([node("EyeLike", k=axis)])
        yield f"shape_start_{axis}", model([node("Shape", start=axis)])
        yield f"gather_nd_batch_{axis}", model([node("GatherND", ["x", "i"], batch_dims=axis)], [info("x"), info("i", (2, 1), I)])
        yield f"reverse_sequence_{axis}", model([node("ReverseSequence", ["x", "n"], batch_axis=axis, time_axis=0)],
                                                initializers=[tensor("n", [1, 1])])
        yield f"transpose_{axis}", model([node("Transpose", perm=[axis, 0])])
        yield f"gather_index_{axis}", model([node("Gather", ["x", "i"])], initializers=[tensor("i", [axis])])
        yield f"scatter_index_{axis}", model([node("ScatterElements", ["x", "i", "u"])],
                                             initializers=[tensor("i", [axis], I, [1, 1]), helper.make_tensor("u", F, [1, 1], [1])])
        yield f"scatter_nd_index_{axis}", model([node("ScatterND", ["x", "i", "u"])],
                                                initializers=[tensor("i", [axis], I, [1, 1]), helper.make_tensor("u", F, [1, 3], [1] * 3)])


def bytes_kinds():
    """Protobuf that lies about its own lengths and kinds."""
    good = model([node("Relu")]).SerializeToString()
    for k in range(0, len(good), 3):
        yield f"bytes_cut_{k}", good[:k]
    for k in range(0, len(good), 5):
        yield f"bytes_longest_length_{k}", good[:k] + b"\xff\xff\xff\xff\x07" + good[k + 1:]
        yield f"bytes_varint_of_11_{k}", good[:k] + b"\xff" * 11 + good[k:]
    yield "graph_of_two_gib", field(7, b"")[:1] + varint((1 << 31) - 1) + b"x"
    yield "graph_longer_than_all", field(7, b"")[:1] + varint(-1) + b"x"
    yield "graph_a_thousand_times", good + b"".join(field(7, model([node("Relu")]).graph.SerializeToString()) for _ in range(1000))
    yield "unknown_field_of_a_megabyte", good + field(1000, bytes(1 << 20))
    yield "field_number_zero", good + b"\x02\x01a"
    yield "wire_type_7", good + b"\x3f\x01"
    yield "groups_in_groups", good + b"\xa3\x06" * 100000 + b"\xa4\x06" * 100000
    yield "two_million_opsets", model([node("Relu")]).SerializeToString() + field(8, b"\x10\x11") * 500000
    yield "metadata_of_200000", good + field(14, field(1, b"k") + field(2, b"v")) * 200000
    for depth in (30, 90, 1000, 10000):
        yield f"bodies_in_bytes_{depth}", bodies(depth)
    dims = b"".join(b"\x0a\x02\x08\x01" for _ in range(200000))
    shape = field(1, b"\x08\x01" + field(2, dims))
    yield "rank_200000", field(8, b"\x10\x11") + b"\x08\x08" + field(7, field(1, field(1, b"x") + field(2, b"y") + field(4, b"Relu")) +
                                                                   field(11, field(1, b"x") + field(2, shape)) + field(12, field(1, b"y")))


def tensor_kinds():
    """Constants whose data do not fit their type or dims, for every type."""
    for dtype in range(0, 30):
        for dims in ((2, 3), (0,), (), (HUGE,), (1 << 32, 1 << 32), (-1,), (1 << 31, 1 << 31, 4), (2,) * 100):
            raw = onnx.TensorProto(name="w", data_type=dtype, dims=list(dims), raw_data=bytes(24))
            yield f"type_{dtype}_dims_{'_'.join(map(str, dims[:3]))}", model([node("Add", ["x", "w"])], initializers=[raw])
        for name, values in (("float_data", [1.0] * 6), ("int32_data", [1 << 30] * 6), ("string_data", [b"a"] * 6), ("int64_data", [LEAST] * 6),
                             ("double_data", [float("nan")] * 6), ("uint64_data", [1 << 63] * 6)):
            yield f"type_{dtype}_{name}", model([node("Identity", ["w"])], [], initializers=[
                onnx.TensorProto(name="w", data_type=dtype, dims=[2, 3], **{name: values})])
        yield f"input_type_{dtype}", model([node("Add", ["x", "x"])], [info("x", (2,), dtype)])
        yield f"cast_to_{dtype}", model([node("Cast", to=dtype)])
        yield f"segment_{dtype}", model([node("Identity", ["w"])], [], initializers=[onnx.TensorProto(
            name="w", data_type=dtype, dims=[6], raw_data=bytes(24), segment=onnx.TensorProto.Segment(begin=-5, end=1 << 60))])
    for name, dims, indices, index_dims in (
            ("huge", [1 << 40], [5], [1]), ("overflow", [1 << 32, 1 << 32], [5, 6], [1, 2]), ("outside", [4], [9], [1]),
            ("negative", [4], [-1], [1]), ("unsorted", [9], [5, 2], [2]), ("repeated", [9], [2, 2], [2]), ("count", [9], [1, 2, 3], [3]),
            ("rank", [2, 3], [1, 1, 1], [1, 3]), ("empty_dims", [], [0], [1]), ("zero", [0], [0], [1]), ("bomb", [1 << 30], [7], [1]),
            ("large", [1 << 33], [7], [1])):
        count = index_dims[0]
        sparse = helper.make_sparse_tensor(helper.make_tensor("w", F, [count], [1.0] * count), tensor("i", indices, I, index_dims), dims)
        out = model([node("Add", ["x", "w"])])
        out.graph.sparse_initializer.append(sparse)
        yield f"sparse_{name}", out
        yield f"sparse_constant_{name}", model([node("Constant", [], sparse_value=sparse)], [])
    sparse_input = model([node("Relu")])
    sparse_input.graph.input[0].type.CopyFrom(helper.make_sparse_tensor_type_proto(F, [2, 3]))
    yield "sparse_input", sparse_input
    words = helper.make_tensor("s", S, [2], [b"a", b"b" * (1 << 20)])
    for op, more in (("Identity", {}), ("Cast", dict(to=F)), ("Equal", {}), ("Gather", {}), ("StringNormalizer", {}), ("Concat", dict(axis=0)),
                     ("Reshape", {}), ("Unique", {}), ("TfIdfVectorizer", {}), ("StringSplit", {}), ("RegexFullMatch", {})):
        inputs = ["s", "i"] if op in ("Gather", "Reshape") else ["s", "s"] if op in ("Equal", "Concat") else ["s"]
        yield f"text_{op}", model([node(op, inputs, **more)], [], initializers=[words, tensor("i", [1])])
    for label in ("1e9", "nan", "-inf", "x" * 100000, "", "9" * 400):
        yield f"text_as_number_{label[:9]}", model([node("Cast", ["s"], to=I)], [], initializers=[helper.make_tensor("s", S, [1], [label.encode()])])


def number_kinds():
    """Sizes that are computed of NaN, infinity and numbers beyond the integers."""
    for label, value in (("nan", float("nan")), ("inf", float("inf")), ("minus_inf", float("-inf")), ("large", 3e38), ("tiny", 1e-45),
                         ("minus", -7.5), ("zero", 0.0)):
        one = helper.make_tensor("v", F, [1], [value])
        to_size = [node("Cast", ["v"], ["n"], to=I)]
        number = scalar("v", value)
        yield f"size_{label}_constant_of_shape", model(to_size + [node("ConstantOfShape", ["n"])], [], initializers=[one])
        yield f"size_{label}_reshape", model(to_size + [node("Reshape", ["x", "n"])], initializers=[one])
        yield f"size_{label}_tile", model(to_size + [node("Tile", ["x", "n"])], [info("x", (3,))], initializers=[one])
        yield f"size_{label}_topk", model(to_size + [node("TopK", ["x", "n"], ["y", "z"])], initializers=[one])
        yield f"size_{label}_range_limit", model([node("Range", ["a", "v", "c"])], [], initializers=[scalar("a", 0.0), scalar("c", 1.0), number])
        yield f"size_{label}_range_step", model([node("Range", ["a", "b", "v"])], [], initializers=[scalar("a", 0.0), scalar("b", 9.0), number])
        yield f"size_{label}_one_hot", model([node("OneHot", ["i", "v", "o"])], [info("i", (2,), I)], initializers=[number, floats("o", 2)])
        for mode in ("nearest", "linear", "cubic"):
            for opset in (10, 11, 13, 18):
                inputs = ["x", "s"] if opset == 10 else ["x", "", "s"]
                yield f"resize_{label}_{mode}_{opset}", model([node("Resize", inputs, mode=mode)], [info("x", (1, 1, 4, 4))], opset=opset,
                                                              initializers=[helper.make_tensor("s", F, [4], [1, 1, value, 2])])
        yield f"crop_{label}", model([node("Resize", ["x", "r", "s"], coordinate_transformation_mode="tf_crop_and_resize")],
                                     [info("x", (1, 1, 4, 4))], initializers=[helper.make_tensor("r", F, [8], [value] * 8),
                                                                       helper.make_tensor("s", F, [4], [1, 1, 2, 2])])
        for op in ("QuantizeLinear", "DequantizeLinear"):
            yield f"{op}_scale_{label}", model([node(op, ["x", "v"])], [info("x", (2, 3), F if op[0] == "Q" else U8)], initializers=[number])
        yield f"clip_{label}", model([node("Clip", ["x", "v", "w"])], initializers=[number, scalar("w", -1.0)])
        yield f"dropout_{label}", model([node("Dropout", ["x", "v"])], initializers=[number])
        yield f"pad_value_{label}", model([node("Pad", ["x", "p", "v"])], initializers=[number, tensor("p", [0, 1, 0, 1])])
        yield f"epsilon_{label}", model([node("LayerNormalization", ["x", "w"], epsilon=value)], initializers=[floats("w", 3)])
        yield f"roi_align_{label}", model([node("RoiAlign", ["x", "r", "i"], output_height=2, output_width=2, spatial_scale=value)],
                                          [info("x", (1, 1, 8, 8))], initializers=[helper.make_tensor("r", F, [1, 4], [value, -value, 1, 1]),
                                                                            tensor("i", [0])])
        yield f"nms_{label}", model([node("NonMaxSuppression", ["b", "s", "k", "v", "v"])], [info("b", (1, 6, 4)), info("s", (1, 1, 6))],
                                    initializers=[tensor("k", [3]), one])


def count_kinds():
    """Many of everything."""
    yield "concat_of_50000", model([node("Concat", ["x"] * 50000, axis=0)])
    yield "sum_of_50000", model([node("Sum", ["x"] * 50000)])
    yield "max_of_5000", model([node("Max", ["x"] * 5000)])
    yield "split_in_20000", model([node("Split", ["x"], [f"y{k}" for k in range(20000)])], [info("x", (20000, 2))],
                                  [info("y0", None), info("y19999", None)])
    yield "inputs_20000", model([node("Relu", ["x0"])], [info(f"x{k}") for k in range(20000)])
    yield "outputs_20000", model([node("Relu", ["x"], [f"y{k}"]) for k in range(20000)], outputs=[info(f"y{k}", None) for k in range(20000)])
    yield "one_output_1000_times", model([node("Relu")], outputs=[info("y", None)] * 1000)
    yield "initializers_50000", model([node("Relu")], initializers=[scalar(f"c{k}", 1.0) for k in range(50000)])
    yield "diamonds_30000", model([node("Add", [f"v{k}", f"v{k}"], [f"v{k + 1}" if k + 1 < 30000 else "y"]) for k in range(30000)],
                                  [info("v0")])
    yield "reshapes_20000", model([node("Reshape", [f"v{k}", "s"], [f"v{k + 1}" if k + 1 < 20000 else "y"]) for k in range(20000)],
                                  [info("v0")], initializers=[tensor("s", [3, 2])])
    yield "products_3000", model([node("MatMul", [f"v{k}", "w"], [f"v{k + 1}" if k + 1 < 3000 else "y"]) for k in range(3000)],
                                 [info("v0", (4, 4))], initializers=[helper.make_tensor("w", F, [4, 4], [0.5] * 16)])
    yield "convolutions_1000", model([node("Conv", [f"v{k}", "w"], [f"v{k + 1}" if k + 1 < 1000 else "y"]) for k in range(1000)],
                                     [info("v0", (1, 3, 5, 5))], initializers=[helper.make_tensor("w", F, [3, 3, 1, 1], [0.5] * 9)])
    yield "fan_out_20000", model([node("Relu", ["x"], [f"v{k}"]) for k in range(20000)] + [node("Sum", [f"v{k}" for k in range(20000)])])
    yield "names_of_10000_characters", model([node("Relu", ["x"], ["n" * 10000]), node("Relu", ["n" * 10000])])
    yield "backwards_5000", model(list(reversed([node("Relu", [f"v{k}"], [f"v{k + 1}" if k + 1 < 5000 else "y"]) for k in range(5000)])),
                                  [info("v0")])
    yield "einsum_of_50", model([node("Einsum", ["x"] * 50, equation=",".join(["ij"] * 50) + "->ij")])
    yield "einsum_of_all_letters", model([node("Einsum", ["x"], equation="abcdefghijklmnopqrstuvwxyz->a")], [info("x", (2,) * 26)])
    yield "einsum_outer_10", model([node("Einsum", ["x"] * 10, equation=",".join("ab cd ef gh ij kl mn op qr st".split()) +
                                         "->abcdefghijklmnopqrst")], [info("x", (50, 50))])
    for equation in ("i", "ij->k", "ii->i", "->", "ij,->ij", "...ij->...ji", "i...j...->i", "ij->iji", "ij,ij,ij", "ij->ijk", "IJ->ji", "1j->j",
                     "ij>ij", "ij-ij", ".ij->ij", "ij->...", " i j -> j i ", "ij->\xff"):
        yield f"einsum_{equation}", model([node("Einsum", ["x"], equation=equation)])


def kinds():
    for family in (constant_bombs, function_bombs, attribute_kinds, axis_kinds, bytes_kinds, tensor_kinds, number_kinds, count_kinds):
        yield from family()
    yield from op_kinds()
    yield from form_kinds()
    yield from number_forms()
    yield from scope_forms()
    yield from growth_forms()
