#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks graphs that plugins receive, as `byoc dump` writes them, against share/byoc/schemas/graph.

    graph_schema.py BUILD SOURCE FOLDER

FOLDER is emptied. The models have composites, attributes of each kind, constants with NaN, loops, open and counted sizes.
Damaged graphs, and the example of docs/graph-json.md, are checked, too. Exits with 1 when there is a fault.
"""
import copy
import glob
import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema

MODELS = {
    "composite": ("onednn,json", """fn main(%x: f32[1,2,4,4]) {
      %w = const([0.5, -0.25]) : f32[1,2,1,1]
      %0 = conv2d(%x, %w) loc("conv")
      %1 = relu(%0)
      %2 = cast(%1) {to=f16}
      return %2 }"""),
    "values": ("json", """fn main(%x: f32[3]) {
      %c = const([nan, -inf, 0.5]) : f32[3]
      %b = const([true, false, true]) : bool[3]
      %0 = where(%b, %x, %c)
      return %0 }"""),
    "counted": ("json", """fn main(%x: f32[3,4]) {
      %0 = nonzero(%x) {size="n"}
      return %0 }"""),
    "loops": ("json", """module {
      loops twice(x: f32[4]) -> (y: f32[4]) { for i in 0..4 { y[i] = x[i] + x[i] } }
      fn main(%x: f32[4]) { %0 = @twice(%x)  return %0 } }"""),
    "open": ("json", "fn main(%x: f32[N,4]) { %0 = reshape(%x) {shape=[-1]}  return %0 }")}


def graphs_of(byoc, folder):
    for name, (compilers, text) in MODELS.items():
        path = os.path.join(folder, name + ".ir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        out = os.path.join(folder, name)
        options = ["--shape", "N=1..8"] if name == "open" else []
        ran = subprocess.run([byoc, "dump", path, "--compiler", compilers, *options, "-o", out], capture_output=True,
                             text=True, check=False)
        files = glob.glob(os.path.join(out, "*", "graph.json"))
        if not files:
            raise ValueError(f"{name}: dump writes no graph: {ran.stderr}")
        for file in files:
            with open(file, encoding="utf-8") as graph:
                yield name, json.load(graph)


def example_of(page):
    with open(page, encoding="utf-8") as file:
        return json.loads(re.search(r"```json printed\n(\{\"format\".*?)```", file.read(), re.DOTALL)[1])


def damaged(graph, schema):
    """Copies that the schema must refuse, each with its fault."""
    def changed(what, change):
        other = copy.deepcopy(graph)
        change(other)
        return what, other
    for name in schema["required"]:
        yield changed(f"without {name}", lambda g, name=name: g.pop(name))
    yield changed("of version 2", lambda g: g.update(version=2))
    yield changed("with an unknown dtype", lambda g: g["types"][0].update(dtype="f8"))
    yield changed("with a negative extent", lambda g: g["types"][0].update(shape=[-1]))
    yield changed("with a node of two kinds", lambda g: g["nodes"][0].update(op="relu", version=1, extern="f", call=0))
    yield changed("with a node without types", lambda g: g["nodes"][0].pop("types"))
    yield changed("with a wrong operand", lambda g: g["nodes"][0].update(args=[["x", 0]]))
    yield changed("with an operand without output", lambda g: g.update(outputs=[["n", 0]]))
    yield changed("without a result", lambda g: g.update(outputs=[]))


def main():
    build, source, folder = sys.argv[1:4]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(source, "share/byoc/schemas/graph/graph.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    graphs = [("docs/graph-json.md", example_of(os.path.join(source, "docs/graph-json.md")))]
    graphs += graphs_of(os.path.join(build, "bin", "byoc"), folder)
    faults = []
    for name, graph in graphs:
        faults += [f"{name}: {'/'.join(map(str, error.path))}: {error.message[:200]}"
                   for error in validator.iter_errors(graph)]
        faults += [f"{name}: the schema accepts a graph {what}"
                   for what, other in damaged(graph, schema) if validator.is_valid(other)]
    print("\n".join(faults) or f"{len(graphs)} graphs are as the schema has them")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
