#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models of the kinds that exporters make of code with control flow and lists, and what ONNX Runtime computes.

make_exported.py [FOLDER]

Needs what ../control/make_control.py needs, and writes folders of the same form.
"""
import sys
from pathlib import Path

import numpy as np
from onnx import helper

sys.path.insert(0, str(Path(__file__).parent.parent / "control"))
from make_control import BOOL, F32, I64, constant, graph, info, node, write  # noqa: E402


def i64(name, value):
    return constant(name, value, np.int64)


def loop_infos(*carried):
    return [info("i", I64, []), info("c", BOOL, []), *carried]


def sequence(name):
    return helper.make_tensor_sequence_value_info(name, F32, None)


def cropped():
    """Branches whose results have different extents: a crop, or all rows; then a product of the rows."""
    crop = graph([node("Slice", "x start end axis", "part")], "crop", [], [info("part", F32, [3, 4])],
                 [i64("start", [1]), i64("end", [4]), i64("axis", [0])])
    whole = graph([node("Relu", "x", "all")], "whole", [], [info("all", F32, [6, 4])])
    main = graph([node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum limit", "is_large"),
                  node("If", "is_large", "rows", then_branch=crop, else_branch=whole), node("MatMul", "rows w", "product"),
                  node("Shape", "rows", "dims")],
                 "cropped", [info("x", F32, [6, 4]), info("limit", F32, [])],
                 [info("rows", F32, ["n", 4]), info("product", F32, ["n", 5]), info("dims", I64, [2])],
                 [constant("w", np.random.default_rng(7).standard_normal((4, 5)))])
    x = np.random.default_rng(8).standard_normal((6, 4)).astype(np.float32)
    return main, [[x, np.float32(limit)] for limit in (-99, 99)]


def greedy():
    """Greedy decoding: each step concatenates a word to the sentence, reads the sum of its rows, and may end."""
    random = np.random.default_rng(9)
    body = graph([node("Gather", "table ids", "rows", axis=0), node("ReduceMean", "rows", "context", axes=[1], keepdims=0),
                  node("MatMul", "context w", "logits"), node("ArgMax", "logits", "word", axis=-1, keepdims=1),
                  node("Concat", "ids word", "ids_after", axis=1), node("Equal", "word stop", "is_stop"),
                  node("Not", "is_stop", "goes_on_row"), node("Squeeze", "goes_on_row", "goes_on")],
                 "body", loop_infos(info("ids", I64, [1, "n"])),
                 [info("goes_on", BOOL, []), info("ids_after", I64, [1, "m"])])
    main = graph([node("Min", "longest eight", "trips"), node("Loop", "trips yes prompt", "sentence", body=body), node("Gather", "table sentence", "vectors", axis=0),
                  node("Shape", "sentence", "dims")],
                 "greedy", [info("prompt", I64, [1, 3]), info("longest", I64, [])],
                 [info("sentence", I64, [1, "n"]), info("vectors", F32, [1, "n", 6]), info("dims", I64, [2])],
                 [constant("table", random.standard_normal((9, 6))), constant("w", random.standard_normal((6, 9))),
                  i64("stop", [[1]]), i64("eight", 8), constant("yes", True, bool)])
    return main, [[np.array([words], np.int64), np.int64(longest)] for words, longest in
                  (([1, 2, 3], 8), ([4, 5, 6], 8), ([7, 7, 8], 0), ([0, 0, 0], 3))]


def listed():
    """A loop that appends to a list, whose elements are then stacked, joined, counted and picked."""
    body = graph([node("Add", "h x", "sum"), node("Tanh", "sum", "h_after"), node("SequenceInsert", "parts h_after", "parts_after"),
                  node("Identity", "c", "c_after")],
                 "body", loop_infos(info("h", F32, [2, 3]), sequence("parts")),
                 [info("c_after", BOOL, []), info("h_after", F32, [2, 3]), sequence("parts_after")])
    main = graph([node("SequenceEmpty", "", "none", dtype=F32), node("Loop", "trips yes h0 none", "last parts_of", body=body),
                  node("ConcatFromSequence", "parts_of", "stacked", axis=0, new_axis=1),
                  node("ConcatFromSequence", "parts_of", "joined", axis=1), node("SequenceLength", "parts_of", "length"),
                  node("SequenceAt", "parts_of minus_one", "newest")],
                 "listed", [info("h0", F32, [2, 3]), info("x", F32, [2, 3])],
                 [info("last", F32, [2, 3]), info("stacked", F32, [5, 2, 3]), info("joined", F32, [2, 15]),
                  info("length", I64, []), info("newest", F32, [2, 3])],
                 [i64("trips", 5), constant("yes", True, bool), i64("minus_one", -1)])
    random = np.random.default_rng(10)
    return main, [[random.standard_normal((2, 3)).astype(np.float32) for _ in range(2)]]


def listed_early():
    """As `listed`, with an end that depends on elements: the list has as many elements as each run counts."""
    body = graph([node("Mul", "h x", "h_after"), node("SequenceInsert", "parts h_after", "parts_after"),
                  node("ReduceMax", "h_after", "largest", keepdims=0), node("Less", "largest limit", "goes_on")],
                 "body", loop_infos(info("h", F32, [2, 3]), sequence("parts")),
                 [info("goes_on", BOOL, []), info("h_after", F32, [2, 3]), sequence("parts_after")])
    main = graph([node("SequenceEmpty", "", "none", dtype=F32), node("Loop", "trips yes h0 none", "last parts_of", body=body),
                  node("ConcatFromSequence", "parts_of", "stacked", axis=0, new_axis=1),
                  node("ConcatFromSequence", "parts_of", "joined", axis=1), node("SequenceLength", "parts_of", "length"),
                  node("SequenceAt", "parts_of which", "picked")],
                 "listed_early", [info("h0", F32, [2, 3]), info("x", F32, [2, 3]), info("which", I64, [])],
                 [info("last", F32, [2, 3]), info("stacked", F32, ["n", 2, 3]), info("joined", F32, [2, "m"]),
                  info("length", I64, []), info("picked", F32, [2, 3])],
                 [i64("trips", 6), constant("yes", True, bool), constant("limit", 20)])
    h = np.array([[1, 2, 3], [0.5, -1, 0]], np.float32)
    return main, [[h, np.full((2, 3), factor, np.float32), np.int64(which)] for factor, which in ((2, 1), (1.1, -2), (9, 0))]


def padded():
    """Values above a limit, with a mask, padding and positions whose shapes follow from their number."""
    main = graph(
        [node("Greater", "x limit", "is_large"), node("NonZero", "is_large", "places"), node("Transpose", "places", "where", perm=[1, 0]),
         node("GatherND", "x where", "large"), node("Shape", "large", "dims"), node("ConstantOfShape", "dims", "zeros"),
         node("Concat", "dims three", "by_three", axis=0), node("Expand", "row by_three", "expanded"),
         node("Slice", "flat zero dims zero", "first"), node("Add", "first large", "sum"), node("Tile", "pair dims", "tiled"),
         node("Reshape", "large column", "as_column"), node("Concat", "one dims", "row_dims", axis=0),
         node("Reshape", "large row_dims", "as_row"), node("MatMul", "as_column as_row", "outer"), node("Size", "large", "n")],
        "padded", [info("x", F32, [4, 6]), info("limit", F32, [])],
        [info("zeros", F32, ["n"]), info("expanded", F32, ["n", 3]), info("sum", F32, ["n"]), info("tiled", F32, ["n2"]),
         info("outer", F32, ["n", "n"]), info("n", I64, [])],
        [constant("row", [1, 2, 3]), i64("three", [3]), i64("zero", [0]), constant("flat", np.arange(24)), constant("pair", [5, 6]),
         i64("column", [-1, 1]), i64("one", [1])])
    x = (np.random.default_rng(11).integers(-4, 5, (4, 6)) / 2).astype(np.float32)
    return main, [[x, np.float32(limit)] for limit in (1, -9, 9)]


def truncated():
    """Rows of a padded batch up to the longest length, as exporters write x[:, :n]; positions, a mask and a GRU's loop."""
    random = np.random.default_rng(12)
    body = graph([node("Gather", "cut i", "x_i", axis=1), node("MatMul", "x_i w", "a"), node("MatMul", "h r", "b"),
                  node("Split", "a", "az ar an", axis=1), node("Split", "b", "bz br bn", axis=1),
                  node("Add", "az bz", "z_in"), node("Sigmoid", "z_in", "z"), node("Add", "ar br", "r_in"),
                  node("Sigmoid", "r_in", "reset"), node("Mul", "reset bn", "kept"), node("Add", "an kept", "n_in"),
                  node("Tanh", "n_in", "n"), node("Sub", "one z", "less"), node("Mul", "less n", "fresh"),
                  node("Mul", "z h", "old"), node("Add", "fresh old", "new"), node("Less", "i lengths", "runs"),
                  node("Unsqueeze", "runs minus_one", "runs_column"), node("Where", "runs_column new h", "h_after"),
                  node("Identity", "h_after", "row"), node("Identity", "c", "c_after")],
                 "body", loop_infos(info("h", F32, [2, 4])),
                 [info("c_after", BOOL, []), info("h_after", F32, [2, 4]), info("row", F32, [2, 4])])
    main = graph(
        [node("ReduceMax", "lengths", "longest_row", keepdims=1), node("Slice", "x zero longest_row axis", "cut"),
         node("Squeeze", "longest_row", "longest"), node("Min", "longest six", "trips"),
         node("Loop", "trips yes h0", "last rows", body=body), node("Transpose", "rows", "batched", perm=[1, 0, 2]),
         node("Shape", "cut", "dims")],
        "truncated", [info("x", F32, [2, 6, 3]), info("lengths", I64, [2]), info("h0", F32, [2, 4])],
        [info("last", F32, [2, 4]), info("batched", F32, [2, "n", 4]), info("dims", I64, [3])],
        [constant("w", random.standard_normal((3, 12))), constant("r", random.standard_normal((4, 12))), constant("one", 1),
         i64("zero", [0]), i64("axis", [1]), i64("six", 6), i64("minus_one", [-1]), constant("yes", True, bool)])
    x, h = random.standard_normal((2, 6, 3)).astype(np.float32), random.standard_normal((2, 4)).astype(np.float32)
    return main, [[x, np.array(lengths, np.int64), h] for lengths in ([3, 5], [6, 1], [0, 0])]


