# SPDX-License-Identifier: Apache-2.0
"""Hostile models by number: products of sizes that overflow, axes as operands, parameters of quantisation and of com.microsoft that do not fit."""
from onnx import TensorProto, helper

from hostile_shapes import B, F, HUGE, I, LEAST, S, U8, graph, info, model, node, scalar, tensor

I8, I32, F16, F8, U4 = TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT16, 17, 21


def filled(name, dims, dtype=F):
    """A constant of ones; zero bytes where numpy has no such type."""
    count = 1
    for dim in dims:
        count *= dim
    if dtype in (F8, U4):
        return TensorProto(name=name, data_type=dtype, dims=list(dims), raw_data=bytes(count if dtype == F8 else (count + 1) // 2))
    return helper.make_tensor(name, dtype, dims, [b"1" if dtype == S else 1] * count)


def product_kinds():
    """Sizes that are each possible, and whose product, sum or count of bytes is not."""
    large = 1 << 32
    for op, dims, attributes in (
            ("Flatten", (large, 2, large), {}), ("Transpose", (1 << 21, 1 << 21, 1 << 21), {}), ("Relu", (1 << 61,), {}), ("Relu", (1 << 60, 2), {}),
            ("Concat", (HUGE - 1,), dict(axis=0)), ("Softmax", (large, large), {}), ("ReduceSum", (large, large), {}), ("ArgMax", (large, large), {}),
            ("Cast", (1 << 60,), dict(to=11)), ("Shape", (HUGE, HUGE, HUGE), {}), ("Size", (HUGE, HUGE, HUGE), {}), ("NonZero", (large, 1 << 30), {}),
            ("GlobalAveragePool", (1, 1, large, large), {}), ("DepthToSpace", (1, 4, 1 << 31, 1 << 31), dict(blocksize=2)),
            ("SpaceToDepth", (1, 1 << 62, 2, 2), dict(blocksize=2)), ("MaxPool", (1, 1, HUGE, 1), dict(kernel_shape=[3, 1], pads=[HUGE, 0, HUGE, 0])),
            ("LRN", (1, HUGE, 1, 1), dict(size=5)), ("CumSum", (large, large), {}), ("Det", (1 << 31, 1 << 31), {}), ("EyeLike", (0, HUGE), {}),
            ("Trilu", (1 << 31, 1 << 31), {}), ("Identity", (0, HUGE, HUGE), {}), ("Flatten", (0, HUGE, HUGE), dict(axis=1))):
        inputs = ["x", "x"] if op == "Concat" else ["x", "n"] if op == "CumSum" else ["x"]
        yield f"product_{op}_{'_'.join(map(str, dims))}", model([node(op, inputs, **attributes)], [info("x", dims)], initializers=[tensor("n", [0], I, [])])
    for op, a, b in (("MatMul", (large, 1), (1, large)), ("MatMul", (HUGE, 2, 1), (1, 1, 2)), ("Add", (large, 1), (1, large)), ("Gather", (large, 2), (large,)),
                     ("GatherND", (2, large), (large, 1)), ("Einsum", (large,), (large,)), ("Gemm", (large, 1), (1, large)), ("Conv", (large, 1, 8, 8), (large, 1, 3, 3)),
                     ("ConvTranspose", (1, 1, 1 << 31, 1 << 31), (1, 4, 3, 3)), ("Conv", (1, 1, HUGE, 1), (1, 1, 1, 1)), ("Mul", (large, 1, 2), (2, large, 1))):
        more = dict(equation="i,j->ij") if op == "Einsum" else {}
        yield f"product_{op}_{a[0]}_{len(b)}_{b[0]}", model([node(op, ["a", "b"], **more)], [info("a", a), info("b", b, I if op in ("Gather", "GatherND") else F)])
    for count in (1 << 31, large, HUGE):
        yield f"split_in_{count}", model([node("Split", ["x", "n"], ["y", "z"])], [info("x", (HUGE,))], initializers=[tensor("n", [count, HUGE])])
        yield f"open_times_{count}", model([node("Tile", ["x", "n"])], [info("x", ("N", "N"))], initializers=[tensor("n", [count, count])])
        yield f"open_padded_{count}", model([node("Pad", ["x", "n"])], [info("x", ("N",))], initializers=[tensor("n", [count, count])])
        yield f"open_resized_{count}", model([node("Resize", ["x", "", "s"])], [info("x", (1, 1, "N", "N"))],
                                             initializers=[helper.make_tensor("s", F, [4], [1, 1, float(count), float(count)])])
        yield f"open_expanded_{count}", model([node("Expand", ["x", "n"])], [info("x", ("N", 1))], initializers=[tensor("n", [1, count])])
        yield f"open_reshaped_{count}", model([node("Reshape", ["x", "n"])], [info("x", ("N", "M"))], initializers=[tensor("n", [count, -1])])
        yield f"counted_{count}", model([node("TopK", ["x", "n"], ["y", "z"])], [info("x", ("N",))], initializers=[tensor("n", [count])])
        yield f"range_to_open_{count}", model([node("Range", ["n", "m", "o"])], [info("m", (), I)], initializers=[tensor("n", [-count], I, []), tensor("o", [1], I, [])])
        sizes = [node("Shape", ["x"], ["s"]), node("Mul", ["s", "n"], ["t"]), node("Mul", ["t", "n"], ["u"]), node("Expand", ["z", "u"])]
        yield f"size_computed_{count}", model(sizes, [info("x", ("N",)), info("z", ())], initializers=[tensor("n", [count])])
        body = graph([node("Identity", ["c1"], ["c2"]), node("Identity", ["s1"], ["s2"]), node("Relu", ["s1"], ["r"])],
                     [info("i", (), I), info("c1", (), B), info("s1", (1 << 20,))], [info("c2", (), B), info("s2", (1 << 20,)), info("r", (1 << 20,))])
        yield f"scanned_{count}", model([node("Loop", ["n", "", "x"], ["v", "y"], body=body)], [info("x", (1 << 20,))], initializers=[tensor("n", [count], I, [])])


def operand_kinds():
    """Axes, sizes and counts as operands of wrong types and ranks, constant and given at a run."""
    places = [("ReduceSum", ["x", "n"], {}), ("Squeeze", ["x", "n"], {}), ("Unsqueeze", ["x", "n"], {}), ("Reshape", ["x", "n"], {}), ("Expand", ["x", "n"], {}),
              ("Tile", ["x", "n"], {}), ("Pad", ["x", "n"], {}), ("Slice", ["x", "n", "n", "n", "n"], {}), ("Split", ["x", "n"], {}), ("TopK", ["x", "n"], {}),
              ("CumSum", ["x", "n"], {}), ("Gather", ["x", "n"], {}), ("OneHot", ["x", "n", "x"], {}), ("Range", ["n", "n", "n"], {}), ("ConstantOfShape", ["n"], {}),
              ("Resize", ["x", "", "", "n"], {}), ("Trilu", ["x", "n"], {}), ("Clip", ["x", "n", "n"], {}), ("Dropout", ["x", "n", "n"], {}), ("Where", ["n", "x", "x"], {}),
              ("ReduceMax", ["x", "n"], {}), ("CenterCropPad", ["x", "n"], {}), ("NonMaxSuppression", ["x", "x", "n", "n", "n"], {}), ("GatherND", ["x", "n"], {}),
              ("ScatterND", ["x", "n", "x"], {}), ("Compress", ["x", "n"], {}), ("ReverseSequence", ["x", "n"], {}), ("BlackmanWindow", ["n"], {}), ("DFT", ["x", "n"], {})]
    for op, inputs, attributes in places:
        for label, dims, dtype in (("text", (1,), S), ("floats", (2,), F), ("bools", (2,), B), ("rank_3", (1, 1, 2), I), ("none", (0,), I), ("int32", (2,), I32),
                                   ("many", (3000,), I), ("half", (2,), F16), ("bytes", (), I8)):
            yield f"operand_{op}_{label}", model([node(op, inputs, **attributes)], initializers=[filled("n", dims, dtype)], opset=18)
            yield f"operand_at_run_{op}_{label}", model([node(op, inputs, **attributes)], [info("x"), info("n", dims, dtype)], opset=18)
        outside = TensorProto(name="n", data_type=I, dims=[2], data_location=TensorProto.EXTERNAL)
        outside.external_data.add(key="location", value="../secret.bin")
        yield f"operand_{op}_outside", model([node(op, inputs, **attributes)], initializers=[outside], opset=18)


def quantised_kinds():
    """Scales and zero points of wrong lengths, ranks and types, axes and blocks that do not fit."""
    shapes = {"none": (0,), "one": (1,), "two": (2,), "three": (3,), "five": (5,), "square": (2, 2), "rank_4": (1, 4, 1, 1), "scalar": ()}
    image, kernel = (1, 4, 8, 8), (4, 4, 3, 3)
    for label, dims in shapes.items():
        for other in dict.fromkeys(((), dims, (4,))):
            s, z = filled("s", dims), filled("z", other, U8)
            one, zero = scalar("o", 1.0), filled("p", (), U8)
            tag = f"{label}_{len(other)}_{sum(other)}"
            for axis in (-9, -1, 0, 1, 4, HUGE):
                yield f"quantise_{tag}_{axis}", model([node("QuantizeLinear", ["x", "s", "z"], axis=axis)], [info("x", image)], initializers=[s, z])
                yield f"dequantise_{tag}_{axis}", model([node("DequantizeLinear", ["x", "s", "z"], axis=axis)], [info("x", image, U8)], initializers=[s, z])
            for at in range(3):
                names = ["x", "o", "p", "w", "o", "p", "o", "p"]
                names[(1, 4, 6)[at]:(3, 6, 8)[at]] = ["s", "z"]
                yield f"qlinear_conv_{tag}_{at}", model([node("QLinearConv", names)], [info("x", image, U8)], initializers=[filled("w", kernel, U8), s, z, one, zero])
                yield f"qlinear_matmul_{tag}_{at}", model([node("QLinearMatMul", names)], [info("x", (3, 4), U8)], initializers=[filled("w", (4, 5), U8), s, z, one, zero])
        z = filled("z", dims, U8)
        for op, x, w in (("MatMulInteger", (3, 4), (4, 5)), ("ConvInteger", image, kernel)):
            for names in (["x", "w", "z"], ["x", "w", "", "z"], ["x", "w", "z", "z"]):
                yield f"{op}_{label}_{len(names)}_{names[2]}", model([node(op, names)], [info("x", x, U8)], initializers=[filled("w", w, U8), z])
    types = {"f32": F, "f16": F16, "i8": I8, "i32": I32, "i64": I, "bool": B, "text": S, "f8": F8, "u4": U4}
    for first, a in types.items():
        for second, b in types.items():
            rest = [filled("s", (), a), filled("z", (), b)]
            yield f"quantise_of_{first}_{second}", model([node("QuantizeLinear", ["x", "s", "z"])], initializers=rest, opset=21)
            yield f"dequantise_of_{first}_{second}", model([node("DequantizeLinear", ["x", "s", "z"])], [info("x", (2, 3), b)], initializers=rest, opset=21)
        yield f"quantise_to_{first}", model([node("QuantizeLinear", ["x", "s"], output_dtype=a)], initializers=[scalar("s", 1.0)], opset=21)
        yield f"dynamic_of_{first}", model([node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], [info("x", (2, 3), a)])
        yield f"integer_product_of_{first}", model([node("MatMulInteger", ["x", "w"])], [info("x", (2, 3), a)], initializers=[filled("w", (3, 4), U8)])
    for block in (0, 1, 2, 3, 5, -1, 1 << 31, HUGE, LEAST):
        for dims in ((2, 3), (2, 2), (1, 4), (2, 0), (4,), ()):
            for axis in (0, 1):
                yield f"blocks_{block}_{'x'.join(map(str, dims))}_{axis}", model([node("QuantizeLinear", ["x", "s"], block_size=block, axis=axis)], [info("x", (2, 4))],
                                                                              initializers=[filled("s", dims)], opset=21)
    for value in (0.0, -1.0, float("nan"), float("inf"), 1e-45, 3e38):
        one = [scalar("s", value), filled("z", (), U8), filled("w", (4, 5), U8)]
        yield f"scale_{value}", model([node("QLinearMatMul", ["x", "s", "z", "w", "s", "z", "s", "z"])], [info("x", (3, 4), U8)], initializers=one)


def microsoft_kinds():
    """Operators of com.microsoft: attributes of wrong kinds, operands of wrong counts, ranks and types."""
    kinds = {"text": "a\x00b", "float": 1.5, "nan": float("nan"), "int": 3, "none": 0, "minus": -1, "huge": HUGE, "least": LEAST, "ints": [1, -1, HUGE], "floats": [1.0],
             "texts": ["a"], "tensor": helper.make_tensor("t", F, [2], [1, 2]), "graph": graph([node("Relu", ["x"], ["u"])], [], [info("u", None)])}
    attributes = {
        "Attention": ("num_heads", "unidirectional", "scale", "mask_filter_value", "qkv_hidden_sizes", "past_present_share_buffer"), "FusedConv": ("activation", "activation_params", "group"),
        "MultiHeadAttention": ("num_heads", "scale", "mask_filter_value", "unidirectional"), "MatMulNBits": ("K", "N", "bits", "block_size", "accuracy_level"),
        "GroupQueryAttention": ("num_heads", "kv_num_heads", "scale", "local_window_size", "do_rotary", "rotary_interleaved", "softcap"), "FusedMatMul": ("alpha", "transA", "transBatchA"),
        "RotaryEmbedding": ("interleaved", "num_heads", "rotary_embedding_dim", "scale"), "SkipLayerNormalization": ("epsilon",), "FusedGemm": ("activation", "alpha", "transB"),
        "GatherBlockQuantized": ("bits", "block_size", "gather_axis", "quantize_axis"), "QLinearConcat": ("axis",), "QLinearSoftmax": ("axis", "opset"), "QuickGelu": ("alpha",),
        "NhwcMaxPool": ("kernel_shape", "strides", "pads"), "QAttention": ("num_heads", "unidirectional"), "EmbedLayerNormalization": ("epsilon", "mask_index_type"),
        "QGemm": ("transA", "alpha"), "CDist": ("metric",), "Trilu": ("upper",), "QLinearAveragePool": ("kernel_shape", "count_include_pad", "channels_last")}
    for op, names in attributes.items():
        for name in names:
            for kind, value in kinds.items():
                rest = {other: 2 for other in names if other != name and other in ("num_heads", "K", "N", "bits", "block_size", "kv_num_heads")}
                rest.update(kernel_shape=[2, 2] if "Pool" in op and name != "kernel_shape" else None)
                yield f"ms_{op}_{name}_{kind}", model([node(op, ["x"] * (3 if "Pool" not in op else 1), domain="com.microsoft",
                                                            **{k: v for k, v in rest.items() if v is not None}, **{name: value})], [info("x", (1, 4, 8))])
        for count in (0, 1, 2, 5, 9, 30):
            for dims in ((), (3,), (2, 4, 8), (1, 4, 8, 8), (0, 0, 0)):
                yield f"ms_{op}_{count}_of_rank_{len(dims)}_{sum(dims)}", model([node(op, ["x"] * count, domain="com.microsoft", **({"num_heads": 2} if "num_heads" in names else {}))],
                                                                                [info("x", dims)])
        yield f"ms_{op}_left_out", model([node(op, [""] * 9 + ["x"], domain="com.microsoft")])
        yield f"ms_{op}_of_text", model([node(op, ["x"] * 3, domain="com.microsoft")], [info("x", (2, 3), S)])
        yield f"ms_{op}_open", model([node(op, ["x"] * 4, domain="com.microsoft")], [info("x", ("N", "M", "N"))])
        yield f"ms_{op}_no_shape", model([node(op, ["x"] * 4, domain="com.microsoft")], [info("x", None)])
    for label, dims in (("rows", (3, 1, 8)), ("blocks", (4, 2, 8)), ("bytes", (4, 1, 7)), ("rank", (4, 8)), ("none", (0, 1, 8)), ("huge", (4, 1, 0))):
        yield f"ms_packed_{label}", model([node("MatMulNBits", ["x", "q", "s"], domain="com.microsoft", K=16, N=4, bits=4, block_size=16)], [info("x", (2, 16))],
                                          initializers=[filled("q", dims, U8), filled("s", (4,))])
    for at, name in enumerate(("scales", "zeros", "order", "bias")):
        for dims in ((), (3,), (5,), (0,), (4, 4), (1 << 12,)):
            for dtype in (F, U8, I32, F16):
                names = ["x", "q", "s", "", "", ""]
                names[2 + at] = "e"
                yield f"ms_bits_{name}_{len(dims)}_{sum(dims)}_{dtype}", model([node("MatMulNBits", names, domain="com.microsoft", K=16, N=4, bits=4, block_size=16)],
                                                                               [info("x", (2, 16))], initializers=[filled("q", (4, 1, 8), U8), filled("s", (4,)), filled("e", dims, dtype)])


def number_forms():
    for family in (product_kinds, operand_kinds, quantised_kinds, microsoft_kinds):
        yield from family()
