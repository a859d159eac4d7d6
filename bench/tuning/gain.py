#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes models, and times them tuned, untuned, and as another build compiles them, in turns.

Each model is tuned for --budget seconds (0: only with the log that is there), and compiled with the log
and without. The artifacts run in processes that stay alive and take turns, so that a slow minute of the
machine affects all; ratios are those of the medians of one round. Outputs are compared first.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import compare as peers  # noqa: E402

EXAMPLES = """examples:
  gain.py networks/resnet18 networks/lstm --logs logs --budget 600
  gain.py networks/resnet18 --logs logs --budget 0 --baseline ../byoc-before/build    # logs that exist"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gain.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--logs", metavar="DIR", type=Path, default=Path("logs"), help="of DIR/MODEL.jsonl")
    parser.add_argument("--budget", metavar="S", type=float, default=600, help="seconds of tuning per model")
    parser.add_argument("--trials", metavar="N", type=int, default=100000, help="points per task on average")
    parser.add_argument("--compiler", metavar="A,B", default="llvm", help="as byoc's (default llvm)")
    parser.add_argument("--shape", metavar="NAME=DIMS", action="append", default=[], help="as byoc's")
    parser.add_argument("--build", type=Path, default=peers.BUILD, help="byoc's build folder")
    parser.add_argument("--baseline", metavar="BUILD", type=Path, help="the build folder of another byoc")
    parser.add_argument("--baseline-compiler", metavar="A,B", help="of that one (default: --compiler)")
    parser.add_argument("--rounds", metavar="N", type=int, default=12, help="turns of each (default 12)")
    parser.add_argument("--turn-ms", metavar="T", type=float, default=300, help="length of a turn (default 300)")
    parser.add_argument("--tolerance", metavar="X", type=float, default=1e-4,
                        help="largest difference as a part of the largest value (default 1e-4)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="everything, samples too")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    options.models = []  # of find_models
    return options


def call(command):
    """Runs a program of byoc, whose progress is shown. Errors: Failed with the last line of its output."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise peers.Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return done.stdout


def shapes(options, file):
    """Returns the --shape flags whose names are those of inputs or open sizes of the model."""
    text, out = file.read_bytes(), []
    for given in options.shape:
        name = given.split("=")[0].encode()
        # ValueInfoProto.name and TensorShapeProto.Dimension.dim_param of the ONNX format
        if any(bytes([tag, len(name)]) + name in text for tag in (0x0A, 0x12)):
            out += ["--shape", given]
    return out


def tune(options, file, log):
    """Returns the summary of a sitting."""
    if options.budget <= 0:
        return None
    log.parent.mkdir(parents=True, exist_ok=True)
    text = call([options.build / "bin" / "byoc", "tune", file, "--compiler", options.compiler, "--log", log, "--trials",
                 options.trials, "--budget", options.budget, *shapes(options, file), "--json"])
    return json.loads(text)


def compile_all(options, file, log, folder):
    """Returns (name, build folder, artifact) of each side, and the summary of hits."""
    sides = [("untuned", options.build, options.compiler, ["--tuning-log", "none"]),
             ("tuned", options.build, options.compiler, ["--tuning-log", log])]
    if options.baseline:
        sides.insert(0, ("before", options.baseline, options.baseline_compiler or options.compiler, []))
    out, tuning = [], {}
    for name, build, compiler, flags in sides:
        artifact = Path(folder) / f"{name}.byoc"
        text = call([build / "bin" / "byoc", "compile", file, "--compiler", compiler, "-o", artifact, "--json",
                     *shapes(options, file), *flags])
        out.append((name, build, artifact))
        if name == "tuned":
            tuning = json.loads(text).get("tuning", {})
    return out, tuning


def outputs_of(child, folder):
    import numpy
    Path(folder).mkdir()
    count = child.ask(f"outputs {folder}")["outputs"]
    return [numpy.load(Path(folder) / f"{k}.npy") for k in range(count)]


def largest_error(ours, theirs):
    """Returns the largest difference as a part of the largest value of an output; inf where shapes differ or one has NaN."""
    import numpy
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape:
            return math.inf
        scale = float(numpy.max(numpy.abs(b.astype("f8")), initial=0)) or 1.0
        error = float(numpy.max(numpy.abs(a.astype("f8") - b.astype("f8")), initial=0)) / scale
        worst = max(worst, math.inf if math.isnan(error) else error)
    return worst


def compare(options, name, file):
    log = options.logs / f"{name}.jsonl"
    if peers.CORES:
        os.sched_setaffinity(0, peers.CORES)
    sitting = tune(options, file, log)
    peers.keep_to_cores(1)
    children = []
    with tempfile.TemporaryDirectory() as folder:
        sides, tuning = compile_all(options, file, log, folder)
        try:
            for side, build, artifact in sides:
                children.append(peers.Child(side, [str(build / "bin" / "bench_serve"), str(artifact)]))
            samples = peers.measure(children, options)
            results = [outputs_of(child, Path(folder) / child.name) for child in children]
        finally:
            for child in children:
                child.close()
    rows = {side: peers.spread([min(turn) for turn in samples[c]]) for c, (side, _, _) in enumerate(sides)}
    names = [side for side, _, _ in sides]
    ratio = {f"{a}/tuned": peers.spread(peers.ratios(samples[names.index(a)], samples[names.index("tuned")]))
             for a in names if a != "tuned"}
    error = max(largest_error(result, results[0]) for result in results[1:])
    return {"model": name, "sitting": sitting, "tuning": tuning, "time_ns": rows, "ratio": ratio, "error": error,
            "agrees": error <= options.tolerance, "samples_ns": dict(zip(names, samples))}


def line_of(result):
    times = "  ".join(f"{side} {row['min'] / 1e6:.3f} ms" for side, row in result["time_ns"].items())
    gains = "  ".join(f"{key} {peers.ratio_text(row)}" for key, row in result["ratio"].items())
    verdict = f"max error {result['error']:.1e} of max"
    return f"{result['model']:<16} {times}   {gains}   {verdict if result['agrees'] else 'WRONG: ' + verdict}"


def geometric_means(results):
    keys = results[0]["ratio"] if results else {}
    return {key: math.exp(sum(math.log(r["ratio"][key]["median"]) for r in results) / len(results)) for key in keys}


def main(arguments):
    options = parse(arguments)
    results = []
    try:
        for name, file in peers.find_models(options):
            results.append(compare(options, name, file.resolve()))
            print(line_of(results[-1]), flush=True)
    except peers.Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    means = geometric_means(results)
    print("geometric mean   " + "  ".join(f"{key} {value:.3f}" for key, value in means.items()))
    if options.json:
        options.json.write_text(json.dumps({"schema": "byoc.gain/1", "results": results, "means": means}, indent=1) + "\n")
    return 0 if all(result["agrees"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
