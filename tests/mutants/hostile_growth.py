# SPDX-License-Identifier: Apache-2.0
"""Hostile models by growth: sizes, expressions of sizes and chains of ops that a compiler may blow up; ops of old operator sets; numbers without a result."""
from onnx import TensorProto, helper

from hostile_shapes import B, F, HUGE, I, LEAST, U8, graph, info, model, node, scalar, tensor

I8, I32 = TensorProto.INT8, TensorProto.INT32


def chain(op, count, first="v0", extra=(), start=0, **attributes):
    """Nodes in a row, from `first` to "y"."""
    return [node(op, [f"v{k}" if k else first, *extra], [f"v{k + 1}" if k + 1 < count else "y"], **attributes) for k in range(start, count)]


def size_kinds():
    """Expressions of open sizes that grow with each op."""
    one, two, zero = tensor("one", [1]), tensor("two", [2]), tensor("zero", [0])
    for op in ("Mul", "Add", "Sub", "Div", "Max", "Min", "Mod"):
        for depth in (8, 40, 400):
            steps = [node("Shape", ["x"], ["s"]), node("Add", ["s", "one"], ["s0"])]
            steps += [node(op, [f"s{k}", f"s{k}" if op == "Mul" else "s" if k % 2 else "two"], [f"s{k + 1}"]) for k in range(depth)]
            for use, tail in (("expand", [node("Expand", ["z", f"s{depth}"])]), ("reshape", [node("Reshape", ["x", f"s{depth}"])]), ("zeros", [node("ConstantOfShape", [f"s{depth}"])])):
                yield f"size_{op}_{depth}_{use}", model(steps + tail, [info("x", ("N",)), info("z", ())], initializers=[one, two])
    for depth in (30, 64, 300):
        yield f"size_doubled_{depth}", model([node("Concat", [f"v{k}", f"v{k}"], [f"v{k + 1}" if k + 1 < depth else "y"], axis=0) for k in range(depth)], [info("v0", ("N",))])
        yield f"size_fibonacci_{depth}", model([node("Concat", [f"v{k}", f"v{k + 1}"], [f"v{k + 2}" if k + 1 < depth else "y"], axis=0) for k in range(depth)], [info("v0", ("N",)), info("v1", ("M",))])
        yield f"size_of_products_{depth}", model([node("MatMul", [f"v{k}", f"v{k}"], [f"v{k + 1}" if k + 1 < depth else "y"]) for k in range(depth)], [info("v0", ("N", "N"))])
        yield f"size_halved_{depth}", model(chain("MaxPool", depth, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), [info("v0", (1, 1, "H", "W"))])
        yield f"size_windows_{depth}", model(chain("AveragePool", depth, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]), [info("v0", (1, 1, "H", "W"))])
        yield f"size_padded_{depth}", model(chain("Pad", depth, extra=["n"]), [info("v0", ("N", "M"))], initializers=[tensor("n", [1, HUGE // 400, 0, 1])])
        yield f"size_upsampled_{depth}", model(chain("Resize", depth, extra=["", "s"], mode="nearest"), [info("v0", (1, 1, "H", "W"))], initializers=[helper.make_tensor("s", F, [4], [1, 1, 2, 1.5])])
        yield f"size_sliced_{depth}", model(chain("Slice", depth, extra=["one", "e", "zero", "two"]), [info("v0", ("N",))], initializers=[one, two, zero, tensor("e", [HUGE])])
        yield f"size_counted_{depth}", model([n for k in range(depth) for n in (node("NonZero", [f"v{k}"], [f"i{k}"]), node("Cast", [f"i{k}"], [f"v{k + 1}" if k + 1 < depth else "y"], to=F))], [info("v0", ("N", "M"))])
        yield f"size_unique_{depth}", model([node("Unique", [f"v{k}"], [f"v{k + 1}" if k + 1 < depth else "y"]) for k in range(depth)], [info("v0", ("N",))])
        yield f"size_flattened_{depth}", model([n for k in range(depth) for n in (node("Reshape", [f"v{k}", "n"], [f"f{k}"]), node("Unsqueeze", [f"f{k}", "zero"], [f"v{k + 1}" if k + 1 < depth else "y"]))],
                                                [info("v0", ("A", "B", "C", "D"))], initializers=[tensor("n", [-1]), zero])
    yield "size_names_2000", model([node("Concat", [f"x{k}" for k in range(2000)], axis=0)], [info(f"x{k}", (f"N{k}",)) for k in range(2000)])
    yield "size_products_of_40_names", model([node("Reshape", ["x", "n"])], [info("x", [f"N{k}" for k in range(40)])], initializers=[tensor("n", [-1])])
    yield "size_conflict", model([node("Add", ["x", "z"], ["v"]), node("Concat", ["v", "x"], axis=0)], [info("x", ("N",)), info("z", ("N",))], [info("y", ("N",))])
    yield "size_constant_for_open", model([node("Reshape", ["x", "n"], ["v"]), node("Add", ["v", "z"])], [info("x", ("N", "M")), info("z", ("N", "M"))], initializers=[tensor("n", [3, 5])])
    for count in (30, 300):
        nodes = [node("Shape", ["x"], ["s"])] + [node("Concat", [f"c{k}", f"c{k}"] if k else ["s", "s"], [f"c{k + 1}"], axis=0) for k in range(count)]
        yield f"size_list_doubled_{count}", model(nodes + [node("Reshape", ["x", f"c{count}"])], [info("x", ("N",))])


def chain_kinds():
    """Long chains of ops that passes turn into each other."""
    image, square = info("v0", (1, 4, 6, 6)), info("v0", (4, 4))
    w = helper.make_tensor("w", F, [4, 4], [0.25] * 16)
    k1 = helper.make_tensor("k", F, [4, 4, 1, 1], [0.25] * 16)
    four = [helper.make_tensor(name, F, [4], [1.0] * 4) for name in ("g", "b", "m", "q")]
    n = tensor("n", [4, 4])
    yield "chain_identities_30000", model(chain("Identity", 30000), [square])
    yield "chain_transposes_20000", model(chain("Transpose", 20000, perm=[1, 0]), [square])
    yield "chain_transposes_of_3", model(chain("Transpose", 5000, perm=[1, 2, 0]), [info("v0", (2, 3, 4))])
    yield "chain_casts_10000", model([node("Cast", [f"v{k}"], [f"v{k + 1}" if k < 9999 else "y"], to=(F, I, I8, U8)[k % 4]) for k in range(10000)], [square])
    yield "chain_slices_5000", model(chain("Slice", 5000, extra=["s", "e"]), [info("v0", (20000,))], initializers=[tensor("s", [1]), tensor("e", [HUGE])])
    yield "chain_pads_3000", model(chain("Pad", 3000, extra=["p"]), [square], initializers=[tensor("p", [0, 0, 0, 1])])
    yield "chain_concats_3000", model([node("Concat", [f"v{k}", "x"], [f"v{k + 1}" if k < 2999 else "y"], axis=0) for k in range(3000)], [info("v0", (1,)), info("x", (1,))])
    yield "chain_reduces_3000", model(chain("ReduceSum", 3000, keepdims=1), [square])
    yield "chain_clips_10000", model(chain("Clip", 10000, extra=["lo", "hi"]), [square], initializers=[scalar("lo", 0.0), scalar("hi", 6.0)])
    yield "chain_constants_10000", model(chain("Mul", 10000, extra=["c"]), [square], initializers=[scalar("c", 1.0001)])
    yield "chain_wheres_5000", model([node("Where", ["c", f"v{k}", "x"], [f"v{k + 1}" if k < 4999 else "y"]) for k in range(5000)], [square, info("x", (4, 4)), info("c", (4, 4), B)])
    yield "chain_gathers_3000", model(chain("Gather", 3000, extra=["i"]), [square], initializers=[tensor("i", [3, 2, 1, 0])])
    yield "chain_products_of_constants", model([node("MatMul", ["w" if k == 0 else f"v{k}", "w"], [f"v{k + 1}" if k < 4999 else "y"]) for k in range(5000)], [], initializers=[w])
    yield "chain_softmax_2000", model(chain("Softmax", 2000), [square])
    yield "chain_batch_norms", model([m for k in range(1000) for m in (node("Conv", [f"v{k}", "k"], [f"c{k}"]), node("BatchNormalization", [f"c{k}", "g", "b", "m", "q"], [f"v{k + 1}" if k < 999 else "y"]))],
                                     [image], initializers=[k1, *four])
    yield "chain_quantised", model([m for k in range(2000) for m in (node("QuantizeLinear", [f"v{k}", "s", "z"], [f"q{k}"]), node("DequantizeLinear", [f"q{k}", "s", "z"], [f"v{k + 1}" if k < 1999 else "y"]))],
                                   [square], initializers=[scalar("s", 0.1), tensor("z", [7], U8, [])])
    yield "chain_squeezes", model([m for k in range(4000) for m in (node("Unsqueeze", [f"v{k}", "a"], [f"u{k}"]), node("Squeeze", [f"u{k}", "a"], [f"v{k + 1}" if k < 3999 else "y"]))], [square], initializers=[tensor("a", [1])])
    yield "chain_splits", model([m for k in range(1500) for m in (node("Split", [f"v{k}"], [f"a{k}", f"b{k}"], axis=0), node("Concat", [f"b{k}", f"a{k}"], [f"v{k + 1}" if k < 1499 else "y"], axis=0))], [square], opset=13)
    side = graph([node("Relu", ["x"], ["u"])], [], [info("u", None)])
    yield "chain_ifs_1000", model([node("If", ["c"], [f"r{k}"], then_branch=side, else_branch=side) for k in range(1000)] + [node("Sum", [f"r{k}" for k in range(1000)])], [info("x"), info("c", (), B)])
    yield "chain_einsums", model(chain("Einsum", 500, extra=["w"], equation="ij,jk->ki"), [square], initializers=[w])
    yield "chain_tiles", model(chain("Tile", 40, extra=["t"]), [info("v0", (1,))], initializers=[tensor("t", [2])])
    yield "chain_layer_norms", model(chain("LayerNormalization", 1000, extra=["g", "b"]), [square], initializers=four[:2])
    yield "chain_reshapes_open", model(chain("Reshape", 5000, extra=["n"]), [info("v0", ("N", "M"))], initializers=[n])
    lstm = [helper.make_tensor("lw", F, [1, 8, 2], [0.1] * 16), helper.make_tensor("lr", F, [1, 8, 2], [0.1] * 16)]
    yield "chain_lstms", model([m for k in range(100) for m in (node("LSTM", [f"v{k}", "lw", "lr"], [f"l{k}"], hidden_size=2), node("Squeeze", [f"l{k}", "a"], [f"v{k + 1}" if k < 99 else "y"]))],
                               [info("v0", (3, 1, 2))], initializers=[*lstm, tensor("a", [1])])
    yield "lstm_of_many_steps", model([node("LSTM", ["x", "lw", "lr"], hidden_size=2)], [info("x", (1 << 40, 1, 2))], initializers=lstm)
    yield "fan_in_of_slices", model([node("Slice", ["x", f"s{k}", f"e{k}"], [f"p{k}"]) for k in range(3000)] + [node("Concat", [f"p{k}" for k in reversed(range(3000))], axis=0)], [info("x", (3000,))],
                                    initializers=[t for k in range(3000) for t in (tensor(f"s{k}", [k]), tensor(f"e{k}", [k + 1]))])
    yield "ladder", model([m for k in range(2000) for m in (node("Add", [f"a{k}", f"b{k}"], [f"a{k + 1}"]), node("Mul", [f"a{k}", f"b{k}"], [f"b{k + 1}" if k < 1999 else "y"]))], [info("a0"), info("b0")])


def old_kinds():
    """Attributes of operator sets before 9 that do not fit."""
    x, image = [info("x")], [info("x", (1, 4, 8, 8))]
    for value in (99, -99, HUGE, LEAST):
        for op in ("Add", "Mul", "Pow", "Equal"):
            yield f"old_{op}_axis_{value}", model([node(op, ["x", "z"], axis=value, broadcast=1)], [info("x"), info("z", (3,))], opset=6)
        yield f"old_Gemm_broadcast_{value}", model([node("Gemm", ["x", "z", "z"], broadcast=value, transB=1)], [info("x"), info("z", (3,))], opset=6)
        yield f"old_Reshape_{value}", model([node("Reshape", shape=[value, value])], x, opset=1)
        yield f"old_Slice_{value}", model([node("Slice", starts=[value, 0], ends=[value], axes=[value])], x, opset=9)
        yield f"old_Split_{value}", model([node("Split", ["x"], ["y", "z"], split=[value, value], axis=value)], x, opset=2)
        yield f"old_TopK_{value}", model([node("TopK", ["x"], ["y", "z"], k=value, axis=value)], x, opset=9)
        yield f"old_Pad_{value}", model([node("Pad", paddings=[value] * 4, mode="wrap")], x, opset=1)
        yield f"old_Pad_2_{value}", model([node("Pad", pads=[value] * 3)], x, opset=10)
        yield f"old_Squeeze_{value}", model([node("Squeeze", axes=[value, 0])], x, opset=11)
        yield f"old_Unsqueeze_{value}", model([node("Unsqueeze", axes=[0, value])], x, opset=11)
        yield f"old_Upsample_{value}", model([node("Upsample", height_scale=float(value), width_scale=float("nan"))], image, opset=1)
        yield f"old_Upsample_7_{value}", model([node("Upsample", scales=[1.0, float(value), 1e-30, 1e30])], image, opset=7)
        yield f"old_Tile_{value}", model([node("Tile", ["x", "n", "n"])], x, opset=1, initializers=[scalar("n", float(value))])
        yield f"old_Softmax_{value}", model([node("Softmax", axis=value)], x, opset=1)
        yield f"old_BatchNorm_{value}", model([node("BatchNormalization", ["x", *"bcde"], consumed_inputs=[value], spatial=value, is_test=value)], image + [info(n, (4,)) for n in "bcde"], opset=6)
        yield f"old_Scan_{value}", model([node("Scan", ["", "x", "x"], num_scan_inputs=value, body=graph([node("Add", ["a", "b"], ["u"])], [info("a"), info("b")], [info("u")]))], x, opset=8)
        yield f"old_Concat_{value}", model([node("Concat", ["x", "x"], **({"axis": value} if value > 0 else {}))], x, opset=1)
        yield f"old_Dropout_{value}", model([node("Dropout", ratio=float(value), is_test=0)], x, opset=6)
        yield f"old_RNN_{value}", model([node("RNN", ["x", "w", "r"], output_sequence=value, hidden_size=2, clip=float(value), activations=["Evil"], activation_alpha=[1.0] * 99)],
                                        [info("x", (2, 1, 3)), info("w", (1, 2, 3)), info("r", (1, 2, 2))], opset=1)
    for text in ("FLOAT", "NOTHING", "\x00", "INT64" * 100):
        yield f"old_Cast_{text[:6]!r}", model([node("Cast", to=text)], x, opset=1)
    for direction in ("sideways", "", "forward\x00", "bidirectional"):
        for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            given = [info("x", (2, 1, 3)), info("w", (1, gates * 2, 3)), info("r", (1, gates * 2, 2))]
            yield f"recurrent_{op}_{direction!r}", model([node(op, ["x", "w", "r"], hidden_size=2, direction=direction, layout=7)], given)
            yield f"recurrent_{op}_{direction!r}_lengths", model([node(op, ["x", "w", "r", "", "l"], hidden_size=2, direction=direction)], given, initializers=[tensor("l", [1 << 30], I32)])


def result_kinds():
    """Arithmetic without a result: on constants, so that the compiler computes it, and on operands of a run."""
    for label, dtype, least in (("i64", I, LEAST), ("i32", I32, -(1 << 31)), ("i8", I8, -128)):
        for op, b in (("Div", -1), ("Div", 0), ("Mod", -1), ("Mod", 0), ("Pow", -1), ("Pow", 1000), ("Mul", -1), ("Sub", 1), ("Add", -1), ("BitwiseXor", -1)):
            constants = [tensor("a", [least, least, 7], dtype), tensor("b", [b] if abs(b) < 128 else [100], dtype)]
            yield f"result_{op}_{b}_{label}", model([node(op, ["a", "b"])], [], initializers=constants, opset=18)
            yield f"result_at_run_{op}_{b}_{label}", model([node(op, ["x", "b"])], [info("x", (64,), dtype)], initializers=constants[1:], opset=18)
            yield f"result_of_open_{op}_{b}_{label}", model([node(op, ["b", "x"])], [info("x", ("N",), dtype)], initializers=constants[1:], opset=18)
        for op in ("Abs", "Neg", "Sign", "BitwiseNot"):
            yield f"result_{op}_{label}", model([node(op, ["a"])], [], initializers=[tensor("a", [least], dtype)], opset=18)
        for op in ("ReduceProd", "ReduceSum", "ReduceSumSquare", "CumSum"):
            more = [tensor("n", [0], I, [])] if op == "CumSum" else []
            yield f"result_{op}_{label}", model([node(op, ["a", "n"] if more else ["a"])], [], initializers=[tensor("a", [least] * 9, dtype), *more])
    for number in (float("nan"), float("inf"), -1e30, 3e9, 1e-45):
        for dtype in (I, I32, I8, U8, B, 10, 16, 17, 21):
            yield f"result_cast_{number}_{dtype}", model([node("Cast", ["a"], to=dtype)], [], initializers=[scalar("a", number)], opset=21)
        yield f"result_range_{number}", model([node("Range", ["a", "b", "c"])], [], initializers=[scalar("a", 0.0), scalar("b", number), scalar("c", 0.5)])
        yield f"result_step_{number}", model([node("Range", ["a", "b", "c"])], [], initializers=[scalar("a", 0.0), scalar("b", 5.0), scalar("c", number)])
        yield f"result_clip_{number}", model([node("Clip", ["x", "a", "b"])], initializers=[scalar("a", number), scalar("b", -number)])
        for mode in ("nearest", "linear", "cubic"):
            yield f"result_resize_{mode}_{number}", model([node("Resize", ["x", "", "s"], mode=mode, antialias=int(mode != "nearest"), cubic_coeff_a=number, extrapolation_value=number)], [info("x", (1, 1, 64, 64))],
                                                          initializers=[helper.make_tensor("s", F, [4], [1, 1, abs(number), 1e-8])], opset=18)
            yield f"result_sizes_{mode}_{number}", model([node("Resize", ["x", "", "", "n"], mode=mode, antialias=int(mode != "nearest"), axes=[-1, 2], keep_aspect_ratio_policy="not_larger")],
                                                         [info("x", (1, 1, 64, 1 << 20))], initializers=[tensor("n", [1, 1])], opset=18)
    for amount in (64, 255, 63):
        yield f"result_shift_{amount}", model([node("BitShift", ["a", "b"], direction="LEFT")], [], initializers=[tensor("a", [1], 13), tensor("b", [amount], 13)])
    for index in (99, -1, -(1 << 31), (1 << 31) - 1):
        packed = [helper.make_tensor("q", U8, [4, 1, 8], [1] * 32), helper.make_tensor("s", F, [4], [1.0] * 4), tensor("g", [index] * 16, I32)]
        yield f"result_order_{index}", model([node("MatMulNBits", ["x", "q", "s", "", "g"], domain="com.microsoft", K=16, N=4, bits=4, block_size=16)], [info("x", (2, 16))], initializers=packed)
        yield f"result_embedding_{index}", model([node("EmbedLayerNormalization", ["i", "", "w", "w", "", "g", "g"], ["y", "z"], domain="com.microsoft")], [],
                                                 initializers=[tensor("i", [index] * 3, I32, [1, 3]), helper.make_tensor("w", F, [5, 4], [1.0] * 20), helper.make_tensor("g", F, [4], [1.0] * 4)])


def growth_forms():
    for family in (size_kinds, chain_kinds, old_kinds, result_kinds):
        yield from family()
