# SPDX-License-Identifier: Apache-2.0
"""Hostile models by scope: names that bodies, functions and graphs share or steal, types that few tensors have, files that are no models."""
import onnx
from onnx import AttributeProto, TensorProto, helper

from hostile_shapes import B, F, HUGE, I, LEAST, S, U8, field, graph, info, model, node, scalar, tensor, varint

YES = helper.make_tensor("yes", B, [], [True])


def own(name, nodes, inputs=("a",), outputs=("b",), attributes=(), **more):
    return helper.make_function("own", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
                                list(attributes), **more)


def with_own(*functions, calls=None, **more):
    out = model(calls or [node("f", domain="own")], **more)
    out.functions.extend(functions)
    out.opset_import.append(helper.make_opsetid("own", 1))
    return out


def choice(first, second=None, inputs=("c",), outputs=("y",)):
    return node("If", inputs, outputs, then_branch=first, else_branch=second or first)


def side(*nodes, out="u", initializers=()):
    made = graph(list(nodes), [], [info(out, None)])
    made.initializer.extend(initializers)
    return made


def scope_kinds():
    """Values that are read where they are not, and names that mean something else in each scope."""
    ins = [info("x"), info("c", (), B)]
    one = side(node("Relu", ["x"], ["t"]), node("Tanh", ["t"], ["u"]))
    yield "scope_reads_the_other_branch", model([choice(one, side(node("Tanh", ["t"], ["u"])))], ins)
    yield "scope_outer_reads_a_branch", model([choice(one), node("Add", ["y", "t"], ["z"])], ins, [info("z", None)])
    yield "scope_next_if_reads_a_branch", model([choice(one, outputs=["v"]), choice(side(node("Add", ["t", "v"], ["u"])))], ins)
    deep = leaf = side(node("Relu", ["x"], ["u"]))
    for k in range(30):                                                     # each level reads the level above, and hides it
        deep = side(node("Relu", [f"v{k + 1}"], [f"v{k}"]), choice(deep, leaf, outputs=["u"]))
    yield "scope_levels_read_upwards", model([choice(deep, leaf)], ins)
    yield "scope_levels_with_values", model([node("Relu", ["x"], ["v30"]), choice(deep, leaf)], ins)
    yield "scope_constant_hides_input", model([choice(side(node("Relu", ["x"], ["u"]), initializers=[tensor("x", [1, 2])]))], ins)
    yield "scope_constant_hides_constant", model([choice(side(node("Add", ["w", "w"], ["u"]), initializers=[tensor("w", [1, 2])]))], ins, initializers=[scalar("w", 1.0)])
    yield "scope_constant_twice_in_body", model([choice(side(node("Relu", ["w"], ["u"]), initializers=[scalar("w", 1.0), tensor("w", [1, 2])]))], ins)
    yield "scope_condition_is_own_result", model([choice(one, inputs=["y"])], ins)
    yield "scope_two_ifs_in_a_circle", model([choice(side(node("Relu", ["z"], ["u"]))), choice(side(node("Relu", ["y"], ["u"])), outputs=["z"])], ins)
    yield "scope_body_output_is_graph_input", model([choice(graph([], [], [info("x", None)]))], ins)
    yield "scope_body_output_is_condition", model([choice(graph([], [], [info("c", None)]))], ins)
    heads, ends = [info("i", (), I), info("d", (), B), info("s", (2, 3))], [info("d", (), B), info("r", (2, 3))]
    yield "scope_loop_reads_outer_loop", model([node("Loop", ["n", "yes", "x"], body=graph([node("Loop", ["n", "yes", "s"], ["r"], body=graph(
        [node("Add", ["s", "p"], ["q"])], [info("j", (), I), info("e", (), B), info("p", (2, 3))], [info("e", (), B), info("q", (2, 3))]))], heads, ends))],
        initializers=[tensor("n", [3], I, []), YES])
    yield "scope_loop_counter_is_outer_name", model([node("Loop", ["n", "yes", "x"], body=graph([node("Cast", ["x"], ["f"], to=F), node("Add", ["s", "f"], ["r"])],
                                                                                             [info("x", (), I), *heads[1:]], ends))], initializers=[tensor("n", [3], I, []), YES])
    yield "scope_loop_states_share_a_name", model([node("Loop", ["n", "yes", "x", "x"], ["y", "z"], body=graph([node("Relu", ["s"], ["r"])], [*heads, heads[2]], [*ends, ends[1]]))],
                                                 initializers=[tensor("n", [3], I, []), YES])
    yield "scope_loop_of_loops_of_ifs", model([node("Loop", ["n", "yes", "x"], body=graph([choice(side(node("Add", ["s", "x"], ["u"])), inputs=["d"], outputs=["r"])], heads, ends))],
                                             initializers=[tensor("n", [3], I, []), YES])
    yield "scope_unused_constants_are_wrong", model([node("Relu")], initializers=[TensorProto(name="a", data_type=F, dims=[HUGE, HUGE]), TensorProto(name="b", data_type=99)])
    missing = TensorProto(name="w", data_type=F, dims=[2], data_location=TensorProto.EXTERNAL)
    missing.external_data.add(key="location", value="../secret.bin")
    yield "scope_unused_constant_outside", model([node("Relu")], initializers=[missing])
    yield "scope_outputs_without_names", model([node("Relu", ["x"], [""])], outputs=[info("", None)])
    yield "scope_empty_outputs_100000", model([node("Relu", ["x"], ["y"] + [""] * 100000)])
    yield "scope_split_without_names", model([node("Split", ["x"], ["", "y", ""], axis=1)], opset=13)
    yield "scope_split_of_nothing", model([node("Split", ["x"], [], axis=1), node("Relu")], opset=13)
    for names in (("a.b", "a_b"), ("%0", "0"), ("x:0", "x/0"), ("main", "main_0"), ("A", "a"), ("e\u0301", "\u00e9")):
        yield f"scope_alike_{names[0]}_{names[1]}", model([node("Relu", [names[0]], ["p"]), node("Tanh", [names[1]], ["q"]), node("Add", ["p", "q"])], [info(name) for name in names])
    same = model([helper.make_node("Relu", ["x"], ["v"], name="n"), helper.make_node("Conv", ["v"], ["y"], name="n")])
    yield "scope_nodes_of_one_name", same
    yield "scope_node_named_by_a_megabyte", model([helper.make_node("Conv", ["x"], ["y"], name="n" * (1 << 20))])
    many = node("Relu")
    many.attribute.extend(helper.make_attribute(f"a{k}", k) for k in range(20000))
    yield "scope_attributes_20000", model([many])


