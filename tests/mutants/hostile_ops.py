# SPDX-License-Identifier: Apache-2.0
"""Hostile models by op: sizes of zero everywhere, numbers without meaning, control flow, names, external data."""
from onnx import TensorProto, helper

from hostile_shapes import B, F, HUGE, I, LEAST, U8, graph, info, model, node, scalar, tensor

IMAGE, FILTER = (1, 4, 8, 8), (4, 4, 3, 3)


def w(name="w", dims=(3, 3), dtype=F):
    count = 1
    for dim in dims:
        count *= dim
    return helper.make_tensor(name, dtype, dims, [1] * count)


# op, operands by (name, dims, dtype), attributes, opset
PLAIN = [
    ("MatMul", [("a", (2, 3)), ("b", (3, 4))], {}), ("Gemm", [("a", (2, 3)), ("b", (3, 4))], {}), ("Conv", [("a", IMAGE), ("b", FILTER)], {}),
    ("ConvTranspose", [("a", IMAGE), ("b", FILTER)], {}), ("MaxPool", [("a", IMAGE)], dict(kernel_shape=[2, 2])),
    ("AveragePool", [("a", IMAGE)], dict(kernel_shape=[2, 2])), ("GlobalAveragePool", [("a", IMAGE)], {}),
    ("GlobalMaxPool", [("a", IMAGE)], {}), ("BatchNormalization", [("a", IMAGE)] + [(n, (4,)) for n in "bcde"], {}),
    ("InstanceNormalization", [("a", IMAGE), ("b", (4,)), ("c", (4,))], {}), ("LayerNormalization", [("a", (2, 3)), ("b", (3,))], {}),
    ("Softmax", [("a", (2, 3))], {}), ("LogSoftmax", [("a", (2, 3))], {}), ("ReduceMean", [("a", (2, 3))], {}), ("ReduceMax", [("a", (2, 3))], {}),
    ("ReduceMin", [("a", (2, 3))], {}), ("ReduceProd", [("a", (2, 3))], {}), ("ReduceLogSumExp", [("a", (2, 3))], {}),
    ("ArgMax", [("a", (2, 3))], {}), ("CumSum", [("a", (2, 3)), ("b", (), I)], {}), ("Gather", [("a", (2, 3)), ("b", (2,), I)], {}),
    ("GatherElements", [("a", (2, 3)), ("b", (2, 3), I)], {}), ("GatherND", [("a", (2, 3)), ("b", (2, 1), I)], {}),
    ("ScatterElements", [("a", (2, 3)), ("b", (2, 3), I), ("c", (2, 3))], {}), ("ScatterND", [("a", (2, 3)), ("b", (2, 1), I), ("c", (2, 3))], {}),
    ("Concat", [("a", (2, 3)), ("b", (2, 3))], dict(axis=0)), ("Transpose", [("a", (2, 3))], {}), ("Where", [("a", (2, 3), B), ("b", (2, 3)), ("c", (3,))], {}),
    ("Add", [("a", (2, 3)), ("b", (2, 3))], {}), ("Div", [("a", (2, 3), I), ("b", (2, 3), I)], {}), ("Mod", [("a", (2, 3), I), ("b", (2, 3), I)], {}),
    ("Pow", [("a", (2, 3)), ("b", (3,))], {}), ("NonZero", [("a", (2, 3))], {}), ("Unique", [("a", (6,))], {}), ("Compress", [("a", (6,)), ("b", (6,), B)], {}),
    ("LRN", [("a", IMAGE)], dict(size=3)), ("DepthToSpace", [("a", IMAGE)], dict(blocksize=2)), ("SpaceToDepth", [("a", IMAGE)], dict(blocksize=2)),
    ("LSTM", [("a", (2, 1, 3)), ("b", (1, 8, 3)), ("c", (1, 8, 2))], dict(hidden_size=2)),
    ("GRU", [("a", (2, 1, 3)), ("b", (1, 6, 3)), ("c", (1, 6, 2))], dict(hidden_size=2)), ("Einsum", [("a", (2, 3)), ("b", (3, 4))], dict(equation="ij,jk->ik")),
    ("DynamicQuantizeLinear", [("a", (2, 3))], {}), ("MatMulInteger", [("a", (2, 3), U8), ("b", (3, 4), U8)], {}),
    ("ConvInteger", [("a", IMAGE, U8), ("b", FILTER, U8)], {}), ("NonMaxSuppression", [("a", (1, 6, 4)), ("b", (1, 1, 6))], {}),
    ("RoiAlign", [("a", IMAGE), ("b", (3, 4)), ("c", (3,), I)], {}), ("GridSample", [("a", IMAGE), ("b", (1, 3, 3, 2))], {}),
    ("MaxRoiPool", [("a", IMAGE), ("b", (3, 5))], dict(pooled_shape=[2, 2])), ("ReverseSequence", [("a", (2, 3)), ("b", (3,), I)], {}),
    ("Flatten", [("a", IMAGE)], {}), ("Trilu", [("a", (3, 3))], {}), ("EyeLike", [("a", (3, 3))], {}), ("Det", [("a", (3, 3))], {}),
    ("MeanVarianceNormalization", [("a", IMAGE)], {}), ("LpPool", [("a", IMAGE)], dict(kernel_shape=[2, 2])), ("Multinomial", [("a", (2, 3))], {}),
    ("SoftmaxCrossEntropyLoss", [("a", (2, 3)), ("b", (2,), I)], {}), ("NegativeLogLikelihoodLoss", [("a", (2, 3)), ("b", (2,), I)], {}),
    ("DFT", [("a", (1, 8, 1))], {}), ("STFT", [("a", (1, 16, 1)), ("b", (), I), ("c", (8,))], {}), ("Shape", [("a", (2, 3))], {}), ("Size", [("a", (2, 3))], {}),
    ("QuantizeLinear", [("a", (2, 3)), ("b", ())], {}), ("DequantizeLinear", [("a", (2, 3), U8), ("b", ())], {}), ("BitShift", [("a", (3,), U8), ("b", (3,), U8)], dict(direction="LEFT")),
    ("MaxUnpool", [("a", (1, 1, 2, 2)), ("b", (1, 1, 2, 2), I)], dict(kernel_shape=[2, 2])), ("Hardmax", [("a", (2, 3))], {}), ("Erf", [("a", (2, 3))], {}),
]


