# SPDX-License-Identifier: Apache-2.0
"""Hostile models by part of the file: constants, functions, operator sets, names, bodies, sparse tensors, declared values."""
import onnx
from onnx import AttributeProto, TensorProto, helper

from hostile_shapes import B, F, HUGE, I, LEAST, S, U8, field, graph, info, model, node, scalar, tensor


def raw(name="w", dims=(2, 3), data=bytes(24), dtype=F, **more):
    return TensorProto(name=name, data_type=dtype, dims=list(dims), raw_data=data, **more)


def outside(name="w", dims=(2, 3), dtype=F, **keys):
    out = TensorProto(name=name, data_type=dtype, dims=list(dims), data_location=TensorProto.EXTERNAL)
    for key, value in keys.items():
        out.external_data.add(key=key, value=str(value))
    return out


def constant_kinds():
    """Tensors in attributes whose data, dims, types or places do not fit."""
    wrong = {"short": raw(data=bytes(20)), "long": raw(data=bytes(28)), "none": TensorProto(data_type=F, dims=[2, 3]), "no_type": raw(dtype=0),
             "negative": raw(dims=(-2, -3)), "wraps_to_six": raw(dims=(1 << 32, 1 << 32, 6)), "wraps_to_zero": raw(dims=(1 << 63 - 1, 4), data=b""),
             "two_fields": raw(float_data=[1.0] * 6), "field_of_other_type": TensorProto(data_type=F, dims=[6], int64_data=[1] * 6),
             "bytes_odd": raw(data=bytes(23)), "zero_with_data": raw(dims=(0, 3)), "half_of_two": TensorProto(data_type=10, dims=[2], int32_data=[1 << 20] * 2),
             "byte_of_300": TensorProto(data_type=U8, dims=[2], int32_data=[300, -300]), "bool_of_7": TensorProto(data_type=B, dims=[2], int32_data=[7, -7]),
             "four_bits_short": raw(dims=(5,), data=bytes(2), dtype=22), "complex": raw(dims=(3,), dtype=14), "text": helper.make_tensor("w", S, [2], [b"\xff", b""]),
             "place_unknown": raw(), "outside_nothing": outside(), "outside_beyond": outside(location="short.bin", offset=8, length=24),
             "outside_parent": outside(location="../secret.bin"), "outside_folder": outside(location="a"), "outside_nul": outside(location="short.bin\x00.."),
             "outside_least": outside(location="short.bin", offset=LEAST), "outside_empty": outside(dims=(0,), location="missing.bin"),
             "outside_fifo": outside(location="fifo"), "outside_device": outside(location="zero", length=1 << 40)}
    wrong["place_unknown"].data_location = 0
    lies = wrong["place_unknown"].SerializeToString() + b"\x70\x63"         # data_location: 99
    for name, value in wrong.items():
        yield f"attribute_{name}", model([node("Constant", [], ["c"], value=value), node("Add", ["x", "c"])])
        yield f"fill_{name}", model([node("ConstantOfShape", ["n"], value=value)], [], initializers=[tensor("n", [2, 2])])
        body = graph([node("Constant", [], ["u"], value=value)], [], [info("u", None)])
        yield f"body_{name}", model([node("If", ["c"], then_branch=body, else_branch=body)], [info("c", (), B)])
        held = model([node("f", domain="own")])
        held.functions.append(helper.make_function("own", "f", ["a"], ["b"], [node("Constant", [], ["c"], value=value), node("Add", ["a", "c"], ["b"])],
                                                   [helper.make_opsetid("", 17)]))
        held.opset_import.append(helper.make_opsetid("own", 1))
        yield f"function_{name}", held
        shape = TensorProto()
        shape.CopyFrom(value)
        shape.name, shape.data_type = "n", I
        yield f"shape_{name}", model([node("Reshape", ["x", "n"])], initializers=[shape])
        listed = node("Constant", [], ["c"])
        listed.attribute.add(name="value", type=AttributeProto.TENSORS).tensors.append(value)
        yield f"listed_{name}", model([listed, node("Add", ["x", "c"])])
    place = TensorProto()
    place.ParseFromString(lies)
    yield "place_99", model([node("Add", ["x", "w"])], initializers=[place])
    for key, value in (("value_float", [1.0]), ("value_int", "a"), ("value_ints", []), ("value_floats", [float("nan")]), ("value_string", "\x00"), ("value_strings", ["a"])):
        yield f"constant_{key}", model([node("Constant", [], **{key: value})], [])
    both = node("Constant", [], value_int=1, value_float=1.0)
    yield "constant_of_two", model([both], [])
    yield "constant_of_nothing", model([node("Constant", [])], [])
    yield "constant_with_input", model([node("Constant", ["x"], value_int=1)])


