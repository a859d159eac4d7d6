#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares byoc with ONNX Runtime on the folders of make_zoo.py, in steps of the output.

    python3 compare_zoo.py zoo/*                     json, llvm and onednn,llvm, 16 inputs each
    python3 compare_zoo.py zoo/yolo_u8 --compiler llvm --inputs 50

A step is the scale of the last DequantizeLinear; of an output in floats, 1/255 of its range. ONNX
Runtime's own spread is the largest difference of two of its results for one input: at four levels of
optimisation, by one and two threads, also when elements of the input move by one unit in the last
place. A model with i8 activations computes the same as the one with u8
beside it (NAME_u8 of NAME_i8), whose results count, too. byoc's difference is that to the nearest of
these results. Fails when it exceeds the spread, unless the difference is explained: each integer
inside of the network is, for byoc's own integers before it, a right rounding of the value in f64, within
the error that f32 has there (exact.py). Then the line has the number of integers next to a tie.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

from exact import Judge
from runtime import all_results, apart, output_steps, spread_of

ROOT = Path(__file__).resolve().parents[3]


class Byoc:
    def __init__(self, build, model, compiler, work):
        self.build, self.artifact, self.work = build, work / "model.byoc", work
        onnx.save(model, work / "model.onnx")
        self.call("byoc", "compile", work / "model.onnx", "--compiler", compiler, "-o", self.artifact, "-q")

    def call(self, program, *words):
        done = subprocess.run([str(self.build / "bin" / program), *map(str, words)], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{program} ends with {done.returncode}: {done.stderr.strip()[:300]}")

    def run(self, feed, threads):
        return list(self.named(feed, threads).values())

    def named(self, feed, threads):
        """The outputs by name, in their order."""
        words = []
        for name, value in feed.items():
            np.save(self.work / "in.npy", value)
            words += ["--input", f"{name}={self.work}/in.npy"]
        self.call("byoc-run", self.artifact, "--threads", threads, "--output-dir", self.work / "out", *words)
        entries = json.loads((self.work / "out" / "outputs.json").read_text())["outputs"]
        return {entry["name"]: np.load(self.work / "out" / entry["file"]) for entry in entries}


def explain(args, folder, compiler, feeds, outputs):
    """Returns whether every integer is right, and a text. outputs: of the model as it is, per feed."""
    judge = Judge(folder / "model.onnx")
    wrong = near = count = 0
    with tempfile.TemporaryDirectory() as name:
        byoc = Byoc(args.build, judge.with_tensors(), compiler, Path(name))
        for feed, right in zip(feeds, outputs):
            got = byoc.named(feed, 1)
            if any((x != y).any() for x, y in zip(got.values(), right)):
                return False, "the network with its integers as outputs computes otherwise"
            try:
                judged = judge.judge(feed, got)
            except (KeyError, NotImplementedError) as error:
                return False, f"not judged: {error}"
            wrong, near, count = wrong + judged[0], near + judged[1], count + judged[2]
    if wrong:
        return False, f"{wrong} of {count} integers are wrong"
    return True, f"explained: {near} of {count} integers beside a tie, none wrong"


def compare(args, folder):
    """Prints a line; returns true when all is within the spread."""
    model = onnx.load(folder / "model.onnx")
    x = np.load(folder / "input_0.npy")
    random = np.random.default_rng(5)
    feeds = [{model.graph.input[0].name: value.astype(x.dtype)}
             for value in [x] + [random.standard_normal(x.shape) for _ in range(args.inputs - 1)]]
    same = folder.parent / folder.name.replace("_i8", "_u8")
    paths = sorted({folder / "model.onnx", same / "model.onnx"})
    runs = all_results(paths, feeds)
    steps = output_steps(folder / "model.onnx", runs[0])
    spread = spread_of(paths, feeds, runs, steps)
    texts, is_right = [], True
    for compiler in args.compiler:
        try:
            with tempfile.TemporaryDirectory() as name:
                byoc = Byoc(args.build, model, compiler, Path(name))
                nearest, outputs = [], []
                for k, feed in enumerate(feeds):
                    outputs.append(byoc.run(feed, 1))
                    for got in (outputs[k], byoc.run(feed, 2)) if k == 0 else (outputs[k],):
                        nearest.append(min(apart(got, run[k], steps) for run in runs))
        except RuntimeError as error:
            texts.append(f"{compiler}: {error}")
            is_right = False
            continue
        worst, count = max(n[0] for n in nearest), sum(n[1] for n in nearest)
        text = f"{compiler} {worst:.2f} ({count})"
        if worst > spread + 0.01 or args.explain:
            is_explained, why = explain(args, folder, compiler, feeds, outputs)
            is_right &= is_explained
            text += f" {'' if is_explained else 'TOO FAR '}[{why}]"
        texts.append(text)
    print(f"{folder.name:26} spread {spread:.2f}  " + "  ".join(texts), flush=True)
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--compiler", action="append", help="may be repeated")
    parser.add_argument("--inputs", type=int, default=16)
    parser.add_argument("--explain", action="store_true", help="judge the integers of all networks")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder of byoc")
    args = parser.parse_args()
    args.compiler = args.compiler or ["json", "llvm", "onednn,llvm"]
    if not all([compare(args, folder) for folder in args.folders]):
        sys.exit("byoc is further from ONNX Runtime than that is from itself")


if __name__ == "__main__":
    main()
