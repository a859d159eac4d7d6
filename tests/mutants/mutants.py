#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py BUILD SOURCE FOLDER PROGRAM [--count N] [--seed N]: mutants of small files for every reader.

The files are those of the tests: models, .ir files, logs; artifacts, graphs and patterns are made of them. N mutants in all,
shared among the readers. Prints the counts, and the files of mutants that end a reader's process, which are kept in FOLDER.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

SHARES = {"onnx": 5, "artifact": 3, "graph": 4, "pattern": 2, "log": 2, "ir": 4, "calls": 4}
MOST_BYTES = 6000
PATTERNS = [
    {"op": "relu", "args": [{"any": True, "as": "x"}]},
    {"op": "add", "args": [{"any": True, "as": "x"}, {"const": True, "as": "w"}], "as": "root"},
    {"dag": {"repeat": {"op": "relu", "args": ["$"]},
             "on": {"op": "add", "args": [{"any": True, "as": "x"}, {"const": True, "as": "w"}], "as": "root"}, "min": 1, "as": "post"}},
    {"repeat": {"op": "relu", "args": ["$"]}, "on": {"op": "conv2d", "args": [{"any": True}, {"const": True}]}, "min": 0, "as": "p"},
]
MODELS = ["fn main(%x: f32[2,3]) {\n  %b = const([1, 2, 3]) : f32[3]\n  %0 = add(%x, %b)\n  %1 = relu(%0)\n  return %1, %0\n}\n",
          "fn main(%x: f32[3,4]) {\n  %0 = nonzero(%x) {size=\"n\"}\n  %1 = reshape(%0) {shape=[-1]}\n  return %0, %1\n}\n",
          "fn main(%n: i64[], %x: f32[4]) {\n  %true = const(true) : bool[]\n  %0 = loop(%n, %true, @step, %x) {carried=1} : f32[4]\n"
          "  return %0\n}\nfn step(%i: i64[], %x: f32[4]) {\n  %limit = const(1.0) : f32[]\n  %half = const(0.5) : f32[]\n"
          "  %0 = multiply(%x, %half)\n  %1 = max(%0) {axes=[0], keepdims=false}\n  %2 = greater(%1, %limit)\n  return %2, %0\n}\n"]


def small(paths):
    return [path for path in sorted(paths) if path.stat().st_size <= MOST_BYTES]


def graphs_of(byoc, model, folder, env):
    """The graph JSON of the regions of a model."""
    out = folder / ("dump-" + model.stem)
    subprocess.run([byoc, "dump", model, "--compiler", "json", "-o", out], env=env, cwd=folder, capture_output=True, check=True)
    return sorted(out.rglob("graph.json"))


def seeds_of(build, source, folder):
    byoc = build / "bin/byoc"
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), BYOC_TUNING_PATH="")
    seeds = {"onnx": small((source / "tests").rglob("*.onnx"))[::5], "ir": [], "artifact": [], "graph": [], "pattern": [], "log": [], "calls": []}
    for k, text in enumerate(MODELS):
        model = folder / f"model{k}.ir"
        model.write_text(text)
        artifact = folder / f"model{k}.byoc"
        subprocess.run([byoc, "compile", model, "--compiler", "json", "-o", artifact, "-q"], env=env, cwd=folder,
                       capture_output=True, check=True)
        seeds["ir"].append(model)
        seeds["artifact"].append(artifact)
        seeds["graph"] += graphs_of(byoc, model, folder, env)
    for case in sorted((source / "tests/golden").rglob("*.ir")):
        text = case.read_text()
        if "error" in text.split("// ---- ")[-1][:6] or "external_mods" in text or "const<" in text:
            continue
        path = folder / f"golden-{case.parent.name}-{case.stem}.ir"
        path.write_text(re.sub(r"(?m)^//.*\n", "", text.split("// ---- ")[0]))
        seeds["ir"].append(path)
    seeds["ir"] = small(seeds["ir"])
    for k, pattern in enumerate(PATTERNS):
        path = folder / f"pattern{k}.json"
        path.write_text(json.dumps(pattern.get("dag", pattern)))
        seeds["pattern"].append(path)
    draw = random.Random(53)
    for k in range(40):  # calls of the C API: any bytes are some
        path = folder / f"calls{k}"
        path.write_bytes(draw.randbytes(1000))
        seeds["calls"].append(path)
    for log in sorted((source / "share/byoc/tuning").glob("*.jsonl")):
        lines = log.read_text().splitlines(keepends=True)
        for k in range(0, len(lines), max(1, len(lines) // 8)):
            path = folder / f"{log.stem}-{k}.jsonl"
            path.write_text("".join(lines[k:k + 2]))
            seeds["log"].append(path)
    return seeds


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "source", "folder", "program"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--seeds-only", action="store_true", help="writes FOLDER/seeds/READER, for libFuzzer")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    seeds = seeds_of(options.build, options.source, options.folder)
    if options.seeds_only:
        for name, paths in seeds.items():
            corpus = options.folder / "seeds" / name
            corpus.mkdir(parents=True, exist_ok=True)
            for k, path in enumerate(paths):
                shutil.copy(path, corpus / str(k))
        return False
    plugin = options.build / "lib/byoc/plugins/libbyoc_json.so"
    failed = False
    for name, share in SHARES.items():
        if options.only not in (None, name):
            continue
        count = options.count * share // sum(SHARES.values())
        ran = subprocess.run([options.program, name, str(count), str(options.seed), plugin, options.folder / "faults", *seeds[name]],
                             env=dict(os.environ, XDG_CACHE_HOME=str(options.folder / "cache"), BYOC_MUTANT_PLUGIN=str(plugin),
                                      BYOC_MUTANT_ARTIFACTS=":".join(map(str, seeds["artifact"]))), check=False)
        failed |= ran.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