def zero_kinds():
    """Each op with a size of zero, of one and of 2^31 in each place of each operand, and without rank."""
    for op, operands, attributes in PLAIN:
        names = [name for name, *_ in operands]
        for at, (_, dims, *_) in enumerate(operands):
            for axis in range(len(dims)):
                for size in (0, 1, (1 << 31) + 1):
                    changed = [info(name, tuple(size if (a, k) == (at, axis) else dim for k, dim in enumerate(d)), *t)
                               for a, (name, d, *t) in enumerate(operands)]
                    yield f"{op}_{at}_{axis}_is_{size}", model([node(op, names, **attributes)], changed)
            for rank in (0, 7):
                changed = [info(name, (1,) * rank if a == at else d, *t) for a, (name, d, *t) in enumerate(operands)]
                yield f"{op}_{at}_rank_{rank}", model([node(op, names, **attributes)], changed)
        zeros = [info(name, (0,) * len(d), *t) for name, d, *t in operands]
        yield f"{op}_all_zero", model([node(op, names, **attributes)], zeros)
        yield f"{op}_no_shapes", model([node(op, names, **attributes)], [info(name, None, *t) for name, d, *t in operands])
        yield f"{op}_open", model([node(op, names, **attributes)], [info(name, tuple("N" for _ in d), *t) for name, d, *t in operands])


