#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random ONNX models with If and Loop, and compares the outputs with numpy's.

random_control.py BYOC COMPILER [--seed N] [--count N] [--keep FOLDER]

The evaluation here runs a branch only when its condition holds, as ONNX has it. A quarter of the models have a branch
that does not fit the sizes; others have branches of different ranks and extents, and loops that each run ends. With
--keep, models that fail and their inputs stay in FOLDER.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
KINDS = ("dead", "ranks", "extents", "stacked", "grown", "dead_in_loop")


def axes_of(node, values):
    return tuple(int(axis) for axis in values[1]) if len(values) > 1 else None


def attribute(node, name, fallback=None):
    found = [a for a in node.attribute if a.name == name]
    return helper.get_attribute_value(found[0]) if found else fallback


OPS = {
    "Relu": lambda n, x: np.maximum(x, 0), "Neg": lambda n, x: -x, "Abs": lambda n, x: abs(x),
    "Tanh": lambda n, x: np.tanh(x), "Identity": lambda n, x: x, "Not": lambda n, x: ~x,
    "Add": lambda n, a, b: a + b, "Mul": lambda n, a, b: a * b, "Sub": lambda n, a, b: a - b,
    "Max": lambda n, a, b: np.maximum(a, b), "Equal": lambda n, a, b: a == b, "Greater": lambda n, a, b: a > b,
    "Less": lambda n, a, b: a < b, "Cast": lambda n, x: x.astype(np.float32),
    "Squeeze": lambda n, *v: np.squeeze(v[0], axes_of(n, v)), "Unsqueeze": lambda n, *v: np.expand_dims(v[0], axes_of(n, v)),
    "ReduceSum": lambda n, *v: np.sum(v[0], axes_of(n, v), keepdims=bool(attribute(n, "keepdims", 1))),
    "ReduceMax": lambda n, x: np.max(x, keepdims=bool(attribute(n, "keepdims", 1))),
    "Reshape": lambda n, x, shape: np.reshape(x, shape), "MatMul": lambda n, a, b: np.matmul(a, b),
    "Concat": lambda n, *v: np.concatenate(v, attribute(n, "axis")),
    "Gather": lambda n, x, k: np.take(x, k, attribute(n, "axis", 0)),
    "Slice": lambda n, x, begin, end, axis: x[(slice(None),) * int(axis[0]) + (slice(int(begin[0]), int(end[0])),)],
}


def evaluate(graph, outer):
    """Returns the outputs of a graph; `outer` has the values of its inputs and those around it."""
    values = dict(outer)
    values.update({tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer})
    for node in graph.node:
        operands = [values[name] for name in node.input if name]
        if node.op_type == "If":
            taken = attribute(node, "then_branch" if operands[0] else "else_branch")
            results = evaluate(taken, values)
        elif node.op_type == "Loop":
            results = loop(node, values)
        else:
            results = [OPS[node.op_type](node, *operands)]
        values.update(zip(node.output, results))
    return [np.asarray(values[output.name]) for output in graph.output]


def loop(node, values):
    body = attribute(node, "body")
    trips = values[node.input[0]] if node.input[0] else 2**62
    goes_on = values[node.input[1]] if node.input[1] else np.bool_(True)
    carried, rows, k = [values[name] for name in node.input[2:]], [], 0
    while k < trips and goes_on:
        inside = dict(values)
        inside.update(zip([i.name for i in body.input], [np.int64(k), goes_on, *carried]))
        goes_on, *results = evaluate(body, inside)
        carried, row = results[:len(carried)], results[len(carried):]
        rows.append(row)
        k += 1
    stacked = len(body.output) - 1 - len(carried)
    none = np.zeros((0, *carried[0].shape), np.float32)  # rows here have the type of the first carried value
    return carried + [np.stack([row[n] for row in rows]) if rows else none for n in range(stacked)]