def function_kinds():
    """Functions that call themselves through bodies, and whose heads do not fit their calls."""
    def own(name, nodes, inputs=("a",), outputs=("b",), opsets=(("", 17), ("own", 1)), attributes=(), **more):
        return helper.make_function("own", name, list(inputs), list(outputs), nodes, [helper.make_opsetid(*o) for o in opsets], list(attributes), **more)

    def with_own(*functions, calls=None, opsets=(("own", 1),)):
        out = model(calls or [node("f", domain="own")])
        out.functions.extend(functions)
        out.opset_import.extend(helper.make_opsetid(*o) for o in opsets)
        return out

    def call(name="f", inputs=("a",), outputs=("b",), **more):
        return node(name, inputs, outputs, domain="own", **more)

    inner = graph([call(outputs=["u"])], [], [info("u", None)])
    yes = node("Constant", [], ["c"], value=helper.make_tensor("c", B, [], [True]))
    yield "recursion_by_if", with_own(own("f", [yes, node("If", ["c"], ["b"], then_branch=inner, else_branch=inner)]))
    repeated = graph([node("Identity", ["d1"], ["d2"]), call(inputs=["s1"], outputs=["s2"])], [info("i", (), I), info("d1", (), B), info("s1", None)],
                     [info("d2", (), B), info("s2", None)])
    yield "recursion_by_loop", with_own(own("f", [node("Loop", ["", "", "a"], ["b"], body=repeated)]))
    scanned = graph([call(inputs=["e"], outputs=["r"])], [info("e", None)], [info("r", None)])
    yield "recursion_by_scan", with_own(own("f", [node("Scan", ["a"], ["b"], body=scanned, num_scan_inputs=1)]))
    for size in (3, 50, 2000):
        yield f"recursion_of_{size}", with_own(*[own(f"f{k}", [call(f"f{(k + 1) % size}")]) for k in range(size)], calls=[node("f0", domain="own")])
    yield "recursion_by_second_name", with_own(own("f", [call("g")]), own("g", [call("f")]), own("f", [node("Relu", ["a"], ["b"])]))
    sides = graph([call("g", outputs=["u"]), call("g", ["u"], ["v"])], [], [info("v", None)])
    for depth in (12, 40):
        laughs = [own(f"g{k}" if k else "f", [yes, node("If", ["c"], ["b"], then_branch=graph([call(f"g{k + 1}", outputs=["u"])], [], [info("u", None)]),
                                                       else_branch=graph([call(f"g{k + 1}", outputs=["u"])], [], [info("u", None)]))]) for k in range(depth)]
        yield f"functions_doubled_by_if_{depth}", with_own(*laughs, own(f"g{depth}", [node("Relu", ["a"], ["b"])]))
    yield "function_calls_nothing", with_own(own("f", [yes, node("If", ["c"], ["b"], then_branch=sides, else_branch=sides)]))
    yield "function_of_many_inputs", with_own(own("f", [node("Relu", ["a0"], ["b"])], [f"a{k}" for k in range(20000)]))
    yield "function_of_many_outputs", with_own(own("f", [node("Relu", ["a"], [f"b{k}"]) for k in range(3000)], outputs=[f"b{k}" for k in range(3000)]))
    yield "call_of_too_many", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[node("f", ["x", "x"], domain="own")])
    yield "call_of_none", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[node("f", [], domain="own")])
    yield "call_left_out", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[node("f", [""], domain="own")])
    yield "call_of_too_many_outputs", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[node("f", ["x"], ["y", "z"], domain="own")])
    yield "call_in_other_domain", with_own(own("f", [node("Relu", ["a"], ["b"])]), calls=[node("f", domain="other")])
    for version in (0, -1, 2, 1 << 31, HUGE, LEAST):
        yield f"function_opset_{version}", with_own(own("f", [node("Relu", ["a"], ["b"])], opsets=(("", version),)))
        yield f"own_opset_{version}", with_own(own("f", [node("Relu", ["a"], ["b"])]), opsets=(("own", version),))
    yield "function_without_opsets", with_own(own("f", [node("Relu", ["a"], ["b"])], opsets=()))
    yield "function_without_own_opset", with_own(own("f", [node("Relu", ["a"], ["b"])]), opsets=())
    yield "function_output_twice", with_own(own("f", [node("Relu", ["a"], ["b"])], outputs=("b", "b")))
    yield "function_writes_its_input", with_own(own("f", [node("Relu", ["a"], ["a"])], outputs=("a",)))
    yield "function_cycle", with_own(own("f", [node("Add", ["a", "d"], ["b"]), node("Relu", ["b"], ["d"])]))
    for name in ("", "\x00", "f\x00g", "a/b", "%s", "x" * 100000):
        yield f"function_named_{name[:4]!r}", with_own(own(name, [node("Relu", ["a"], ["b"])]), calls=[node(name, domain="own")])
    nested = node("Softmax", ["a"], ["u"])
    nested.attribute.add(name="axis", ref_attr_name="n", type=AttributeProto.INT)
    side = graph([nested], [], [info("u", None)])
    for value in (HUGE, -9, "text", [1, 2], 1.5, helper.make_tensor("t", I, [1], [1])):
        yield f"function_attribute_{str(value)[:9]}", with_own(own("f", [yes, node("If", ["c"], ["b"], then_branch=side, else_branch=side)], attributes=["n"]),
                                                               calls=[node("f", domain="own", n=value)])
    twice = own("f", [node("Relu", ["a"], ["b"])], attributes=["n"])
    twice.MergeFromString(field(11, helper.make_attribute("n", "text").SerializeToString()))   # attribute_proto
    yield "function_attribute_default_and_given", with_own(twice, calls=[node("f", domain="own", n=3)])
    renamed = node("Softmax", ["a"], ["b"])
    renamed.attribute.add(name="axis", ref_attr_name="axis", type=AttributeProto.GRAPH)
    yield "function_attribute_of_other_kind", with_own(own("f", [renamed], attributes=["axis"]), calls=[node("f", domain="own", axis=1)])


