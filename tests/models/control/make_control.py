#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models with control flow, and what ONNX Runtime computes for them.

make_control.py [FOLDER]

Needs onnx and onnxruntime of the Python index; the files here were made with the versions in README.md. Every model is a
folder NAME/model.onnx with NAME/test_data_set_K/input_*.pb and output_*.pb: several data sets, so that both branches
and several numbers of iterations run.
"""
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 16, 8
F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype), name)


def graph(nodes, name, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def node(op, inputs, outputs, **attributes):
    operands = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, operands, outputs.split(), name=outputs.split()[0], **attributes)


def if_in_loop():
    """Newton's root of a, or halving where the step would be too large; ends when the change is small."""
    far = graph([node("Mul", "x half", "halved")], "far", [], [info("halved", F32, [4])], [constant("half", 0.5)])
    near = graph([node("Div", "a x", "ratio"), node("Add", "x ratio", "sum"), node("Div", "sum two", "newton")], "near", [],
                 [info("newton", F32, [4])], [constant("two", 2)])
    body = graph([node("ReduceMax", "x", "largest", keepdims=0), node("Greater", "largest limit", "is_far"),
                  node("If", "is_far", "next", then_branch=far, else_branch=near), node("Sub", "next x", "change"),
                  node("Abs", "change", "size"), node("ReduceMax", "size", "most", keepdims=0),
                  node("Greater", "most tiny", "goes_on")],
                 "body", [info("i", I64, []), info("c", BOOL, []), info("x", F32, [4])],
                 [info("goes_on", BOOL, []), info("next", F32, [4])], [constant("limit", 50), constant("tiny", 1e-3)])
    main = graph([node("Loop", "trips begins start", "root", body=body), node("Mul", "root root", "square")], "if_in_loop",
                 [info("trips", I64, []), info("begins", BOOL, []), info("start", F32, [4]), info("a", F32, [4])],
                 [info("root", F32, [4]), info("square", F32, [4])])
    a = np.array([2, 9, 0.25, 30], np.float32)
    start = np.array([400, 1, 3, 60], np.float32)
    return main, [[np.int64(trips), np.bool_(begins), start, a]
                  for trips, begins in ((100, True), (2, True), (0, True), (100, False))]


def scans():
    """Running sums forwards and backwards, along other axes than the first; one outer value is read."""
    body = graph([node("Add", "state part", "sum"), node("Mul", "sum factor", "after"), node("Sub", "sum other", "row"),
                  node("Identity", "after", "copy")],
                 "body", [info("state", F32, [3]), info("part", F32, [3]), info("other", F32, [3])],
                 [info("after", F32, [3]), info("row", F32, [3]), info("copy", F32, [3])])
    main = graph([node("Scan", "begin x y", "last rows copies", body=body, num_scan_inputs=2, scan_input_axes=[1, 0],
                       scan_input_directions=[0, 1], scan_output_axes=[1, 0], scan_output_directions=[0, 1])], "scans",
                 [info("begin", F32, [3]), info("x", F32, [3, 5]), info("y", F32, [5, 3]), info("factor", F32, [3])],
                 [info("last", F32, [3]), info("rows", F32, [3, 5]), info("copies", F32, [5, 3])])
    random = np.random.default_rng(1)
    return main, [[random.standard_normal(shape).astype(np.float32) for shape in ((3,), (3, 5), (5, 3), (3,))]]