def checked():
    """Branches that the shapes decide, as tracing and scripting exporters write them, a loop that never runs and one that may."""
    squeeze = graph([node("Squeeze", "x one_axis", "squeezed")], "squeeze", [], [info("squeezed", F32, [4, 3])], [i64("one_axis", [1])])
    same = graph([node("Identity", "x", "same")], "same", [], [info("same", F32, [4, 1, 3])])
    double = graph([node("Mul", "v two", "v_after"), node("Identity", "c", "c_after"), node("Identity", "v_after", "row")],
                   "double", loop_infos(info("v", F32, [4, 3])),
                   [info("c_after", BOOL, []), info("v_after", F32, [4, 3]), info("row", F32, [4, 3])], [constant("two", 2)])
    plus = graph([node("Add", "last y", "more")], "plus", [], [info("more", F32, [4, 3])])
    minus = graph([node("Reshape", "last flat", "less")], "minus", [], [info("less", F32, [12])], [i64("flat", [12])])
    main = graph(
        [node("Shape", "x", "dims"), node("Gather", "dims axis", "extent", axis=0), node("Equal", "extent one", "is_one"),
         node("If", "is_one", "y", then_branch=squeeze, else_branch=same), node("Size", "x", "size"),
         node("Greater", "size zero", "has_some"), node("Not", "has_some", "has_none"),
         node("Loop", "many has_none y", "last rows", body=double), node("Cast", "has_some", "as_number", to=I64),
         node("Mul", "as_number has_some_t", "product"), node("Cast", "product", "branch", to=BOOL),
         node("If", "branch", "z", then_branch=plus, else_branch=minus), node("Loop", "two_times yes z", "w rows_w", body=double)],
        "checked", [info("x", F32, [4, 1, 3])],
        [info("z", F32, [4, 3]), info("w", F32, [4, 3]), info("rows_w", F32, [2, 4, 3])],
        [i64("axis", 1), i64("one", 1), i64("zero", 0), i64("many", 9), i64("has_some_t", 1), i64("two_times", 2),
         constant("yes", True, bool)])
    return main, [[np.random.default_rng(13).standard_normal((4, 1, 3)).astype(np.float32)]]


MODELS = (cropped, greedy, listed, listed_early, padded, truncated, checked)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for make in MODELS:
        write(folder, make.__name__, *make())


if __name__ == "__main__":
    main()