def opset_kinds():
    """Numbers of operator sets and of the format that no library has, and operators at numbers that lack them."""
    for version in (-1, LEAST, 1 << 31, (1 << 32) + 17, 1, 2, 5, 999):
        for op in ("Relu", "Softmax", "Upsample", "Reshape", "BatchNormalization", "Gelu", "ReduceSum", "Clip", "Dropout", "Pad", "Cast"):
            yield f"{op}_opset_{version}", model([node(op)], opset=version)
    for domain in ("ai.onnx", "ai.onnx.ml", "com.microsoft", "AI.ONNX", "", "\x00", "com.microsoft\x00", "x" * 100000, "com.microsoft.nchwc", "org.pytorch.aten"):
        for version in (1, 0, HUGE, LEAST):
            twice = model([node("Relu")])
            twice.opset_import.append(helper.make_opsetid(domain, version))
            yield f"second_opset_{domain[:20]}_{version}", twice
            other = model([node("Relu", domain=domain)])
            yield f"op_of_{domain[:20]}_{version}", other
    for version in (0, -1, 1, 99, HUGE, LEAST):
        written = model([node("Relu")])
        written.ir_version = version
        yield f"ir_version_{version}", written
        old = model([node("Add", ["x", "w"])], initializers=[raw()])
        old.ir_version = version
        yield f"ir_version_{version}_with_constant", old
    trained = model([node("Relu")])
    trained.training_info.add().algorithm.CopyFrom(model([node("Relu", ["y"], ["x"])]).graph)
    yield "training", trained
    described = model([node("Relu")])
    for name in ("SCALE_TENSOR", "ZERO_POINT_TENSOR", "\x00"):
        note = described.graph.quantization_annotation.add(tensor_name="nowhere")
        note.quant_parameter_tensor_names.add(key=name, value="y")
    yield "quantization_of_nothing", described