def nested():
    """A Loop with stacked outputs in a Loop; a triangle of matrix products with weights of the model."""
    inner = graph([node("Add", "j i", "n"), node("Cast", "n", "factor", to=F32), node("MatMul", "v w", "product"),
                   node("Tanh", "product", "bent"), node("Mul", "bent factor", "row"), node("Identity", "d", "d_after")],
                  "inner", [info("j", I64, []), info("d", BOOL, []), info("v", F32, [2, 4])],
                  [info("d_after", BOOL, []), info("bent", F32, [2, 4]), info("row", F32, [2, 4])])
    body = graph([node("Loop", "three - u", "u_after rows", body=inner), node("ReduceSum", "rows zero", "sum", keepdims=0),
                  node("Identity", "c", "c_after")],
                 "body", [info("i", I64, []), info("c", BOOL, []), info("u", F32, [2, 4])],
                 [info("c_after", BOOL, []), info("u_after", F32, [2, 4]), info("sum", F32, [2, 4])],
                 [constant("three", 3, np.int64), constant("zero", [0], np.int64)])
    random = np.random.default_rng(2)
    main = graph([node("Loop", "four yes x", "last sums", body=body)], "nested", [info("x", F32, [2, 4])],
                 [info("last", F32, [2, 4]), info("sums", F32, [4, 2, 4])],
                 [constant("four", 4, np.int64), constant("yes", True, bool), constant("w", random.standard_normal((4, 4)))])
    return main, [[random.standard_normal((2, 4)).astype(np.float32)]]


def beam_step():
    """Returns the nodes that extend all beams by all words and choose the best of these: "word", "from", "best"."""
    return [node("Gather", "table last", "embedded"), node("MatMul", "embedded w1", "h1"),
            node("MatMul", "state w2", "h2"), node("Add", "h1 h2", "h"), node("Tanh", "h", "thought"),
            node("MatMul", "thought w3", "logits"), node("LogSoftmax", "logits", "chances", axis=-1),
            node("Unsqueeze", "scores one", "column"), node("Add", "chances column", "totals"),
            node("Reshape", "totals flat", "all"), node("TopK", "all k", "best where"),
            node("Div", "where width", "from"), node("Mul", "from width", "begin"),
            node("Sub", "where begin", "word"), node("Gather", "thought from", "state_after")]


def beam_search():
    """The best of the sequences of six words by a network of one layer: three beams, scores, back-pointers as words."""
    beams, words, size, length = 3, 7, 8, 6
    random = np.random.default_rng(3)
    shape = lambda name, dims: constant(name, dims, np.int64)
    body = graph(
        [*beam_step(), node("Gather", "history from", "history_of"),
         node("Unsqueeze", "word one", "word_column"), node("Equal", "positions i", "is_now"),
         node("Where", "is_now word_column history_of", "history_after"), node("Equal", "word stop", "stops"),
         node("Cast", "stops", "stopped", to=I64), node("ReduceMin", "stopped", "all_stopped", keepdims=0),
         node("Equal", "all_stopped zero", "goes_on")],
        "body", [info("i", I64, []), info("c", BOOL, []), info("last", I64, [beams]), info("scores", F32, [beams]),
                 info("state", F32, [beams, size]), info("history", I64, [beams, length])],
        [info("goes_on", BOOL, []), info("word", I64, [beams]), info("best", F32, [beams]),
         info("state_after", F32, [beams, size]), info("history_after", I64, [beams, length])])
    weights = [constant(name, random.standard_normal(dims)) for name, dims in
               (("table", (words, size)), ("w1", (size, size)), ("w2", (size, size)), ("w3", (size, words)))]
    main = graph([node("Loop", "length yes first start zeros empty", "last_word score last_state sentences", body=body)],
                 "beam_search",
                 [info("first", I64, [beams]), info("start", F32, [beams]), info("zeros", F32, [beams, size])],
                 [info("score", F32, [beams]), info("sentences", I64, [beams, length])],
                 weights + [shape("one", [1]), shape("flat", [beams * words]), shape("k", [beams]), shape("width", words),
                            shape("stop", 0), shape("zero", 0), shape("positions", [list(range(length))]),
                            shape("length", length), constant("yes", True, bool),
                            constant("empty", -np.ones((beams, length)), np.int64)])
    return main, [[np.full(beams, word, np.int64), np.array([0, -9, -9], np.float32),
                   random.standard_normal((beams, size)).astype(np.float32)] for word in (1, 4)]


def choose(condition, output, then, otherwise, constants=()):
    """An If with one result, whose branches are lists of nodes; the last output of each list is its result."""
    def branch(nodes, name):
        return graph(nodes, name, [], [helper.make_value_info(nodes[-1].output[0], helper.make_tensor_type_proto(F32, None))],
                     constants)
    return node("If", condition, output, then_branch=branch(then, output + "_then"),
                else_branch=branch(otherwise, output + "_else"))


