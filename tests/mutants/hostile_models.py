#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_models.py BUILD FOLDER [--every N]: compiles models that are each wrong in a way of their own.

Each must be refused with exit code 1 and a named error, or be compiled where that is right, within 10 s of a processor and 2 GiB: no crash,
no hang, no defect of byoc. Prints one line per model that is not, and the slugs of the others.
"""
import argparse
import itertools
import re
import sys
from pathlib import Path

from onnx import TensorProto, helper

from hostile_kinds import kinds
from hostile_runner import Runner
from hostile_shapes import F, HUGE, I, field, info, model, node, tensor


def with_ints(op, values, *before, dtype=I, **attributes):
    return model([node(op, [*before, "n"] if before else ["x", "n"], **attributes)], initializers=[tensor("n", values, dtype)])


def external(location, offset=None, length=None, dims=(2, 3)):
    weight = TensorProto(name="w", data_type=F, dims=list(dims), data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            weight.external_data.add(key=key, value=str(value))
    return model([node("Add", ["x", "w"])], initializers=[weight])


def nested(depth, op="If"):
    """Bodies in bodies."""
    body = helper.make_graph([node("Identity", ["x"], ["b"])], "leaf", [], [info("b", None)])
    for k in range(depth):
        name = f"b{k}"
        inner = helper.make_node("If", ["c"], [name], then_branch=body, else_branch=body) if op == "If" else \
            helper.make_node("If", ["c"], [name], then_branch=body,
                             else_branch=helper.make_graph([node("Identity", ["x"], ["e"])], "e", [], [info("e", None)]))
        body = helper.make_graph([inner], name, [], [info(name, None)])
    return model([helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
                 [info("x"), info("c", (), TensorProto.BOOL)])


def chain_nested(depth):
    body = helper.make_graph([node("Identity", ["x"], ["b"])], "leaf", [], [info("b", None)])
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "e", [], [info("e", None)])
    for k in range(depth):
        inner = helper.make_node("If", ["c"], [f"b{k}"], then_branch=body, else_branch=other)
        body = helper.make_graph([inner], f"g{k}", [], [info(f"b{k}", None)])
    return model([helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)],
                 [info("x"), info("c", (), TensorProto.BOOL)])


def loop(iterations, body_outputs=("c2", "x2", "x2"), dims=(2, 3)):
    body = helper.make_graph([node("Identity", ["c1"], ["c2"]), node("Relu", ["x1"], ["x2"])], "b",
                             [info("i", (), I), info("c1", (), TensorProto.BOOL), info("x1", dims)],
                             [info("c2", (), TensorProto.BOOL)] + [info(name, dims) for name in body_outputs[1:]])
    return model([helper.make_node("Loop", ["n", "t", "x"], ["v", "y"][:len(body_outputs) - 1], body=body)],
                 [info("x", dims)], initializers=[tensor("n", [iterations], I, []), helper.make_tensor("t", TensorProto.BOOL, [], [True])])


def changed(base, change):
    change(base)
    return base


def conv(shape=(1, 3, 8, 8), weight=(4, 3, 3, 3), **attributes):
    return model([node("Conv", ["x", "w"], **attributes)], [info("x", shape), info("w", weight)])


def raw(dims, data, dtype=F):
    return model([node("Add", ["x", "w"])], initializers=[TensorProto(name="w", data_type=dtype, dims=list(dims), raw_data=data)])


def models():
    """Yields (name, model or bytes, whether it may also be compiled)."""
    relu = lambda: model([node("Relu")])
    # sizes
    yield "dim_huge", model([node("Relu")], [info("x", (HUGE,))]), False
    yield "dims_overflow_product", model([node("Relu")], [info("x", (1 << 32, 1 << 32))]), False
    yield "dims_wrap_to_zero", model([node("Relu")], [info("x", (1 << 32, 1 << 32, 4))]), False
    yield "dims_product_of_bytes", model([node("Relu")], [info("x", ((1 << 62) // 2, 3))]), False
    yield "dim_negative", model([node("Relu")], [info("x", (-5, 3))]), True
    yield "dim_zero", model([node("Relu")], [info("x", (0, 3))]), True
    yield "rank_10000", model([node("Relu")], [info("x", [1] * 10000)]), True
    yield "constant_of_shape_huge", with_ints("ConstantOfShape", [1 << 40, 1 << 40], "n"[:0]) if False else model(
        [node("ConstantOfShape", ["n"])], [], initializers=[tensor("n", [1 << 40, 1 << 40])]), False
    yield "constant_of_shape_large", model([node("ConstantOfShape", ["n"])], [], initializers=[tensor("n", [1 << 39])]), False
    yield "constant_of_shape_negative", model([node("ConstantOfShape", ["n"])], [], initializers=[tensor("n", [-1])]), False
    yield "expand_huge", with_ints("Expand", [HUGE, 2, 3]), False
    yield "expand_negative", with_ints("Expand", [-2, 2, 3]), False
    yield "expand_overflow", with_ints("Expand", [1 << 31, 1 << 31, 1, 2, 3]), False
    yield "tile_huge", with_ints("Tile", [HUGE, HUGE]), False
    yield "tile_open_huge", model([node("Tile", ["x", "n"])], [info("x", ("N", "N"))], initializers=[tensor("n", [1 << 31, 1 << 31])]), False
    yield "tile_negative", with_ints("Tile", [-1, 1]), False
    yield "reshape_huge", with_ints("Reshape", [HUGE, -1]), False
    yield "reshape_two_unknown", with_ints("Reshape", [-1, -1]), False
    yield "reshape_minus_two", with_ints("Reshape", [-2, 3]), False
    yield "reshape_wrong_product", with_ints("Reshape", [7]), False
    yield "reshape_wrapping_product", with_ints("Reshape", [1 << 33, 1 << 31, 6]), False
    yield "pad_huge", with_ints("Pad", [0, 0, HUGE, HUGE]), False
    yield "pad_negative_beyond", with_ints("Pad", [0, -100, 0, 0]), False
    yield "pad_count", with_ints("Pad", [1]), False
    yield "onehot_huge", model([node("OneHot", ["i", "d", "v"])], [info("i", (2,), I)],
                               initializers=[tensor("d", [HUGE], I, []), helper.make_tensor("v", F, [2], [0, 1])]), False
    yield "range_huge", model([node("Range", ["a", "b", "c"])], [], initializers=[
        tensor("a", [0], I, []), tensor("b", [HUGE], I, []), tensor("c", [1], I, [])]), False
    yield "range_step_zero", model([node("Range", ["a", "b", "c"])], [], initializers=[
        tensor("a", [0], I, []), tensor("b", [5], I, []), tensor("c", [0], I, [])]), False
    yield "range_overflow", model([node("Range", ["a", "b", "c"])], [], initializers=[
        tensor("a", [-HUGE - 1], I, []), tensor("b", [HUGE], I, []), tensor("c", [1], I, [])]), False
    yield "resize_huge", model([node("Resize", ["x", "", "s"])], [info("x", (1, 1, 2, 2))],
                               initializers=[helper.make_tensor("s", F, [4], [1, 1, 1e30, 1e30])]), False
    yield "resize_many_cells", model([node("Resize", ["x", "", "s"])], [info("x", (1, 1, 1, 2))],
                                     initializers=[helper.make_tensor("s", F, [4], [1, 1, 1, 1 << 32])]), True
    yield "resize_nan", model([node("Resize", ["x", "", "s"])], [info("x", (1, 1, 2, 2))],
                              initializers=[helper.make_tensor("s", F, [4], [1, 1, float("nan"), 1])]), False
    yield "resize_negative", model([node("Resize", ["x", "", "s"])], [info("x", (1, 1, 2, 2))],
                                   initializers=[helper.make_tensor("s", F, [4], [1, 1, -1, 1])]), False
    yield "outer_product_huge", model([node("MatMul", ["a", "b"])], [info("a", (1 << 31, 1)), info("b", (1, 1 << 31))]), False
    yield "eyelike_huge", model([node("EyeLike")], [info("x", (1 << 31, 1 << 31))]), False
    yield "concat_overflow", model([node("Concat", ["x", "x", "x"], axis=0)], [info("x", (HUGE // 2, 1))]), False
    # axes and attributes
    for op, attributes in (("Softmax", dict(axis=5)), ("Softmax", dict(axis=-9)), ("Flatten", dict(axis=99)), ("Flatten", dict(axis=-99)),
                           ("Concat", dict(axis=7)), ("Gather", dict(axis=-7)), ("ArgMax", dict(axis=HUGE)), ("ArgMax", dict(axis=-HUGE)),
                           ("Transpose", dict(perm=[0, 0])), ("Transpose", dict(perm=[0])), ("Transpose", dict(perm=[0, 5])),
                           ("Transpose", dict(perm=[-1, 0])), ("LogSoftmax", dict(axis=-HUGE - 1)), ("LpNormalization", dict(p=99)),
                           ("DepthToSpace", dict(blocksize=0)), ("SpaceToDepth", dict(blocksize=HUGE)), ("Cast", dict(to=99)),
                           ("Cast", dict(to=-1)), ("Selu", dict(alpha="text")), ("LeakyRelu", dict(alpha=[1.0, 2.0])),
                           ("Einsum", dict(equation="ij,jk->")), ("Einsum", dict(equation="a" * 100000)), ("Einsum", dict(equation="\x00\x01->"))):
        yield f"{op}_{'_'.join(f'{k}_{v}'[:30] for k, v in attributes.items())}", model([node(op, ["x", "x"][:2 if op in ("Gather",) else 1],
                                                                                             **attributes)]), op in ("Selu", "LeakyRelu")
    yield "squeeze_axis", with_ints("Squeeze", [9]), False
    yield "squeeze_not_one", with_ints("Squeeze", [0]), False
    yield "unsqueeze_twice", with_ints("Unsqueeze", [0, 0]), False
    yield "unsqueeze_huge", with_ints("Unsqueeze", [HUGE]), False
    yield "reduce_axis", with_ints("ReduceSum", [5]), False
    yield "reduce_axis_twice", with_ints("ReduceSum", [1, 1]), True
    yield "slice_step_zero", model([node("Slice", ["x", "s", "e", "a", "t"])], initializers=[
        tensor("s", [0]), tensor("e", [2]), tensor("a", [0]), tensor("t", [0])]), False
    yield "slice_axis", model([node("Slice", ["x", "s", "e", "a"])], initializers=[tensor("s", [0]), tensor("e", [2]), tensor("a", [9])]), False
    yield "slice_counts", model([node("Slice", ["x", "s", "e"])], initializers=[tensor("s", [0, 0, 0]), tensor("e", [2])]), False
    yield "slice_extreme", model([node("Slice", ["x", "s", "e", "a", "t"])], initializers=[
        tensor("s", [HUGE]), tensor("e", [-HUGE - 1]), tensor("a", [0]), tensor("t", [-HUGE - 1])]), True
    yield "split_sum", model([node("Split", ["x", "n"], ["y", "z"], axis=1)], outputs=[info("y", None)], initializers=[tensor("n", [2, 9])]), False
    yield "split_negative", model([node("Split", ["x", "n"], ["y", "z"], axis=1)], outputs=[info("y", None)],
                                  initializers=[tensor("n", [-1, 4])]), False
    yield "gather_constant_outside", model([node("Gather", ["w", "i"])], [], initializers=[
        tensor("w", [1, 2, 3]), tensor("i", [7])]), True
    yield "topk_negative", with_ints("TopK", [-1], outputs=("y", "z")) if False else model(
        [node("TopK", ["x", "n"], ["y", "z"])], initializers=[tensor("n", [-1])]), False
    yield "topk_too_many", model([node("TopK", ["x", "n"], ["y", "z"])], initializers=[tensor("n", [99])]), False
    yield "conv_stride_zero", conv(strides=[0, 0]), False
    yield "conv_stride_huge", conv(strides=[HUGE, HUGE]), True
    yield "conv_dilation_zero", conv(dilations=[0, 1]), False
    yield "conv_dilation_huge", conv(dilations=[HUGE, HUGE]), False
    yield "conv_group_zero", conv(group=0), False
    yield "conv_group_negative", conv(group=-3), False
    yield "conv_group_does_not_divide", conv(group=2), False
    yield "conv_pads_huge", conv(pads=[HUGE] * 4), False
    yield "conv_pads_negative", conv(pads=[-9] * 4), False
    yield "conv_pads_count", conv(pads=[1, 1, 1]), False
    yield "conv_kernel_too_large", conv(weight=(4, 3, 99, 99)), False
    yield "conv_kernel_zero", conv(weight=(4, 3, 0, 3)), False
    yield "conv_channels", conv(weight=(4, 5, 3, 3)), False
    yield "conv_kernel_shape_differs", conv(kernel_shape=[5, 5]), False
    yield "conv_rank", conv(shape=(3, 8, 8)), False
    yield "pool_kernel_zero", model([node("MaxPool", kernel_shape=[0, 0])], [info("x", (1, 1, 8, 8))]), False
    yield "pool_kernel_huge", model([node("AveragePool", kernel_shape=[HUGE, HUGE])], [info("x", (1, 1, 8, 8))]), False
    yield "pool_stride_negative", model([node("MaxPool", kernel_shape=[2, 2], strides=[-1, 1])], [info("x", (1, 1, 8, 8))]), False
    yield "conv_transpose_wide", model([node("ConvTranspose", ["x", "w"])], [info("x", (1, 4, 8, (1 << 31) + 1)), info("w", (4, 4, 3, 3))]), True
    yield "conv_transpose_output_padding_huge", model(
        [node("ConvTranspose", ["x", "w"], output_padding=[HUGE, 0])], [info("x", (1, 3, 4, 4)), info("w", (3, 2, 3, 3))]), False
    yield "lstm_hidden_huge", model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=HUGE)],
                                    [info("x", (2, 1, 3)), info("w", (1, 8, 3)), info("r", (1, 8, 2))]), False
    yield "matmul_differs", model([node("MatMul", ["a", "b"])], [info("a", (2, 3)), info("b", (4, 5))]), False
    yield "gemm_rank", model([node("Gemm", ["a", "b"])], [info("a", (2, 3, 4)), info("b", (4, 5))]), False
    yield "broadcast_differs", model([node("Add", ["a", "b"])], [info("a", (2, 3)), info("b", (4,))]), False
    yield "dft_huge", model([node("DFT", ["x", "n"])], [info("x", (1, 4, 1))], initializers=[tensor("n", [1 << 50], I, [])], opset=17), False
    yield "nms_wrong_rank", model([node("NonMaxSuppression", ["x", "x"])]), False
    yield "attribute_of_a_million", model([helper.make_node("Transpose", ["x"], ["y"], perm=list(range(1000000)))]), False
    yield "microsoft_attention_heads_zero", model([helper.make_node("MultiHeadAttention", ["x", "x", "x"], ["y"], domain="com.microsoft",
                                                                    num_heads=0)], [info("x", (1, 4, 8))]), False
    yield "microsoft_matmulnbits_block_zero", model([helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=3, N=4, bits=4, block_size=0)],
        initializers=[TensorProto(name="w", data_type=TensorProto.UINT8, dims=[4, 1, 8], raw_data=bytes(32)),
                      helper.make_tensor("s", F, [4], [1] * 4)]), False
    # graphs
    yield "cycle", model([node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"]), node("Add", ["x", "b"])]), False
    yield "reads_itself", model([node("Add", ["x", "y"])]), False
    yield "missing_input", model([node("Add", ["x", "nowhere"])]), False
    yield "missing_output", model([node("Relu")], outputs=[info("nowhere", None)]), False
    yield "output_twice", model([node("Relu"), node("Tanh")]), False
    yield "input_twice", model([node("Relu")], [info("x"), info("x")]), False
    yield "too_few_operands", model([node("Add", ["x"])]), False
    yield "too_many_operands", model([node("Relu", ["x", "x", "x"])]), False
    yield "no_operands", model([node("Relu", [])]), False
    yield "operand_left_out", model([node("Add", ["x", ""])]), False
    yield "unknown_op", model([node("Frobnicate")]), False
    yield "unknown_domain", changed(relu(), lambda m: setattr(m.graph.node[0], "domain", "evil.example")), False
    yield "no_op_type", changed(relu(), lambda m: m.graph.node[0].ClearField("op_type")), False
    yield "opset_0", model([node("Relu")], opset=0), False
    yield "opset_huge", model([node("Relu")], opset=HUGE), True  # as the newest one, with a warning
    yield "no_opset", changed(relu(), lambda m: m.ClearField("opset_import")), True
    yield "no_graph", changed(relu(), lambda m: m.ClearField("graph")), False
    yield "no_outputs", model([node("Relu")], outputs=[]), False
    yield "empty", b"", False
    yield "text", b"This is no model.\n" * 100, False
    yield "zeros", bytes(10000), False
    yield "half", relu().SerializeToString()[:-9], False
    yield "groups_of_protobuf", b"\x0b" * 200000, False
    yield "unknown_fields", relu().SerializeToString() + b"\xfa\x7f\x03abc", True
    yield "deep_bodies_200", chain_nested(200), True
    yield "deep_bodies_40", chain_nested(40), True
    yield "bodies_doubled_12", nested(12), True
    yield "loop_huge", loop(HUGE), True
    yield "loop_negative", loop(-5), True
    yield "loop_no_condition", loop(3, body_outputs=("c2",)), False
    yield "if_on_floats", changed(nested(0), lambda m: m.graph.input[1].CopyFrom(info("c", (), F))), False
    yield "if_without_else", changed(nested(0), lambda m: m.graph.node[0].attribute.pop()), False
    yield "function_calls_itself", changed(relu(), recursive_function), False
    yield "million_nodes", None, True
    # types and names
    yield "dtype_unknown", changed(relu(), lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77)), False
    yield "dtype_string", model([node("Relu")], [info("x", (2,), TensorProto.STRING)]), False
    yield "dtype_complex", model([node("Relu")], [info("x", (2,), TensorProto.COMPLEX64)]), False
    yield "dtypes_differ", model([node("Add", ["a", "b"])], [info("a"), info("b", (2, 3), I)]), False
    yield "relu_of_bool", model([node("Relu")], [info("x", (2,), TensorProto.BOOL)]), False
    yield "no_type", changed(relu(), lambda m: m.graph.input[0].ClearField("type")), False
    yield "sequence_input", changed(relu(), lambda m: m.graph.input[0].CopyFrom(
        helper.make_tensor_sequence_value_info("x", F, [2]))), False
    yield "declared_output_differs", model([node("Relu")], outputs=[info("y", (9, 9))]), True
    yield "control_characters", model([node("Relu", ["x\x01\n\x1b[2J"], ["y\r\x00"])], [info("x\x01\n\x1b[2J")],
                                      [info("y\r\x00", None)]), True
    yield "name_of_a_megabyte", model([node("Relu", ["x" * (1 << 20)])], [info("x" * (1 << 20))]), True
    yield "name_empty", model([node("Relu", [""], ["y"])], [info("")]), False
    yield "name_not_utf8", relu().SerializeToString().replace(b"Relu", b"R\xff\xfeu"), False
    yield "dim_param_hostile", model([node("Relu")], [info("x", ("); drop", "*/", "\x00"))]), True
    yield "dim_param_expression", model([node("Relu")], [info("x", ("N*N*N*N*N*N*N", "div(N,0)"))]), True
    # tensors
    yield "raw_too_short", raw((2, 3), bytes(8)), False
    yield "raw_too_long", raw((2, 3), bytes(400)), False
    yield "raw_dims_huge", raw((HUGE, HUGE), bytes(8)), False
    yield "raw_dims_negative", raw((-2, -3), bytes(24)), False
    yield "raw_dtype_unknown", raw((2, 3), bytes(24), 55), False
    yield "float_data_count", model([node("Add", ["x", "w"])], initializers=[
        TensorProto(name="w", data_type=F, dims=[2, 3], float_data=[1.0])]), False
    yield "wrong_data_field", model([node("Add", ["x", "w"])], initializers=[
        TensorProto(name="w", data_type=F, dims=[2, 3], int64_data=[1] * 6)]), False
    yield "four_bits_odd", model([node("DequantizeLinear", ["w", "s"])], [], initializers=[
        TensorProto(name="w", data_type=21, dims=[HUGE], raw_data=bytes(2)), helper.make_tensor("s", F, [], [1])], opset=21), False
    yield "sparse_indices", changed(relu(), sparse_initializer), False
    yield "initializer_twice", model([node("Add", ["x", "w"])], initializers=[
        helper.make_tensor("w", F, [3], [1, 2, 3]), helper.make_tensor("w", F, [3], [4, 5, 6])]), True
    # external data
    for name, location in (("parent", "../secret.bin"), ("absolute", "/etc/passwd"), ("folder", "."), ("missing", "missing.bin"),
                           ("link", "link.bin"), ("empty", ""), ("nul", "a\x00b"), ("long", "d/" * 3000 + "x"), ("device", "zero"),
                           ("fifo", "fifo"), ("dots", "a/../../secret.bin")):
        yield f"external_{name}", external(location), False
    yield "external_short", external("short.bin"), False
    yield "external_offset_beyond", external("short.bin", 1 << 40), False
    yield "external_offset_negative", external("short.bin", -8), False
    yield "external_offset_text", external("short.bin", "eight"), False
    yield "external_length_huge", external("short.bin", 0, HUGE), False
    yield "external_sum_wraps", external("short.bin", HUGE, HUGE), False
    yield "external_dims_huge", external("short.bin", dims=(1 << 40, 1 << 40)), False


def recursive_function(m):
    function = helper.make_function("own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")],
                                    [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    m.functions.append(function)
    m.opset_import.append(helper.make_opsetid("own", 1))
    m.graph.node[0].op_type, m.graph.node[0].domain = "F", "own"


def sparse_initializer(m):
    values = helper.make_tensor("w", F, [2], [1, 2])
    sparse = helper.make_sparse_tensor(values, tensor("i", [HUGE, -1]), [2, 3])
    m.graph.sparse_initializer.append(sparse)
    m.graph.node[0].CopyFrom(node("Add", ["x", "w"]))


def chain_of(count):
    """A model of `count` nodes, written without objects for each."""
    nodes = b"".join(field(1, field(1, b"x" if k == 0 else b"v%d" % k) + field(2, b"y" if k + 1 == count else b"v%d" % (k + 1)) +
                           field(4, b"Relu")) for k in range(count))
    base = model([node("Relu")])
    rest = base.graph.SerializeToString()
    del base.graph.node[:]
    rest = base.graph.SerializeToString()
    base.ClearField("graph")
    return base.SerializeToString() + field(7, nodes + rest)


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "folder"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--only", default="", help="the models with such a name, a regular expression")
    parser.add_argument("--every", type=int, default=1, help="of hostile_kinds.py: only each N-th model")
    parser.add_argument("--first", type=int, default=0, help="of hostile_kinds.py: begins with the N-th")
    parser.add_argument("--run", action="store_true", help="also runs what is compiled, with random inputs and 3 for open sizes")
    parser.add_argument("--compiler", default="json", help="the plugins; empty: as byoc chooses them")
    options = parser.parse_args()
    runner = Runner(options)
    many = ((*kind, True) for kind in itertools.islice(kinds(), options.first, None, options.every))
    for name, content, may_compile in itertools.chain(models() if options.first == 0 else [], many):
        if re.fullmatch(options.only or ".*", name, re.DOTALL):
            runner.compile(name, chain_of(200000) if name == "million_nodes" else content, may_compile)
    print(f"{runner.models} models:", ", ".join(f"{slug} {n}" for slug, n in runner.slugs.most_common()))
    print("slowest:", *(f"{name} {seconds:.1f} s," for seconds, name in runner.slowest))
    print(f"{len(runner.faults)} faults" if runner.faults else "each is refused by name, or compiled where that is right")
    return bool(runner.faults)


if __name__ == "__main__":
    sys.exit(main())