def name_kinds():
    """Zero bytes, line breaks and directions of text in each kind of name."""
    for label, bad in (("nul", "x\x00y"), ("only_nul", "\x00"), ("break", "x\r\ny"), ("escape", "\x1b]0;x\x07"), ("right_to_left", "x\u202ey"),
                       ("quote", "\"'`$(x)"), ("format", "%n%s%x"), ("long", "x" * 70000), ("surrogate", "\ufffe\uffff"), ("ir", "}\nfn main(%x: f32[2]) {")):
        yield f"input_{label}", model([node("Relu", [bad])], [info(bad)])
        yield f"output_{label}", model([node("Relu", ["x"], [bad])], outputs=[info(bad, None)])
        yield f"inner_{label}", model([node("Relu", ["x"], [bad]), node("Tanh", [bad])])
        yield f"constant_{label}", model([node("Add", ["x", bad])], initializers=[raw(bad)])
        yield f"op_{label}", model([node(bad)])
        yield f"domain_{label}", model([node("Relu", domain=bad)])
        yield f"node_{label}", model([helper.make_node("Conv", ["x"], ["y"], name=bad)])
        yield f"attribute_named_{label}", model([node("Softmax", **{bad: 1})])
        yield f"attribute_text_{label}", model([node("Pad", ["x", "n"], mode=bad)], initializers=[tensor("n", [0, 0, 0, 0])])
        yield f"size_{label}", model([node("Reshape", ["x", "n"])], [info("x", (bad, 3))], initializers=[tensor("n", [7, 5])])
        named = model([node("Relu", ["nowhere"])])
        named.graph.name = named.producer_name = named.domain = named.doc_string = bad
        named.metadata_props.add(key=bad, value=bad)
        yield f"graph_{label}", named
    yield "differ_after_nul", model([node("Relu", ["x\x00a"], ["y\x00a"]), node("Tanh", ["x\x00b"], ["y\x00b"])], [info("x\x00a"), info("x\x00b")],
                                    [info("y\x00a", None), info("y\x00b", None)])
    yield "differ_by_case", model([node("Relu", ["x"], ["Y"]), node("Tanh", ["X"], ["y"])], [info("x"), info("X")], [info("y", None), info("Y", None)])