def dead_branches():
    """Branches for another rate, which do not fit the inputs of this one."""
    misfits = {"add": [node("Add", "x k", "a")], "reshape": [node("Reshape", "x three", "a")],
               "matmul": [node("MatMul", "x m", "a")], "squeeze": [node("Squeeze", "x one", "a")],
               "pad": [node("Pad", "x cut", "a")], "concat": [node("Concat", "x k", "a", axis=0)],
               "conv": [node("Unsqueeze", "x two", "u"), node("Conv", "u w", "a")],
               "gather": [node("Gather", "x far", "g", axis=1), node("Mul", "x g", "a")],
               "rank": [node("Unsqueeze", "x two", "a")]}
    constants = [constant("k", np.ones((1, 3))), constant("m", np.ones((3, 2))), constant("w", np.ones((2, 3, 1))),
                 constant("three", [3, -1], np.int64), constant("one", [1], np.int64), constant("two", [2], np.int64),
                 constant("cut", [0, -9, 0, 0], np.int64), constant("far", [11], np.int64)]
    nodes = [node("Equal", "rate known", "is_known"), node("Not", "is_known", "is_other")]
    names = []
    for name, nodes_of_branch in misfits.items():
        relu = [node("Relu", "x", "r"), node("Neg", "r", "s")]
        nodes.append(choose("is_known", "first_" + name, relu, nodes_of_branch))
        names.append("first_" + name)
        nodes.append(choose("is_other", "second_" + name, nodes_of_branch, relu))
        names.append("second_" + name)
    main = graph(nodes, "dead_branches", [info("x", F32, [1, 8]), info("rate", I64, [])], [info(n, F32, [f"{n}_0", f"{n}_1"]) for n in names],
                 [constant("known", 16000, np.int64)] + constants)
    random = np.random.default_rng(5)
    return main, [[random.standard_normal((1, 8)).astype(np.float32), np.int64(16000)] for _ in range(2)]


def branch_ranks():
    """Results of other ranks in one branch than in the other, which later nodes make equal again."""
    squeezed, kept = [node("Squeeze", "x axis", "a")], [node("Identity", "x", "a")]
    scalar, vector = [node("ReduceMax", "x", "b", keepdims=0)], [node("Add", "pair pair", "b")]
    nodes = [node("ReduceSum", "x", "total", keepdims=0), node("Greater", "total zero", "is_large"),
             node("Less", "total ten", "is_small"),
             choose("is_large", "y", squeezed, kept), choose("is_large", "v", vector, scalar),
             node("Exp", "x", "other"),                                       # depends on no branch
             node("Mul", "y v", "p"), node("Flatten", "other", "flat_other", axis=1),
             node("Flatten", "p", "flat", axis=1), node("Add", "flat flat_other", "sum"),
             choose("is_small", "z", [node("Unsqueeze", "sum axis", "c")], [node("Identity", "sum", "c")]),
             node("ReduceMean", "z", "mean", keepdims=0), node("Mul", "mean sum", "last")]
    main = graph(nodes, "branch_ranks", [info("x", F32, [1, 3, 1, 2])],
                 [info("sum", F32, [1, 6]), info("mean", F32, []), info("last", F32, [1, 6])],
                 [constant("axis", [2], np.int64), constant("zero", 0), constant("ten", 10), constant("pair", [1.5, 2])])
    random = np.random.default_rng(6)
    x = random.random((1, 3, 1, 2)).astype(np.float32)
    return main, [[x], [-x], [x + 9]]