def call_kinds():
    """Functions with bodies as attributes, overloads, captured values, and one that is called very often."""
    reader = own("f", [node("Constant", [], ["c"], value=YES), choice(side(node("Add", ["a", "a"], ["u"])), outputs=["b"])])
    yield "call_body_reads_parameter", with_own(reader)
    yield "call_body_reads_caller", with_own(own("f", [node("Constant", [], ["c"], value=YES), choice(side(node("Add", ["a", "x"], ["u"])), outputs=["b"])]))
    given = node("If", ["a"], ["b"])
    for name in ("then_branch", "else_branch"):
        given.attribute.add(name=name, ref_attr_name="g", type=AttributeProto.GRAPH)
    by_attribute = own("f", [given], attributes=["g"])
    for label, value in (("graph", side(node("Relu", ["x"], ["u"]))), ("recursive", side(node("f", ["c"], ["u"], domain="own"))), ("text", "graph"), ("graphs", [side(node("Relu", ["x"], ["u"]))])):
        yield f"call_with_{label}_attribute", with_own(by_attribute, calls=[node("f", ["c"], domain="own", g=value)], inputs=[info("x"), info("c", (), B)])
    yield "call_without_graph_attribute", with_own(by_attribute, calls=[node("f", ["c"], domain="own")], inputs=[info("x"), info("c", (), B)])
    kept = own("f", [node("Relu", ["a"], ["b"])])
    kept.MergeFromString(field(13, b"second"))                              # FunctionProto.overload of later versions
    yield "call_overload_of_function", with_own(kept, own("f", [node("Tanh", ["a"], ["b"])]))
    overloaded = node("f", domain="own")
    overloaded.MergeFromString(field(8, b"second"))                         # NodeProto.overload
    yield "call_overload_of_node", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[overloaded])
    yield "call_20000_times", with_own(own("f", [node("Relu", ["a"], ["b"])]),
                                        calls=[node("f", [f"v{k}"], [f"v{k + 1}" if k + 1 < 20000 else "y"], domain="own") for k in range(20000)], inputs=[info("v0")])
    yield "call_attribute_names_100000", with_own(own("f", [node("Relu", ["a"], ["b"])], attributes=[f"n{k}" for k in range(100000)]))
    hidden = helper.make_function("com.microsoft", "Gelu", ["a"], ["b"], [node("Gelu", ["a"], ["b"], domain="com.microsoft")], [helper.make_opsetid("com.microsoft", 1)])
    stolen = model([node("Gelu", domain="com.microsoft")])
    stolen.functions.append(hidden)
    yield "call_hides_an_op_of_microsoft", stolen
    yield "call_gives_only_second", with_own(own("f", [node("Relu", ["a"], ["b"]), node("Tanh", ["a"], ["d"])], outputs=("b", "d")), calls=[node("f", ["x"], ["", "y"], domain="own")])
    yield "call_output_is_empty_name", with_own(own("f", [node("Relu", ["a"], [""])], outputs=("",)))
    yield "call_input_is_empty_name", with_own(own("f", [node("Relu", [""], ["b"])], inputs=("",)))
    shape = node("Constant", [], ["n"])
    shape.attribute.add(name="value_ints", ref_attr_name="dims", type=AttributeProto.INTS)
    for dims in ([HUGE, HUGE], [], [-1, -1], [LEAST]):
        yield f"call_with_dims_{len(dims)}_{sum(dims)}", with_own(own("f", [shape, node("Expand", ["a", "n"], ["b"])], attributes=["dims"]), calls=[node("f", domain="own", dims=dims)])