def window_kinds():
    """Attributes of windows and groups that overflow, vanish, or have wrong counts."""
    bad = (0, -1, 1 << 31, 1 << 32, HUGE, LEAST)
    for op in ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "QLinearConv", "ConvInteger"):
        is_pool = op.endswith("Pool")
        names, rest = ["x"], []
        operands = [info("x", IMAGE, U8 if op in ("QLinearConv", "ConvInteger") else F)]
        if op == "QLinearConv":
            names = ["x", "s", "z", "w", "s", "z", "s", "z"]
            rest = [w("w", FILTER, U8), scalar("s", 1.0), tensor("z", [1], U8, [])]
        elif not is_pool:
            names, rest = ["x", "w"], [w("w", FILTER, U8 if op == "ConvInteger" else F)]
        for attribute in ("strides", "dilations", "pads", "kernel_shape", "group", "output_padding", "output_shape", "auto_pad"):
            for value in bad:
                for count in (1, 2, 4, 5):
                    if attribute == "group" and count != 1 or attribute == "auto_pad" and (count, value) != (1, 0):
                        continue
                    given = {"group": value, "auto_pad": "SIDEWAYS"}.get(attribute, [value] * count)
                    attributes = dict(dict(kernel_shape=[2, 2]) if is_pool else {}, **{attribute: given})
                    yield f"{op}_{attribute}_{count}_of_{value}", model([node(op, names, **attributes)], operands, initializers=rest)
    image = [info("x", IMAGE)]
    for value in bad:
        yield f"depth_to_space_{value}", model([node("DepthToSpace", blocksize=value)], image)
        yield f"space_to_depth_{value}", model([node("SpaceToDepth", blocksize=value)], image)
        yield f"lrn_{value}", model([node("LRN", size=value)], image)
        yield f"groups_{value}", model([node("GroupNormalization", ["x", "s", "s"], num_groups=value)], image, initializers=[w("s", (4,))], opset=21)
        yield f"roi_{value}", model([node("RoiAlign", ["x", "r", "i"], output_height=value, output_width=value, sampling_ratio=value)], image,
                                    initializers=[w("r", (1, 4)), tensor("i", [value])])
        yield f"affine_grid_{value}", model([node("AffineGrid", ["t", "n"])], [info("t", (1, 2, 3))], initializers=[tensor("n", [1, 1, value, value])], opset=20)
        yield f"col2im_{value}", model([node("Col2Im", ["c", "n", "b"])], [info("c", (1, 4, 4))],
                                       initializers=[tensor("n", [value, value]), tensor("b", [2, 2])], opset=18)
        yield f"center_crop_{value}", model([node("CenterCropPad", ["x", "n"])], image, initializers=[tensor("n", [value] * 4)], opset=18)
        yield f"max_unpool_{value}", model([node("MaxUnpool", ["a", "b", "n"], kernel_shape=[2, 2])], [info("a", (1, 1, 2, 2)), info("b", (1, 1, 2, 2), I)],
                                           initializers=[tensor("n", [1, 1, value, value])])
        yield f"max_unpool_kernel_{value}", model([node("MaxUnpool", ["a", "b"], kernel_shape=[value, value])],
                                                  [info("a", (1, 1, 2, 2)), info("b", (1, 1, 2, 2), I)])
        yield f"mel_{value}", model([node("MelWeightMatrix", ["a", "b", "c", "d", "e"])], [], initializers=[
            tensor("a", [value], I, []), tensor("b", [value], I, []), tensor("c", [value], I, []), scalar("d", 0.0), scalar("e", 1e30)])
        yield f"stft_{value}", model([node("STFT", ["a", "s", "c"])], [info("a", (1, 16, 1))], initializers=[tensor("s", [value], I, []), w("c", (8,))])
        yield f"stft_length_{value}", model([node("STFT", ["a", "s", "", "n"])], [info("a", (1, 16, 1))],
                                            initializers=[tensor("s", [1], I, []), tensor("n", [value], I, [])])
        yield f"dft_{value}", model([node("DFT", ["a", "n"])], [info("a", (1, 8, 1))], initializers=[tensor("n", [value], I, [])])
        yield f"lstm_{value}", model([node("LSTM", ["x", "w", "r"], hidden_size=value)],
                                     [info("x", (2, 1, 3)), info("w", (1, 8, 3)), info("r", (1, 8, 2))])
        yield f"lstm_lengths_{value}", model([node("LSTM", ["x", "w", "r", "", "n"], hidden_size=2)],
                                             [info("x", (2, 1, 3)), info("w", (1, 8, 3)), info("r", (1, 8, 2))], initializers=[
                                                 tensor("n", [max(min(value, (1 << 31) - 1), -(1 << 31))], TensorProto.INT32)])
        yield f"topk_{value}", model([node("TopK", ["x", "n"], ["y", "z"])], initializers=[tensor("n", [value])])
        yield f"split_into_{value}", model([node("Split", num_outputs=value)], opset=18)
        yield f"reshape_{value}", model([node("Reshape", ["x", "n"], allowzero=1)], initializers=[tensor("n", [value, -1])])
        yield f"upsample_{value}", model([node("Upsample", ["x", "s"])], image, initializers=[helper.make_tensor("s", F, [4], [1, 1, float(value), 1])], opset=9)
        yield f"sizes_{value}", model([node("Resize", ["x", "", "", "n"])], image, initializers=[tensor("n", [1, 4, value, value])])
        yield f"blackman_{value}", model([node("BlackmanWindow", ["n"])], [], initializers=[tensor("n", [value], I, [])])
        yield f"bernoulli_{value}", model([node("RandomUniformLike", dtype=value % (1 << 31))])


