#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the report of `byoc explain` on a model against the result of `byoc compile`.

    python3 explained.py MODEL --byoc build/bin/byoc --compiler onednn,llvm --shape N=1

Op by op, against two other sources:

- the text of the module that goes to the plugins (`byoc print --after fuse_ops`): each function of a plugin
  holds the ops that explain lists for it, by op, node and composite, and no others;
- the manifest of the compiled artifact (`byoc compile`): it has the functions that explain names, of the same
  plugins, each with as many ops and of the same nodes.
"""

import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

NAME = r'(?:"(?:[^"\\]|\\.)*"|[^\s(,]+)'
FUNCTION = re.compile(rf"^ *fn ({NAME})\(.*\) *(\{{.*\}})? \{{$")
NODE = re.compile(rf"^ *%[^=]* = (@?{NAME})\(")
LOC = re.compile(r' loc\(("(?:[^"\\]|\\.)*")\)$')


def byoc(options, command, model, *more):
    done = subprocess.run([options.byoc, command, model, *more, "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def plain(name):
    return json.loads(name) if name.startswith('"') else name


def attribute(attrs, name):
    found = re.search(rf'\b{name}=("(?:[^"\\]|\\.)*")', attrs or "")
    return json.loads(found.group(1)) if found else ""


def read_functions(text):
    """Returns name -> (plugin, composite, [(op or @function, loc)])."""
    functions, nodes = {}, None
    for line in text.splitlines():
        begins = FUNCTION.match(line)
        if begins:
            nodes = []
            attrs = begins.group(2)
            functions[plain(begins.group(1))] = (attribute(attrs, "compiler"), attribute(attrs, "composite"), nodes)
            continue
        node = NODE.match(line)
        if node and not node.group(1).startswith("const"):
            loc = LOC.search(line)
            nodes.append((node.group(1), json.loads(loc.group(1)) if loc else ""))
    return functions


def ops_of(functions, name):
    """Yields (op, node, composite) of a function and of the composites that it calls."""
    _, composite, nodes = functions[name]
    for op, loc in nodes:
        if op.startswith("@"):
            yield from ops_of(functions, plain(op[1:]))
        else:
            yield op, loc, composite


def explained_functions(explained):
    """Returns function -> its plugin, its ops, and those that come from no op of the model."""
    plugins, ops, added = {}, defaultdict(Counter), defaultdict(Counter)
    for row in explained["ops"]:
        for run in row["runs"]:
            plugins[run["function"]] = run["plugin"]
            composite = row["composite"] if run["function"] == row["function"] else ""
            ops[run["function"]][run["op"], row["name"], composite] += 1
    for run in explained["added"]:
        plugins[run["function"]] = run["plugin"]
        added[run["function"]][run["op"]] += 1
    return plugins, ops, added


def wrong_ops(functions, explained):
    plugins, ops, added = explained_functions(explained)
    compiled = {name: plugin for name, (plugin, _, _) in functions.items() if plugin}
    if plugins != compiled:
        yield f"functions are {sorted(compiled.items())}, explained are {sorted(plugins.items())}"
    for name in compiled:
        there = Counter(ops_of(functions, name))
        rest = Counter()
        for (op, _, _), count in (there - ops[name]).items():
            rest[op] += count
        if ops[name] - there:
            yield f"@{name} has no {dict(ops[name] - there)}"
        if rest != added[name]:
            yield f"@{name} has besides what is explained {dict(there - ops[name])}, not {dict(added[name])}"


def read_manifest(path):
    """Returns the JSON after the header of 64 bytes; bytes 24 to 31 hold its size (runtime/artifact/artifact.cc)."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data, 24)
    return json.loads(data[64:64 + size])


def compiled_functions(manifest):
    """Returns plugin, number of ops and node names of each function; equal functions share a kernel."""
    compiled = {}
    for step in manifest["program"]["steps"]:
        module = manifest["modules"][step["module"]]
        function = module["functions"][step["function"]]
        nodes = function["locs"] if function["symbol"] == step["symbol"] else step["locs"]
        compiled[step["symbol"]] = module["plugin"], function["ops"], nodes
    return compiled


def wrong_functions(manifest, explained):
    plugins, ops, added = explained_functions(explained)
    compiled = compiled_functions(manifest)
    # A concat whose operands are computed in their places has no step, and neither has a reshape between functions.
    stepless = {"concat", "reshape", "flatten", "squeeze", "unsqueeze"}
    in_place = {name for name in plugins if {op for op, _, _ in ops[name]} <= stepless and not added[name]} - set(compiled)
    plugins = {name: plugin for name, plugin in plugins.items() if name not in in_place}
    if {name: plugin for name, (plugin, _, _) in compiled.items()} != plugins:
        yield f"compiled are {sorted(compiled)}, explained are {sorted(plugins.items())}"
    for name in set(compiled) & set(plugins):
        _, number, locs = compiled[name]
        count = ops[name].total() + added[name].total()
        if number != count:
            yield f"@{name} has {number} ops, not {count}"
        nodes, there = {node for _, node, _ in ops[name]}, set(locs)
        # Ops that come from no op of the model may have the name of an input or of a constant.
        if not nodes <= there or (there != nodes and not added[name]):
            yield f"@{name} is of the nodes {sorted(there)}, not of {sorted(nodes)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--byoc", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--shape", action="append", default=[])
    options = parser.parse_args()
    build = ["--compiler", options.compiler, *(word for shape in options.shape for word in ("--shape", shape))]
    explained = byoc(options, "explain", options.model, *build)
    text = byoc(options, "print", options.model, *build, "--after", "fuse_ops", "--elide", "0")["text"]
    with tempfile.TemporaryDirectory() as folder:
        artifact = str(Path(folder) / "model.byoc")
        byoc(options, "compile", options.model, *build, "--output", artifact)
        manifest = read_manifest(artifact)
    wrong = [*wrong_ops(read_functions(text), explained), *wrong_functions(manifest, explained)]
    if explained["uncompiled"] or not explained["ops"]:
        wrong.append(f"{len(explained['ops'])} ops are explained, {explained['uncompiled']}")
    print("\n".join(wrong) if wrong else f"{len(explained['ops'])} ops in {len(explained['regions'])} functions agree")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