def type_kinds():
    """Types of newer formats, of sparse and optional values, and dims of two forms."""
    for dtype in (23, 24, 25, 26, 27, 31, 255, -1):
        yield f"type_input_{dtype}", model([node("Identity")], [info("x", (2, 3), F)])
        changed = model([node("Identity")])
        changed.graph.input[0].type.tensor_type.elem_type = dtype
        yield f"type_identity_{dtype}", changed
        cast = model([node("Cast", to=dtype)])
        yield f"type_cast_{dtype}", cast
        scaled = model([node("DequantizeLinear", ["w", "s"])], [], opset=21, initializers=[TensorProto(name="w", data_type=dtype, dims=[4], raw_data=bytes(2)), scalar("s", 1.0)])
        yield f"type_dequantise_{dtype}", scaled
    sparse = model([node("Identity")])
    sparse.graph.input[0].type.Clear()
    sparse.graph.input[0].type.sparse_tensor_type.elem_type = F
    yield "type_sparse_input", sparse
    opaque = model([node("Identity")])
    opaque.graph.input[0].type.Clear()
    opaque.graph.input[0].type.MergeFromString(field(7, field(1, b"evil") + field(2, b"thing")))
    yield "type_opaque_input", opaque
    both = model([node("Relu")], [info("x", ("N",))])
    both.graph.input[0].type.MergeFromString(field(1, b"\x08\x01" + field(2, field(1, b"\x08\x05" + field(2, b"N")))))
    yield "type_dim_of_both", both
    noted = model([node("Relu")])
    noted.graph.input[0].type.denotation = "\x00" * 1000
    for dim in noted.graph.input[0].type.tensor_type.shape.dim:
        dim.denotation = "DATA_BATCH\n}" * 1000
    yield "type_denotation", noted
    for rank in (9, 17, 33, 65, 129, 300):
        dims = [1] * (rank - 2) + [2, 3]
        line = info("x", dims)
        for op, attributes in (("Softmax", dict(axis=-2)), ("Transpose", {}), ("ReduceMax", dict(axes=[0])), ("Concat", dict(axis=-1)), ("Relu", {}), ("ArgMax", dict(axis=-1)), ("LogSoftmax", dict(axis=0)),
                               ("Split", dict(axis=-1)), ("Flatten", dict(axis=rank // 2)), ("Shape", {})):
            yield f"rank_{rank}_{op}", model([node(op, ["x", "x"] if op == "Concat" else ["x"], **attributes)], [line], opset=13)
        yield f"rank_{rank}_broadcast", model([node("Add", ["x", "z"])], [line, info("z", (3,))])
        yield f"rank_{rank}_product", model([node("MatMul", ["x", "z"])], [line, info("z", (3, 4))])
        yield f"rank_{rank}_slices", model([node("Slice", ["x", "s", "e", "a", "t"])], [line], initializers=[tensor("s", [0] * rank), tensor("e", [9] * rank), tensor("a", list(range(rank))), tensor("t", [1] * rank)])
        yield f"rank_{rank}_gather", model([node("Gather", ["x", "i"], axis=-1)], [line], initializers=[tensor("i", [1, 0])])
        yield f"rank_{rank}_pad", model([node("Pad", ["x", "n"])], [line], initializers=[tensor("n", [0] * (2 * rank - 1) + [1])])
        yield f"rank_{rank}_conv", model([node("Conv", ["x", "w"])], [info("x", [1, 3] + [1] * (rank - 2)), info("w", [4, 3] + [1] * (rank - 2))])
        yield f"rank_{rank}_pool", model([node("MaxPool", kernel_shape=[1] * (rank - 2))], [info("x", [1, 3] + [1] * (rank - 2))])
        yield f"rank_{rank}_expand", model([node("Expand", ["x", "n"])], [info("x", (3,))], initializers=[tensor("n", dims)])
        yield f"rank_{rank}_open", model([node("Add", ["x", "z"])], [info("x", [f"N{k}" for k in range(rank)]), info("z", (1,))])


def file_kinds():
    """Files of other formats, fields in other forms than protobuf's writers choose, and data that are the model itself."""
    relu = model([node("Relu")])
    good = relu.SerializeToString()
    yield "file_zip", b"PK\x03\x04" + bytes(1000)
    yield "file_gzip", b"\x1f\x8b\x08\x00" + bytes(1000)
    yield "file_text_of_protobuf", b"ir_version: 8\ngraph { node { op_type: \"Relu\" } }\n"
    yield "file_json", b"{\"irVersion\": \"8\"}"
    yield "file_elf", b"\x7fELF\x02\x01\x01" + bytes(1000)
    yield "file_artifact", b"BYOC\x00\x00\x00\x03" + bytes(1000)
    yield "file_of_ir", b"fn main(%x: f32[2]) {\n  return %x\n}\n"
    yield "file_ones", b"\xff" * 10000
    yield "file_graph_twice", good + good
    yield "file_graph_of_varint", b"\x38\x01" + good
    yield "file_opset_is_text", b"\x08\x08" + field(8, b"\x12\x0217") + field(7, relu.graph.SerializeToString())
    yield "file_dims_unpacked_and_packed", _with_weight(b"\x08\x02" + field(1, varint(3)) + b"\x10\x01" + field(8, b"w") + field(9, bytes(24)))
    yield "file_dims_packed_cut", _with_weight(field(1, b"\x82") + b"\x10\x01" + field(8, b"w") + field(9, bytes(8)))
    yield "file_floats_packed_odd", _with_weight(b"\x08\x02\x10\x01" + field(8, b"w") + field(4, bytes(7)))
    yield "file_name_given_thrice", _with_weight(field(8, b"a") + b"\x08\x03\x10\x01" + field(8, b"b") + field(9, bytes(12)) + field(8, b"w"))
    yield "file_segment", _with_weight(b"\x08\x03\x10\x01" + field(3, b"\x08\x05\x10\x01") + field(8, b"w") + field(9, bytes(12)))
    for location in ("file_own_data.onnx", "loop.bin", "a/../short.bin", "short.bin\x00"):
        weight = TensorProto(name="w", data_type=F, dims=[2], data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        yield "file_own_data" if location.startswith("file") else f"file_data_{location[:9]!r}", model([node("Add", ["x", "w"])], [info("x", (2,))], initializers=[weight])
    for op, attributes in (("EPContext", dict(ep_cache_context="../secret.bin", embed_mode=0, main_context=1)), ("EPContext", dict(ep_cache_context="\x00garbage", embed_mode=1, main_context=1)),
                           ("EPContext", dict(ep_cache_context=HUGE, embed_mode=7)), ("EPContext", dict(embed_mode=1, main_context=0)), ("QOrderedMatMul", {}), ("BeamSearch", {}), ("MoE", dict(k=HUGE)),
                           ("PagedAttention", {}), ("CropAndResize", {}), ("Inverse", {}), ("BiasGelu", {}), ("NGramRepeatBlock", dict(ngram_size=LEAST)), ("WordConvEmbedding", {})):
        yield f"file_op_{op}_{len(attributes)}_{str(next(iter(attributes.values()), ''))[:6]!r}", model([node(op, ["x", "x"], domain="com.microsoft", **attributes)])
    trees = dict(nodes_treeids=[0, 0], nodes_nodeids=[0, 1], nodes_featureids=[HUGE, LEAST], nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ"], nodes_values=[0.5, float("nan")],
                 nodes_truenodeids=[1, 0], nodes_falsenodeids=[0, 1], target_treeids=[0], target_nodeids=[9], target_ids=[LEAST], target_weights=[1.0], n_targets=HUGE)
    for op, attributes in (("TreeEnsembleRegressor", trees), ("TreeEnsembleClassifier", {}), ("Scaler", dict(offset=[1.0], scale=[0.0])), ("LabelEncoder", dict(keys_int64s=[1, 1])),
                           ("Normalizer", dict(norm="L9")), ("LinearRegressor", dict(targets=LEAST)), ("OneHotEncoder", dict(cats_int64s=[HUGE])), ("ZipMap", {}), ("SVMRegressor", {})):
        learned = model([node(op, domain="ai.onnx.ml", **attributes)])
        learned.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
        yield f"file_learned_{op}", learned
    for op in ("StringNormalizer", "TfIdfVectorizer", "RegexFullMatch", "StringSplit", "StringConcat"):
        yield f"file_text_op_{op}", model([node(op, ["x", "x"][:1 + (op == "StringConcat")])], [info("x", (2,), S)], opset=20)


def _with_weight(content):
    """The bytes of a model that adds x to a constant w, whose bytes are `content`."""
    made = model([node("Add", ["x", "w"])], [info("x", (2, 3))])
    rest = made.graph.SerializeToString()
    made.ClearField("graph")
    return made.SerializeToString() + field(7, rest + field(5, content))


def scope_forms():
    for family in (scope_kinds, call_kinds, type_kinds, file_kinds):
        yield from family()