def microsoft_kinds():
    """Operators of com.microsoft with numbers that do not fit."""
    def ms(op, inputs, **attributes):
        return helper.make_node(op, inputs, ["y"], domain="com.microsoft", **attributes)

    x = info("x", (1, 4, 8))
    for value in (0, -1, 3, 1 << 31, HUGE, LEAST):
        yield f"ms_attention_{value}", model([ms("Attention", ["x", "w", "b"], num_heads=value)], [x], initializers=[w("w", (8, 24)), w("b", (24,))])
        yield f"ms_multi_head_{value}", model([ms("MultiHeadAttention", ["x", "x", "x"], num_heads=value)], [x])
        yield f"ms_grouped_{value}", model([ms("GroupQueryAttention", ["x", "x", "x", "", "", "l", "t"], num_heads=value, kv_num_heads=value)], [x],
                                           initializers=[tensor("l", [3], TensorProto.INT32), tensor("t", [4], TensorProto.INT32, [])])
        for name in ("K", "N", "bits", "block_size"):
            yield f"ms_bits_{name}_{value}", model([ms("MatMulNBits", ["x", "q", "s"], **dict(dict(K=8, N=4, bits=4, block_size=16), **{name: value}))], [x],
                                                   initializers=[w("q", (4, 1, 8), U8), w("s", (4,))])
        yield f"ms_rotary_{value}", model([ms("RotaryEmbedding", ["x", "p", "c", "c"], num_heads=value, rotary_embedding_dim=value)], [x],
                                          initializers=[tensor("p", [0, 1, 2, 3], I, [1, 4]), w("c", (9, 4))])
        yield f"ms_fused_conv_{value}", model([ms("FusedConv", ["i", "f"], group=value, activation="Evil", activation_params=[float("nan")])],
                                              [info("i", IMAGE)], initializers=[w("f", FILTER)])
        yield f"ms_skip_{value}", model([ms("SkipLayerNormalization", ["x", "x", "g"], epsilon=float(value))], [x], initializers=[w("g", (8,))])
        yield f"ms_gather_block_{value}", model([ms("GatherBlockQuantized", ["q", "i", "s"], block_size=value, gather_axis=value, quantize_axis=value)], [],
                                                initializers=[w("q", (4, 16), U8), tensor("i", [9]), w("s", (4, 1))])