def open_loops():
    """Loops whose number of iterations each run finds out: grown, stacked, both, and none."""
    halve = graph([node("Gather", "h last", "l", axis=0), node("Mul", "l half", "n"), node("Unsqueeze", "n axis", "n1"),
                   node("Concat", "h n1", "h2", axis=0), node("Greater", "n limit", "go")],
                  "halve", [info("i", I64, []), info("c", BOOL, []), info("h", F32, ["L"])],
                  [info("go", BOOL, []), info("h2", F32, ["M"])],
                  [constant("last", -1, np.int64), constant("half", 0.5), constant("axis", [0], np.int64),
                   constant("limit", 0.1)])
    step = graph([node("Cast", "i", "f", to=F32), node("Add", "b f", "b2"), node("ReduceSum", "b2", "s", keepdims=0),
                  node("Less", "s limit", "go"), node("Identity", "b2", "o"), node("Mul", "b2 outer", "row")],
                 "step", [info("i", I64, []), info("c", BOOL, []), info("b", F32, [2])],
                 [info("go", BOOL, []), info("o", F32, [2]), info("row", F32, [2])], [constant("limit", 20)])
    table = graph([node("GatherND", "d at", "g"), node("Identity", "c", "go")], "table",
                  [info("i", I64, []), info("c", BOOL, [])], [info("go", BOOL, []), info("g", F32, [2])],
                  [constant("d", np.arange(12).reshape(3, 4)), constant("at", [[0, 1], [2, 3]], np.int64)])
    nodes = [node("Loop", "- yes first", "grown", body=halve), node("Mul", "b two", "outer"),
             node("Loop", "trips yes b", "b_last rows", body=step), node("Loop", "trips -", "entries", body=table),
             node("ReduceSum", "rows axis", "sums", keepdims=0), node("ReduceSum", "entries axis", "totals", keepdims=0)]
    main = graph(nodes, "open_loops", [info("first", F32, [1]), info("trips", I64, []), info("b", F32, [2])],
                 [info("grown", F32, ["N"]), info("b_last", F32, [2]), info("rows", F32, ["R", 2]),
                  info("entries", F32, ["T", 2]), info("sums", F32, [2]), info("totals", F32, [2])],
                 [constant("yes", True, bool), constant("two", 2), constant("axis", [0], np.int64)])
    return main, [[np.array([first], np.float32), np.int64(trips), np.array([1, -2], np.float32)]
                  for first, trips in ((3.3, 50), (100, 3), (0.1, 0))]


MODELS = {"if_in_loop": if_in_loop, "scans": scans, "nested": nested, "beam_search": beam_search,
          "dead_branches": dead_branches, "branch_ranks": branch_ranks, "open_loops": open_loops}
OPEN_BRANCHES = {"dead_branches", "branch_ranks"}  # the results of their branches have no declared shapes
OPEN_FOR_RUNTIME = {"dead_branches"}  # ONNX Runtime refuses branches that do not fit numbers


def write(folder, name, main, data_sets):
    shutil.rmtree(folder / name, ignore_errors=True)
    model = helper.make_model(main, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                              producer_name="make_control")
    if name not in OPEN_BRANCHES:
        onnx.checker.check_model(model)
    opened = onnx.ModelProto.FromString(model.SerializeToString())
    for value in opened.graph.input if name in OPEN_FOR_RUNTIME else ():
        for d, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{d}"
    session = onnxruntime.InferenceSession(opened.SerializeToString(), providers=["CPUExecutionProvider"])
    for k, inputs in enumerate(data_sets):
        data = folder / name / f"test_data_set_{k}"
        data.mkdir(parents=True)
        names = [value.name for value in main.input]
        outputs = session.run(None, dict(zip(names, map(np.asarray, inputs))))
        for prefix, values, infos in (("input", inputs, main.input), ("output", outputs, main.output)):
            for n, (value, described) in enumerate(zip(values, infos)):
                tensor = numpy_helper.from_array(np.asarray(value), described.name)
                (data / f"{prefix}_{n}.pb").write_bytes(tensor.SerializeToString())
        print(name, k, *(np.asarray(output).ravel()[:6] for output in outputs))
    onnx.save(model, folder / name / "model.onnx")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    print("onnx", onnx.__version__, "onnxruntime", onnxruntime.__version__)
    for name, make in MODELS.items():
        write(folder, name, *make())


if __name__ == "__main__":
    main()