class Maker:
    """One random model and its inputs."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.names = 0
        self.columns = int(self.random.integers(4, 9))
        self.x = self.random.standard_normal((1, self.columns)).astype(np.float32)
        self.rate = np.int64(self.random.choice([8000, 16000]))
        self.constants = []

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def constant(self, value, dtype=np.float32):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, nodes, op, *operands, **attributes):
        output = self.name()
        nodes.append(helper.make_node(op, operands, [output], name=output, **attributes))
        return output

    def fitting(self, nodes, x, most=3):
        """Appends ops that keep the type of x."""
        for _ in range(self.random.integers(1, most + 1)):
            if self.random.random() < 0.5:
                x = self.node(nodes, str(self.random.choice(["Relu", "Neg", "Abs", "Tanh", "Identity"])), x)
            else:
                other = self.constant(self.random.standard_normal((1, self.columns if self.random.random() < 0.5 else 1)))
                x = self.node(nodes, str(self.random.choice(["Add", "Mul", "Sub", "Max"])), x, other)
        return x

    def misfit(self, nodes, x):
        """Appends an op that does not take x [1, columns] with columns in 4..8."""
        kind = self.random.choice(["Add", "Reshape", "MatMul", "Squeeze", "Concat", "Unsqueeze", "Slice"])
        if kind == "Add":
            x = self.node(nodes, kind, x, self.constant(np.ones((1, 3))))
        elif kind == "Reshape":
            x = self.node(nodes, kind, x, self.constant([11, -1], np.int64))
        elif kind == "MatMul":
            x = self.node(nodes, kind, x, self.constant(np.ones((3, 2))))
        elif kind == "Squeeze":
            x = self.node(nodes, kind, x, self.constant([1], np.int64))
        elif kind == "Concat":
            x = self.node(nodes, kind, x, self.constant(np.ones((1, 3))), axis=0)
        elif kind == "Unsqueeze":  # of another rank
            x = self.node(nodes, kind, x, self.constant([0], np.int64))
        else:                      # of another extent, then one that does not fit
            x = self.node(nodes, kind, x, *(self.constant([k], np.int64) for k in (0, 2, 1)))
            x = self.node(nodes, "Add", x, self.constant(np.ones((1, 3))))
        return self.node(nodes, "Neg", x)

    def branch(self, fill, *operands):
        nodes = []
        result = fill(nodes, *operands)
        value = helper.make_value_info(result, helper.make_tensor_type_proto(F32, None))
        return helper.make_graph(nodes, self.name(), [], [value])

    def choose(self, nodes, condition, then, otherwise):
        return self.node(nodes, "If", condition, then_branch=then, else_branch=otherwise)

    def dead(self, nodes, x):
        """One branch fits, the other one does not, and is not taken."""
        inside = self.random.random() < 0.3
        fits = self.branch(lambda n, v: self.choice(n, v) if inside else self.fitting(n, v), x)
        dead = self.branch(lambda n, v: self.misfit(n, self.fitting(n, v)), x)
        if self.random.random() < 0.5:
            return self.choose(nodes, self.node(nodes, "Equal", "rate", self.constant(self.rate, np.int64)), fits, dead)
        other = self.constant(24000, np.int64)
        return self.choose(nodes, self.node(nodes, "Equal", "rate", other), dead, fits)

    def choice(self, nodes, x):
        """Both branches fit; the values decide."""
        total = self.node(nodes, "ReduceSum", x, keepdims=0)
        condition = self.node(nodes, "Greater", total, self.constant(0))
        return self.choose(nodes, condition, self.branch(self.fitting, x), self.branch(self.fitting, x))

    def ranks(self, nodes, x):
        """Branches of different ranks; nodes after them make the ranks equal again."""
        total = self.node(nodes, "ReduceSum", x, keepdims=0)
        condition = self.node(nodes, "Greater", total, self.constant(0))
        axis = self.constant([0], np.int64)
        higher = self.branch(lambda n, v: self.node(n, "Unsqueeze", self.fitting(n, v), axis), x)
        lower = self.branch(lambda n, v: self.node(n, "Squeeze", v, axis) if self.random.random() < 0.5 else
                            self.fitting(n, v), x)
        both = (higher, lower) if self.random.random() < 0.5 else (lower, higher)
        y = self.choose(nodes, condition, *both)
        for _ in range(self.random.integers(0, 4)):
            y = self.node(nodes, str(self.random.choice(["Neg", "Tanh", "Abs"])), y)
        return self.node(nodes, "Add", self.node(nodes, "Reshape", y, self.constant([1, self.columns], np.int64)), x)

    def extents(self, nodes, x):
        """Branches of different extents."""
        total = self.node(nodes, "ReduceSum", x, keepdims=0)
        condition = self.node(nodes, "Less", total, self.constant(0))
        cut = [self.constant([k], np.int64) for k in (1, 3, 1)]
        shorter = self.branch(lambda n, v: self.node(n, "Slice", self.fitting(n, v), *cut), x)
        y = self.choose(nodes, condition, shorter, self.branch(self.fitting, x))
        return self.node(nodes, "Mul", self.node(nodes, "ReduceSum", self.node(nodes, "Tanh", y), keepdims=1), x)

    def loop(self, nodes, fill, carried, results):
        """Appends a Loop whose trips are an input or without limit, and returns its outputs."""
        inner = []
        inputs = [self.name() for _ in range(2 + len(carried))]
        outputs = fill(inner, *inputs)
        info = [helper.make_tensor_value_info(inputs[0], I64, []), helper.make_tensor_value_info(inputs[1], BOOL, [])]
        info += [helper.make_value_info(v, helper.make_tensor_type_proto(F32, None)) for v in inputs[2:]]
        types = [BOOL] + [F32] * (len(outputs) - 1)
        out = [helper.make_value_info(v, helper.make_tensor_type_proto(t, None)) for v, t in zip(outputs, types)]
        body = helper.make_graph(inner, self.name(), info, out)
        named = [self.name() for _ in range(results)]
        operands = ["trips" if self.random.random() < 0.5 else "", self.constant(True, bool), *carried]
        nodes.append(helper.make_node("Loop", operands, named, name=named[0], body=body))
        return named

    def goes_on(self, nodes, k):
        """The condition of an iteration: a number of them that no constant gives."""
        last = self.node(nodes, "Cast", k, to=F32)
        return self.node(nodes, "Less", last, "limit")

    def stacked(self, nodes, x):
        def fill(inner, k, _, v):
            after = self.fitting(inner, v)
            return self.goes_on(inner, k), after, self.fitting(inner, after)
        last, rows = self.loop(nodes, fill, [x], 2)
        sums = self.node(nodes, "ReduceSum", rows, self.constant([0], np.int64), keepdims=0)
        return self.node(nodes, "Tanh", self.node(nodes, "Add", last, sums))

    def last_rows(self, inner, v):
        """A row by its number from the end, or up to five as a slice that begins there."""
        if self.random.random() < 0.5:
            return self.node(inner, "Gather", v, self.constant([-1], np.int64), axis=0)
        begin, end = [-int(self.random.integers(1, 6))], [1000]
        return self.node(inner, "Slice", v, *(self.constant(list_, np.int64) for list_ in (begin, end, [0])))

    def grown(self, nodes, x):
        def fill(inner, k, _, v):
            last = self.last_rows(inner, v)
            return self.goes_on(inner, k), self.node(inner, "Concat", v, self.node(inner, "Tanh", last), axis=0)
        grown, = self.loop(nodes, fill, [x], 1)
        return self.node(nodes, "ReduceSum", self.node(nodes, "Abs", grown), self.constant([0], np.int64), keepdims=1)

    def dead_in_loop(self, nodes, x):
        def fill(inner, k, _, v):
            return self.goes_on(inner, k), self.dead(inner, v)
        return self.loop(nodes, fill, [x], 1)[0]

    def model(self):
        nodes, x = [], "x"
        x = getattr(self, self.kind)(nodes, self.fitting(nodes, x))
        if self.random.random() < 0.5:
            x = getattr(self, str(self.random.choice(KINDS)))(nodes, x)
        y = self.fitting(nodes, x)
        inputs = {"x": self.x, "rate": self.rate, "trips": np.int64(self.random.integers(0, 6)),
                  "limit": np.float32(self.random.integers(0, 5))}
        info = [helper.make_tensor_value_info(n, {"f": F32, "i": I64}[v.dtype.kind], v.shape) for n, v in inputs.items()]
        used = {name for node in all_nodes(nodes) for name in node.input}
        inputs = {n: v for n, v in inputs.items() if n in used}
        out = helper.make_tensor_value_info(y, F32, [1, self.columns])
        graph = helper.make_graph(nodes, self.kind, [i for i in info if i.name in inputs], [out], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), inputs


def all_nodes(nodes):
    for node in nodes:
        yield node
        for attr in node.attribute:
            yield from all_nodes(attr.g.node)


def check(byoc, compiler, seed, folder):
    """Returns what is wrong with the model of a seed, or nothing."""
    model, inputs = Maker(seed).model()
    expected = evaluate(model.graph, inputs)[0]
    save(model, str(folder / "model.onnx"))
    command = [byoc, "run", str(folder / "model.onnx"), "--compiler", compiler, "--output-dir", str(folder / "out"), "-q"]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        return f"exit code {ran.returncode}: {ran.stdout}"
    got = np.load(next((folder / "out").glob("*.npy")))
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if not np.allclose(got, expected, rtol=1e-4, atol=1e-5):
        return f"{got}, expected {expected}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("byoc")
    parser.add_argument("compiler")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep")
    flags = parser.parse_args()
    failed = 0
    for seed in range(flags.seed, flags.seed + flags.count):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(flags.keep or temporary) / f"seed{seed}" if flags.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            wrong = check(flags.byoc, flags.compiler, seed, folder)
        if wrong:
            failed += 1
            print(f"seed {seed} ({KINDS[seed % len(KINDS)]}): {wrong}", flush=True)
    print(f"{flags.count - failed} of {flags.count} models are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