def control_kinds():
    """Loops that never end or are nested, bodies whose values do not fit, scans with wrong counts."""
    truth = helper.make_tensor("t", B, [], [True])
    forever = graph([node("Identity", ["c1"], ["c2"]), node("Relu", ["x1"], ["x2"])],
                      [info("i", (), I), info("c1", (), B), info("x1", (2,))], [info("c2", (), B), info("x2", (2,))])
    for times in (1 << 20, 1 << 40, HUGE):
        yield f"loop_of_constants_{times}", model([node("Loop", ["n", "t", "x"], ["y"], body=forever)], [],
                                                  initializers=[tensor("n", [times], I, []), truth, w("x", (2,))])
        scanned = graph([node("Identity", ["c1"], ["c2"]), node("Relu", ["x1"], ["x2"]), node("Relu", ["x1"], ["s"])],
                          [info("i", (), I), info("c1", (), B), info("x1", (2,))], [info("c2", (), B), info("x2", (2,)), info("s", (2,))])
        yield f"loop_scans_{times}", model([node("Loop", ["n", "t", "x"], ["v", "y"], body=scanned)], [],
                                           initializers=[tensor("n", [times], I, []), truth, w("x", (2,))])
        grows = graph([node("Identity", ["c1"], ["c2"]), node("Concat", ["x1", "x1"], ["x2"], axis=0)],
                        [info("i", (), I), info("c1", (), B), info("x1", None)], [info("c2", (), B), info("x2", None)])
        yield f"loop_doubles_{times}", model([node("Loop", ["n", "t", "x"], ["y"], body=grows)], [],
                                             initializers=[tensor("n", [times], I, []), truth, w("x", (2,))])
        inner = helper.make_node("Loop", ["n", "t", "x1"], ["x2"], body=graph(
            [node("Identity", ["d1"], ["d2"]), node("Tanh", ["z1"], ["z2"])], [info("j", (), I), info("d1", (), B), info("z1", (2,))],
            [info("d2", (), B), info("z2", (2,))]))
        outer = graph([node("Identity", ["c1"], ["c2"]), inner], [info("i", (), I), info("c1", (), B), info("x1", (2,))],
                        [info("c2", (), B), info("x2", (2,))])
        yield f"loop_in_loop_{times}", model([node("Loop", ["n", "t", "x"], ["y"], body=outer)], [],
                                             initializers=[tensor("n", [times], I, []), truth, w("x", (2,))])
    yield "loop_without_end", model([node("Loop", ["", "t", "x"], ["y"], body=forever)], [], initializers=[truth, w("x", (2,))])
    yield "loop_without_limits", model([node("Loop", ["", "", "x"], ["y"], body=forever)], [info("x", (2,))])
    yield "loop_reads_itself", model([node("Loop", ["n", "t", "y"], ["y"], body=forever)], [], initializers=[tensor("n", [3], I, []), truth])
    step = graph([node("Add", ["a", "b"], ["c"])], [info("a", (2,)), info("b", (2,))], [info("c", (2,))])
    for count in (0, -1, 1, 2, 3, HUGE, LEAST):
        yield f"scan_{count}", model([node("Scan", ["s", "x"], ["y"], body=step, num_scan_inputs=count)], [info("s", (2,)), info("x", (5, 2))])
        for name in ("scan_input_axes", "scan_output_axes", "scan_input_directions"):
            yield f"scan_{name}_{count}", model([node("Scan", ["s", "x"], ["y"], body=step, num_scan_inputs=1, **{name: [count]})],
                                                [info("s", (2,)), info("x", (5, 2))])
    for name, outs in (("none", []), ("two", ["u", "v"]), ("missing", ["q"])):
        side = graph([node("Identity", ["x"], ["u"]), node("Identity", ["x"], ["v"])], [], [info(out, None) for out in outs])
        yield f"if_outputs_{name}", model([node("If", ["c"], then_branch=side, else_branch=side)], [info("x"), info("c", (), B)])
    one = graph([node("Identity", ["x"], ["u"])], [], [info("u", None)])
    other = graph([node("Cast", ["x"], ["u"], to=I)], [], [info("u", None)])
    wide = graph([node("Concat", ["x", "x"], ["u"], axis=0)], [], [info("u", None)])
    yield "if_types_differ", model([node("If", ["c"], then_branch=one, else_branch=other)], [info("x"), info("c", (), B)])
    yield "if_shapes_differ", model([node("If", ["c"], then_branch=one, else_branch=wide)], [info("x"), info("c", (), B)])
    yield "if_on_a_vector", model([node("If", ["c"], then_branch=one, else_branch=one)], [info("x"), info("c", (3,), B)])
    with_inputs = graph([node("Identity", ["p"], ["u"])], [info("p")], [info("u", None)])
    yield "if_with_inputs", model([node("If", ["c"], then_branch=with_inputs, else_branch=one)], [info("x"), info("c", (), B)])


def name_kinds():
    """Names that are used twice, hide each other or are not there; inputs that are outputs."""
    yield "output_is_input", model([], [info("x")], [info("x")])
    yield "output_is_constant", model([], [], [info("w", None)], initializers=[w()])
    yield "node_writes_input", model([node("Relu", ["x"], ["x"])], outputs=[info("x", None)])
    yield "node_writes_constant", model([node("Relu", ["x"], ["w"]), node("Relu", ["w"])], initializers=[w()])
    yield "constant_is_input", model([node("Add", ["x", "w"])], [info("x", (3, 3)), info("w", (5, 5))], initializers=[w()])
    yield "constant_is_input_of_other_type", model([node("Add", ["x", "w"])], [info("x", (3, 3)), info("w", (3, 3), I)], initializers=[w()])
    hides = graph([node("Identity", ["x"], ["x"])], [], [info("x", None)])
    yield "body_hides_a_value", model([node("If", ["c"], then_branch=hides, else_branch=hides)], [info("x"), info("c", (), B)])
    yield "node_writes_twice", model([node("Split", ["x"], ["y", "y"], axis=0)], opset=13)
    yield "no_output_names", model([node("Relu", ["x"], []), node("Relu")])
    yield "too_many_outputs", model([node("Relu", ["x"], ["y", "z", "u"])])
    yield "second_output_only", model([node("MaxPool", ["x"], ["", "y"], kernel_shape=[2, 2])], [info("x", IMAGE)])
    for name in ("..", "/", "a/b", "a\nb", "\x1b[31m", "\u202e", "\U0001f600", "a" * 5000, "%s%n", "0", "main", "__proto__", "$(id)", "';--", "\x7f", " "):
        yield f"named_{name[:8]}", model([node("Relu", [name], [name + "'"])], [info(name)], [info(name + "'", None)])
    for dim in ("", "0", "-1", "9" * 40, "N+", "(" * 5000, "N-N", "2*N-2*N", "N/0", "N%0", "max(N,", "N" * 100000, "\x00", "N N", "1e9", "N*1099511627776*1099511627776"):
        yield f"sized_{dim[:9]}", model([node("Add", ["x", "z"])], [info("x", (dim, 3)), info("z", ("M", 3))])