def body_kinds():
    """Bodies whose outputs are missing, repeated, of other types, or are not theirs."""
    yes, three = helper.make_tensor("t", B, [], [True]), tensor("n", [3], I, [])
    heads = [info("i", (), I), info("d1", (), B), info("s1", (2,))]
    good = [node("Identity", ["d1"], ["d2"]), node("Relu", ["s1"], ["s2"])]
    truth, state = info("d2", (), B), info("s2", (2,))

    def loop(nodes, inputs, outputs, results=("y",), operands=("n", "t", "x"), initializers=(), rest=(three, yes)):
        body = graph(nodes, inputs, outputs)
        body.initializer.extend(initializers)
        return model([node("Loop", operands, results, body=body)], [info("x", (2,))], initializers=list(rest))

    yield "loop_outputs_none", loop(good, heads, [])
    yield "loop_outputs_only_condition", loop(good, heads, [truth])
    yield "loop_outputs_no_condition", loop(good, heads, [state])
    yield "loop_outputs_unknown", loop(good, heads, [truth, info("nowhere", (2,))])
    yield "loop_outputs_repeated", loop(good, heads, [truth, state, state, state], ("y", "z"))
    yield "loop_outputs_swapped", loop(good, heads, [state, truth])
    yield "loop_outputs_too_many", loop(good, heads, [truth, state, state])
    yield "loop_results_too_many", loop(good, heads, [truth, state], ("y", "z", "u"))
    yield "loop_results_none", loop(good, heads, [truth, state], ())
    yield "loop_inputs_none", loop(good, [], [truth, state])
    yield "loop_inputs_two", loop(good, heads[:2], [truth, state])
    yield "loop_inputs_too_many", loop(good, heads + [info("q", (2,))], [truth, state])
    yield "loop_inputs_repeated", loop(good, [heads[0], heads[1], heads[1]], [truth, truth])
    yield "loop_input_is_output", loop([], heads, [heads[1], heads[2]])
    yield "loop_output_is_outer", loop(good, heads, [truth, info("x", (2,))])
    yield "loop_output_is_constant", loop(good, heads, [truth, info("w", (2,))], initializers=[raw("w", (2,), bytes(8))])
    yield "loop_condition_of_floats", loop([node("Relu", ["s1"], ["s2"]), node("Cast", ["d1"], ["d2"], to=F)], heads, [info("d2", (), F), state])
    yield "loop_condition_of_two", loop([node("Relu", ["s1"], ["s2"]), node("Cast", ["s1"], ["d2"], to=B)], heads, [info("d2", (2,), B), state])
    yield "loop_state_of_other_type", loop([good[0], node("Cast", ["s1"], ["s2"], to=I)], heads, [truth, info("s2", (2,), I)])
    yield "loop_state_of_other_rank", loop([good[0], node("Unsqueeze", ["s1", "a"], ["s2"])], heads, [truth, info("s2", None)],
                                           initializers=[tensor("a", [0])])
    yield "loop_state_grows", loop([good[0], node("Concat", ["s1", "s1"], ["s2"], axis=0)], heads, [truth, info("s2", None)])
    yield "loop_cycle", loop([good[0], node("Add", ["s1", "s2"], ["s2"])], heads, [truth, state])
    yield "loop_hides_the_input", loop([good[0], node("Relu", ["x"], ["x"])], heads, [truth, info("x", (2,))])
    yield "loop_reads_later", model([node("Loop", ["n", "t", "x"], ["y"], body=graph([good[0], node("Add", ["s1", "later"], ["s2"])], heads, [truth, state])),
                                     node("Relu", ["x"], ["later"])], [info("x", (2,))], initializers=[three, yes])
    for name, times in (("of_floats", scalar("n", 3.0)), ("of_two", tensor("n", [3, 3])), ("of_none", tensor("n", [])), ("of_int32", tensor("n", [3], 6, [])),
                        ("of_text", helper.make_tensor("n", S, [], [b"3"])), ("of_rank_3", tensor("n", [3], I, [1, 1, 1]))):
        yield f"loop_times_{name}", loop(good, heads, [truth, state], rest=(times, yes))
    yield "loop_operands_one", loop(good, heads, [truth, state], operands=("n",))
    yield "loop_operands_none", loop(good, heads, [truth, state], operands=())
    yield "loop_state_left_out", loop(good, heads, [truth, state], operands=("n", "t", ""))
    side = graph([node("Relu", ["x"], ["u"])], [], [info("u", None)])
    for name, other in (("empty", graph([], [], [])), ("unknown", graph([], [], [info("nowhere", None)])), ("unnamed", graph([node("Relu")], [], [info("", None)])),
                        ("two", graph([node("Relu", ["x"], ["u"])], [], [info("u", None)] * 2)), ("outer", graph([], [], [info("x", None)])),
                        ("cycle", graph([node("Add", ["x", "u"], ["u"])], [], [info("u", None)])),
                        ("other_rank", graph([node("ReduceSum", ["x"], ["u"], keepdims=0)], [], [info("u", None)])),
                        ("list", graph([node("SequenceConstruct", ["x"], ["u"])], [], [info("u", None)])),
                        ("text", graph([node("Cast", ["x"], ["u"], to=S)], [], [info("u", None)])),
                        ("optional", graph([node("Optional", ["x"], ["u"])], [], [info("u", None)])),
                        ("own_result", graph([node("Relu", ["y"], ["u"])], [], [info("u", None)]))):
        for first, second in ((side, other), (other, side), (other, other)):
            yield f"if_{name}_{first is side:d}{second is side:d}", model([node("If", ["c"], then_branch=first, else_branch=second)], [info("x"), info("c", (), B)])
    step = [node("Add", ["a", "b"], ["c"])]
    ins, out = [info("a", (2,)), info("b", (2,))], info("c", (2,))
    for name, nodes, inputs, outputs in (("none", step, ins, []), ("unknown", step, ins, [info("q", (2,))]), ("three", step, ins, [out] * 3), ("no_inputs", step, [], [out]),
                                         ("one_input", step, ins[:1], [out]), ("passes", [], ins, ins), ("other_type", [node("Cast", ["a"], ["c"], to=I)], ins, [info("c", None, I)])):
        for count in (1, 2):
            yield f"scan_outputs_{name}_{count}", model([node("Scan", ["s", "x"], ["y"], body=graph(nodes, inputs, outputs), num_scan_inputs=count)],
                                                        [info("s", (2,)), info("x", (5, 2))])
    yield "scan_lengths_differ", model([node("Scan", ["s", "x"], ["y"], body=graph(step, ins, [out]), num_scan_inputs=2)], [info("s", (3, 2)), info("x", (5, 2))])
    for op in ("SequenceMap", "SequenceAt", "SequenceInsert", "SequenceErase", "SplitToSequence", "ConcatFromSequence", "OptionalGetElement", "SequenceLength"):
        yield f"list_{op}", model([node(op, ["x", "x"][:1 + (op in ("SequenceAt", "SequenceInsert"))])])
        yield f"list_made_{op}", model([node("SequenceConstruct", ["x", "x"], ["l"]), node(op, ["l", "x"][:1 + (op == "SequenceInsert")])])


