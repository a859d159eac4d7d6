#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models with sizes that each run counts, and what ONNX Runtime computes for them.

make_counted.py [FOLDER]

Needs what ../control/make_control.py needs, and writes folders of the same form. The data sets of a model have different
numbers of results, zero among them.
"""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "control"))
from make_control import BOOL, F32, I64, beam_step, constant, graph, info, node, write  # noqa: E402


def shape(name, dims):
    return constant(name, dims, np.int64)


def detector():
    """Boxes and three classes from two convolutions, an 8 x 8 grid; the five best of the boxes that do not overlap."""
    random = np.random.default_rng(4)
    rows, columns = np.meshgrid(np.arange(8) + 0.5, np.arange(8) + 0.5, indexing="ij")
    centers = np.stack([rows.ravel(), columns.ravel()], axis=-1)[None] / 8
    weights = [constant("w1", random.standard_normal((8, 3, 4, 4)) / 5), constant("b1", random.standard_normal(8) / 4),
               constant("w2", random.standard_normal((7, 8, 3, 3)) / 3),
               constant("b2", [0, 0, -0.5, -0.5, -2, -2, -2]), constant("centers", centers)]
    nodes = [
        node("Conv", "image w1 b1", "c1", strides=[4, 4]), node("Relu", "c1", "r1"),
        node("Conv", "r1 w2 b2", "head", pads=[1, 1, 1, 1]), node("Reshape", "head flat", "cells"),
        node("Split", "cells parts", "moves sizes logits", axis=1), node("Sigmoid", "logits", "scores"),
        node("Transpose", "moves", "moves_t", perm=[0, 2, 1]), node("Tanh", "moves_t", "bent"),
        node("Mul", "bent eighth", "offsets"), node("Add", "centers offsets", "middles"),
        node("Transpose", "sizes", "sizes_t", perm=[0, 2, 1]), node("Exp", "sizes_t", "extents"),
        node("Mul", "extents eighth", "halves"), node("Sub", "middles halves", "low"), node("Add", "middles halves", "high"),
        node("Concat", "low high", "boxes", axis=2),
        node("NonMaxSuppression", "boxes scores most iou least", "selected"),
        node("Gather", "selected two", "box_of", axis=1),
        node("Gather", "selected one", "class_of", axis=1), node("GatherND", "scores selected", "score_of"),
        node("Shape", "score_of", "found"), node("Min", "found five", "k"), node("TopK", "score_of k", "score best"),
        node("Gather", "box_of best", "best_box"), node("Gather", "class_of best", "label"),
        node("Squeeze", "boxes zero", "all_boxes"), node("Gather", "all_boxes best_box", "box"),
        node("Slice", "box start_hw end_hw axis", "high_corner"), node("Slice", "box zeros start_hw axis", "low_corner"),
        node("Sub", "high_corner low_corner", "extent_of"), node("ReduceProd", "extent_of", "area", axes=[1], keepdims=0),
    ]
    main = graph(nodes, "detector", [info("image", F32, [1, 3, 32, 32]), info("least", F32, [1])],
                 [info("box", F32, ["k", 4]), info("score", F32, ["k"]), info("label", I64, ["k"]), info("area", F32, ["k"]),
                  info("found", I64, [1])],
                 weights + [shape("flat", [1, 7, 64]), shape("parts", [2, 2, 3]), constant("eighth", 0.125),
                            shape("most", [6]), constant("iou", [0.3]), shape("two", 2),
                            shape("one", 1), shape("five", [5]), shape("zero", [0]), shape("start_hw", [2]),
                            shape("end_hw", [4]), shape("zeros", [0]), shape("axis", [1])])
    image = random.standard_normal((1, 3, 32, 32)).astype(np.float32)
    return main, [[image, np.array([least], np.float32)] for least in (0.3, 0.9, 0.99)]


def beam_search():
    """Three beams of words, until all have ended: each step adds rows of words and of the beams that they continue."""
    beams, words, size, longest = 3, 7, 8, 12
    random = np.random.default_rng(5)
    body = graph(
        [*beam_step(), node("Equal", "word stop", "stops"),
         node("Cast", "stops", "stopped", to=I64), node("ReduceMax", "stopped", "any_stopped", keepdims=0),
         node("Equal", "any_stopped zero", "goes_on"), node("Identity", "word", "word_row"),
         node("Identity", "from", "from_row"), node("Identity", "best", "score_row")],
        "body", [info("i", I64, []), info("c", BOOL, []), info("last", I64, [beams]), info("scores", F32, [beams]),
                 info("state", F32, [beams, size])],
        [info("goes_on", BOOL, []), info("word", I64, [beams]), info("best", F32, [beams]),
         info("state_after", F32, [beams, size]), info("word_row", I64, [beams]), info("from_row", I64, [beams]),
         info("score_row", F32, [beams])])
    weights = [constant(name, random.standard_normal(dims)) for name, dims in
               (("table", (words, size)), ("w1", (size, size)), ("w2", (size, size)), ("w3", (size, words)))]
    main = graph(
        [node("Loop", "longest yes first start zeros", "last_word score last_state sentence origin scores_of", body=body),
         node("Shape", "sentence", "dims"), node("Gather", "dims zero", "length"), node("Range", "zero length step", "position"),
         node("Cast", "position", "weight", to=F32), node("Unsqueeze", "weight one", "weight_column"),
         node("Mul", "scores_of weight_column", "weighted"), node("ReduceSum", "weighted first_axis", "total", keepdims=0),
         node("Slice", "sentence minus_two many first_axis", "ending")],
        "beam_search",
        [info("first", I64, [beams]), info("start", F32, [beams]), info("zeros", F32, [beams, size])],
        [info("score", F32, [beams]), info("sentence", I64, ["steps", beams]), info("origin", I64, ["steps", beams]),
         info("position", I64, ["steps"]), info("total", F32, [beams]), info("ending", I64, ["end", beams])],
        weights + [shape("one", [1]), shape("flat", [beams * words]), shape("k", [beams]), shape("width", words),
                   shape("stop", 0), shape("zero", 0), shape("step", 1), shape("longest", longest), shape("first_axis", [0]),
                   shape("minus_two", [-2]), shape("many", [2 ** 62]), constant("yes", True, bool)])
    return main, [[np.full(beams, word, np.int64), np.array([0, -9, -9], np.float32),
                   random.standard_normal((beams, size)).astype(np.float32)] for word in (1, 2, 4, 6)]


def selection():
    """The elements above a limit, their places, the distinct ones, and the rows that have one, through a layer."""
    random = np.random.default_rng(6)
    main = graph(
        [node("Greater", "x limit", "is_large"), node("NonZero", "is_large", "places"),
         node("Transpose", "places", "where", perm=[1, 0]), node("GatherND", "x where", "large"),
         node("Unique", "large", "values first inverse count", sorted=1), node("Cast", "is_large", "flags", to=F32),
         node("ReduceMax", "flags", "in_row", axes=[1], keepdims=0), node("Cast", "in_row", "has_one", to=BOOL),
         node("Compress", "x has_one", "rows", axis=0), node("Concat", "rows x", "both", axis=0),
         node("MatMul", "both w", "product"), node("Softmax", "product", "shares", axis=-1),
         node("ReduceSum", "shares axis0", "sums", keepdims=0), node("Reshape", "rows flat", "elements"),
         node("Where", "has_one in_row zeros", "kept"), node("Gather", "values inverse", "again")],
        "selection", [info("x", F32, [4, 6]), info("limit", F32, [])],
        [info("places", I64, [2, "n"]), info("large", F32, ["n"]), info("values", F32, ["m"]), info("count", I64, ["m"]),
         info("rows", F32, ["r", 6]), info("shares", F32, ["r4", 5]), info("sums", F32, [5]), info("elements", F32, ["e"]),
         info("kept", F32, [4]), info("again", F32, ["n"])],
        [constant("w", random.standard_normal((6, 5))), shape("axis0", [0]), shape("flat", [-1]), constant("zeros", [0] * 4)])
    x = (random.integers(-4, 5, (4, 6)) / 2).astype(np.float32)
    return main, [[x, np.float32(limit)] for limit in (1, -9, 9)]


def padded():
    """Lists of boxes padded to twelve rows, as exporters write it; and to twice their number."""
    nodes = [
        node("NonMaxSuppression", "boxes scores most iou least", "selected"),
        node("Shape", "selected", "dims"), node("Gather", "dims zero", "n", axis=0), node("Sub", "twelve n", "rest"),
        node("Unsqueeze", "rest axis", "rest1"), node("Unsqueeze", "n axis", "n1"),
        node("Concat", "zeros rest1 axis", "after", axis=0), node("Pad", "selected after minus", "rows"),
        node("Concat", "rest1 zeros axis", "before", axis=0), node("Max", "before all_zeros", "natural"),
        node("Cast", "selected", "numbers", to=F32), node("Pad", "numbers natural fill", "late"),
        # torch's: last dim first, begin and end in turns; then reversed.
        node("Neg", "n1", "less"), node("Add", "less twelve1", "rest2"),
        node("Concat", "zeros axis rest2", "turns", axis=0), node("Reshape", "turns pairs", "matrix"),
        node("Slice", "matrix last first axis step", "turned"), node("Transpose", "turned", "sides", perm=[1, 0]),
        node("Reshape", "sides flat", "list"), node("Cast", "list", "pads", to=I64), node("Pad", "numbers pads", "torch"),
        node("Concat", "zeros n1 axis", "twice", axis=0), node("Pad", "selected twice", "double"),
        node("ReduceSum", "torch axis", "sums", keepdims=0), node("MatMul", "table rows_t", "product")]
    nodes.insert(-1, node("Cast", "rows", "rows_t", to=F32))
    main = graph(nodes, "padded", [info("boxes", F32, [1, 6, 4]), info("scores", F32, [1, 2, 6]), info("least", F32, [1]),
                                   info("fill", F32, [])],
                 [info("rows", I64, [12, 3]), info("late", F32, [12, 3]), info("torch", F32, [12, 3]),
                  info("double", I64, ["d", 3]), info("sums", F32, [3]), info("product", F32, [2, 3])],
                 [shape("most", [6]), constant("iou", [0.6]), shape("zero", 0), shape("twelve", 12), shape("twelve1", [12]),
                  shape("axis", [0]), shape("zeros", [0, 0]), shape("all_zeros", [0, 0, 0, 0]), shape("minus", -1),
                  shape("pairs", [-1, 2]), shape("last", [-1]), shape("first", [-9223372036854775807]),
                  shape("step", [-1]), shape("flat", [-1]), constant("table", np.arange(24).reshape(2, 12))])
    random = np.random.default_rng(7)
    boxes = np.sort(random.random((1, 6, 4)).astype(np.float32), axis=2)[:, :, [0, 2, 1, 3]]
    scores = random.random((1, 2, 6)).astype(np.float32)
    return main, [[boxes, scores, np.array([least], np.float32), np.float32(2.5)] for least in (0.2, 0.7, 2)]


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for name, make in {"detector": detector, "beam_search": beam_search, "selection": selection,
                       "padded": padded}.items():
        write(folder, name, *make())


if __name__ == "__main__":
    main()