def external_kinds():
    """Files of weights that are elsewhere, overlap, have strange names, or are named in bodies and attributes."""
    def weight(name="w", **keys):
        out = TensorProto(name=name, data_type=F, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in keys.items():
            out.external_data.add(key=key, value=str(value))
        return out

    for location in ("up/secret.bin", "./../secret.bin", "a/../../secret.bin", "..", "../", "//etc/passwd", "/proc/self/mem", "/dev/stdin", "/dev/zero",
                     "file:///etc/passwd", "..%2fsecret.bin", "..\\secret.bin", "short.bin/", "short.bin/../../secret.bin", "./short.bin", "~/.profile",
                     "$HOME/x", "|id", "short.bin\n", " short.bin", "SHORT.BIN", "a", "a/", ".", "./", "link.bin", "up", "\u2025/secret.bin", "x" * 300):
        yield f"located_{location[:30]}", model([node("Add", ["x", "w"])], [info("x", (2,))], initializers=[weight(location=location)])
    for name, keys in (("twice", dict(location="short.bin", offset="0", length="8")), ("odd_offset", dict(location="short.bin", offset="1", length="4")),
                       ("negative_length", dict(location="short.bin", length="-8")), ("hexadecimal", dict(location="short.bin", offset="0x0")),
                       ("spaces", dict(location="short.bin", offset=" 0 ")), ("plus", dict(location="short.bin", offset="+0")),
                       ("float", dict(location="short.bin", offset="0.0")), ("forty_digits", dict(location="short.bin", offset="9" * 40)),
                       ("empty_number", dict(location="short.bin", offset="")), ("no_location", dict(offset="0")), ("unknown_key", dict(location="short.bin", evil="1")),
                       ("checksum", dict(location="short.bin", checksum="00")), ("length_other", dict(location="short.bin", length="4"))):
        made = weight(**keys)
        if name == "twice":
            made.external_data.add(key="location", value="../secret.bin")
        yield f"external_{name}", model([node("Add", ["x", "w"])], [info("x", (2,))], initializers=[made])
    both = weight(location="short.bin")
    both.raw_data = bytes(8)
    yield "external_and_raw", model([node("Add", ["x", "w"])], [info("x", (2,))], initializers=[both])
    escape = weight(location="../secret.bin")
    yield "external_in_attribute", model([node("Constant", [], value=escape)], [])
    side = graph([node("Identity", ["w"], ["u"])], [], [info("u", None)])
    side.initializer.append(escape)
    yield "external_in_body", model([node("If", ["c"], then_branch=side, else_branch=side)], [info("c", (), B)])
    sparse = helper.make_sparse_tensor(w("w", (2,)), tensor("i", [0, 1]), [4])
    sparse.values.CopyFrom(escape)
    held = model([node("Relu", ["w"])], [])
    held.graph.sparse_initializer.append(sparse)
    yield "external_in_sparse", held
    for dtype in (7, 8, 9, 10, 14, 16, 17, 21, 22, 23):
        made = weight(location="short.bin")
        made.data_type = dtype
        yield f"external_type_{dtype}", model([node("Identity", ["w"])], [], initializers=[made])
        large = TensorProto(name="w", data_type=dtype, dims=[1 << 61], data_location=TensorProto.EXTERNAL)
        large.external_data.add(key="location", value="short.bin")
        yield f"external_large_{dtype}", model([node("Identity", ["w"])], [], initializers=[large])


def op_kinds():
    for family in (zero_kinds, window_kinds, microsoft_kinds, control_kinds, name_kinds, external_kinds):
        yield from family()