def sparse_kinds():
    """Sparse tensors whose parts are of wrong types, ranks or counts, or have the names of others."""
    def sparse(values, indices, dims):
        out = onnx.SparseTensorProto(dims=dims)
        if values is not None:
            out.values.CopyFrom(values)
        if indices is not None:
            out.indices.CopyFrom(indices)
        return out

    two, at = helper.make_tensor("w", F, [2], [1.0, 2.0]), tensor("i", [0, 1])
    for name, made in (("no_values", sparse(None, at, [6])), ("no_indices", sparse(two, None, [6])), ("float_indices", sparse(two, raw("i", (2,), bytes(8)), [6])),
                       ("indices_rank_3", sparse(two, tensor("i", [0, 1], I, [2, 1, 1]), [6])), ("values_rank_2", sparse(helper.make_tensor("w", F, [1, 2], [1, 2]), at, [6])),
                       ("text", sparse(helper.make_tensor("w", S, [2], [b"a", b"b"]), at, [6])), ("negative_dim", sparse(two, at, [-6])), ("no_dims", sparse(two, at, [])),
                       ("wraps", sparse(two, at, [1 << 32, 1 << 32, 6])), ("short_values", sparse(raw("w", (2,), bytes(4)), at, [6])),
                       ("values_outside", sparse(outside("w", (2,), location="../secret.bin"), at, [6])), ("indices_outside", sparse(two, outside("i", (2,), I, location="../secret.bin"), [6])),
                       ("wrapping_indices", sparse(two, tensor("i", [LEAST, HUGE]), [6])), ("indices_huge_count", sparse(two, raw("i", (HUGE,), bytes(16), I), [6])),
                       ("four_bits", sparse(raw("w", (2,), bytes(1), 22), at, [6])), ("rank_100", sparse(two, tensor("i", [0] * 200, I, [2, 100]), [2] * 100))):
        held = model([node("Add", ["w", "w"])], [])
        held.graph.sparse_initializer.append(made)
        yield f"sparse_{name}", held
        yield f"sparse_constant_{name}", model([node("Constant", [], sparse_value=made)], [])
    same = model([node("Add", ["x", "w"])], initializers=[raw()])
    same.graph.sparse_initializer.append(sparse(two, at, [3]))
    yield "sparse_and_dense", same


def declared_kinds():
    """Declared types that contradict the values, and types that no tensor has."""
    for name, declared in (("rank", info("v", (2, 3, 1))), ("size", info("v", (9, 9))), ("type", info("v", (2, 3), I)), ("negative", info("v", (-2, 3))),
                           ("huge", info("v", (HUGE, HUGE))), ("list", helper.make_tensor_sequence_value_info("v", F, [2])), ("open", info("v", ("N", "N"))),
                           ("nothing", onnx.ValueInfoProto(name="v")), ("text", info("v", (2, 3), S)), ("type_99", info("v", (2, 3), 99))):
        made = model([node("Relu", ["x"], ["v"]), node("Tanh", ["v"])])
        made.graph.value_info.append(declared)
        yield f"declared_{name}", made
        last = onnx.ValueInfoProto()
        last.CopyFrom(declared)
        last.name = "y"
        yield f"declared_output_{name}", model([node("Relu")], outputs=[last])
        twice = model([node("Relu", ["x"], ["v"]), node("Tanh", ["v"])])
        twice.graph.value_info.extend([info("v"), declared])
        yield f"declared_twice_{name}", twice
    deep = onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor(elem_type=F))
    for depth in range(1, 61):
        outer = onnx.TypeProto()
        (outer.sequence_type if depth % 2 else outer.optional_type).elem_type.CopyFrom(deep)
        deep = outer
        if depth in (1, 2, 60):
            made = model([node("Identity")])
            made.graph.input[0].type.CopyFrom(deep)
            yield f"type_of_depth_{depth}", made
    mapped = model([node("Identity")])
    mapped.graph.input[0].type.map_type.key_type = I
    yield "type_map", mapped
    many = model([node("Relu")])
    many.graph.value_info.extend(info(f"v{k}") for k in range(50000))
    yield "declared_50000", many


def form_kinds():
    for family in (constant_kinds, function_kinds, opset_kinds, name_kinds, body_kinds, sparse_kinds, declared_kinds):
        yield from family()
