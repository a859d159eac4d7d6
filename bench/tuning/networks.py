#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes networks into one log: measures its old records again, then new points, within a budget.

A record that today's first guess of the plugin beats is dropped with the other records of its task: it is from before
the plugin changed. The two are timed in turns by `byoc bench --vs`, on the region of a network that has the task, for at
most a third of the budget. Then each network gets an equal part of the time that is left; `byoc tune` spends it on the tasks with the largest shares of
the network's time. At the end the log is compacted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import compare as peers  # noqa: E402

EXAMPLES = """examples:
  networks.py networks/* --log share/byoc/tuning/amd-family26.jsonl --budget 1500
  networks.py networks/resnet18 --log amd.jsonl --budget 60 --no-tune    # only measures records again"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="networks.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--log", metavar="FILE", type=Path, required=True, help="is read, changed and appended to")
    parser.add_argument("--budget", metavar="S", type=float, default=600, help="seconds of all work (default 600)")
    parser.add_argument("--compiler", metavar="A,B", default="llvm", help="as byoc's (default llvm)")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="of a run (default 1)")
    parser.add_argument("--margin", metavar="X", type=float, default=1.0,
                        help="a record stays when the first guess takes X times its time or more (default 1)")
    parser.add_argument("--no-recheck", action="store_true", help="keep all records of the log")
    parser.add_argument("--no-tune", action="store_true", help="measure no new points")
    parser.add_argument("--build", type=Path, default=peers.BUILD, help="byoc's build folder")
    options = parser.parse_args(arguments)
    if options.budget <= 0:
        parser.error("--budget must be more than 0")
    options.models = []  # of find_models
    return options


def call(options, *words):
    """Returns the JSON that a command of byoc prints. Errors: Failed with its message."""
    done = subprocess.run([str(options.build / "bin" / "byoc"), *map(str, words), "--json"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        value = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise peers.Failed((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]) from None
    if not value["ok"]:
        raise peers.Failed(value["error"]["message"])
    return value


def flags_of(options, file):
    """Returns the flags of all commands on a model: its inputs have the extents of those stored beside it."""
    out = ["--compiler", options.compiler, "--threads", options.threads]
    stored = sorted((file.parent / "test_data_set_0").glob("input_*.pb"))
    if stored:
        from inputs import read_pb  # needs numpy
    for path in stored:
        name, value = read_pb(path)
        if name and value is not None and value.ndim > 0:
            out += ["--shape", f"{name}={'x'.join(map(str, value.shape))}"]
    return out


def read_log(log):
    """Returns (line, record) of each line; the record of a line that is no JSON is None."""
    out = []
    for line in log.read_text().splitlines() if log.exists() else []:
        try:
            out.append((line, json.loads(line)))
        except json.JSONDecodeError:
            out.append((line, None))
    return out


def task_of(record):
    return (record["key"], record["target"], record["threads"])


def find_task(records, hit):
    """Returns the task of the record that a function of a model was given, or None. Old records may have another kind, and
    their points may lack knobs that are new."""
    same_time = [record for _, record in records
                 if record and record["samples_ns"] and min(record["samples_ns"]) == hit["best_ns"]]
    same = [record for record in same_time if record["point"] == hit["point"]] or same_time
    return task_of(same[0]) if same else None


def duel(options, file, flags, symbol):
    """Returns the time of the first guess divided by that of the log's point, on one region of the model."""
    with tempfile.TemporaryDirectory() as folder:
        region = Path(folder) / "region"
        call(options, "dump", file, *flags, "--tuning-log", "none", "--region", symbol, "-o", region)
        value = call(options, "bench", region, "--compiler", options.compiler, "--threads", options.threads,
                     "--tuning-log", options.log, "--vs", "tuning-log=none", "--no-check", "--no-peaks", "--warmup", 0.05,
                     "--min-time", 0.2, "--rounds", 10)
    return value["versus"]["b_against_a"]["ratio"]


def hits_of(options, file, flags):
    """Returns the functions of a model that have a record of their own task, the heaviest first."""
    with tempfile.TemporaryDirectory(dir=options.log.resolve().parent) as folder:
        value = call(options, "compile", file, *flags, "--tuning-log", options.log, "-o", Path(folder) / "m.byoc")
    hits = [f for f in value.get("tuning", {}).get("functions", []) if f["origin"] in ("exact", "compatible")]
    return sorted(hits, key=lambda hit: -hit["weight_ns"])


def lost(ratio, margin):
    return ratio < margin


def without(records, tasks):
    """Returns the lines of a log without those of the tasks."""
    return [line for line, record in records if record is None or task_of(record) not in tasks]


def rewrite(log, lines):
    """Replaces a log by one write of a new file: a reader finds the old one or the new one."""
    temporary = log.with_name(log.name + ".new")
    temporary.write_text("".join(line + "\n" for line in lines))
    os.replace(temporary, log)


def recheck(options, models, end):
    """Measures the records that the models use against first guesses, and drops those that lose."""
    records, ratios = read_log(options.log), {}
    for name, file in models:
        flags = flags_of(options, file)
        for hit in hits_of(options, file, flags):
            task = find_task(records, hit)
            if task is None or task in ratios:
                continue
            if time.monotonic() > end:
                break
            ratios[task] = duel(options, file, flags, hit["symbol"])
            verdict = "dropped" if lost(ratios[task], options.margin) else "kept"
            print(f"{name:<16} {hit['symbol']:<16} {hit['kind']:<18} first guess / record {ratios[task]:.3f}  {verdict}",
                  flush=True)
    losers = {task for task, ratio in ratios.items() if lost(ratio, options.margin)}
    if losers:
        rewrite(options.log, without(records, losers))
    rest = {task_of(record) for _, record in records if record} - set(ratios)
    print(f"{len(ratios)} tasks measured again, {len(losers)} dropped; {len(rest)} tasks were not measured", flush=True)


def tune(options, models, end):
    """Tunes each model for an equal part of the time that is left; those that end early leave theirs to the others."""
    for k, (name, file) in enumerate(models):
        seconds = (end - time.monotonic()) / (len(models) - k)
        if seconds < 1:
            print(f"{name:<16} no time was left", flush=True)
            continue
        try:
            value = call(options, "tune", file, *flags_of(options, file), "--log", options.log, "--trials", 1000,
                         "--budget", f"{seconds:.1f}")
        except peers.Failed as failure:
            print(f"{name:<16} {failure}", flush=True)
            continue
        print(f"{name:<16} {seconds:5.0f} s  {line_of(value)}", flush=True)


def line_of(value):
    """Returns the sum over a model's calls before and after, as far as it is measured."""
    measured = sum(1 for task in value["tasks"] if task["measured"])
    before, after = value["untuned_ns"], value["best_ns"]
    gain = f"{before / 1e6:.2f} -> {after / 1e6:.2f} ms" if before and after else "no times"
    return f"{measured} of {len(value['tasks'])} tasks, {value['measured']} points  {gain}"


def main(arguments):
    options = parse(arguments)
    begin = time.monotonic()
    end = begin + options.budget
    recheck_end = end if options.no_tune else begin + options.budget / 3
    try:
        models = [(name, file.resolve()) for name, file in peers.find_models(options)]
        if not options.no_recheck and options.log.exists():
            recheck(options, models, recheck_end)
        if not options.no_tune:
            tune(options, models, end)
        if options.log.exists():
            subprocess.run([str(options.build / "bin" / "byoc"), "tune", "--compact", str(options.log)], check=True)
    except (peers.Failed, subprocess.CalledProcessError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
