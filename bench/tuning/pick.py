#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins logs of `byoc tune` into one, by what each record gains inside of whole networks.

A point that is the fastest alone may be slower in a network, where other layers have filled the caches. So each
network runs with each log and without any, in turns. A task gets the record with which the steps that have the task
took the least time in all networks, or none where no log makes them faster by the margin. Tasks that no network has
keep the record of the first log. The result has at most one record per task.
"""

import argparse
import collections
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import networks  # noqa: E402
from networks import call, find_task, flags_of, peers, read_log, task_of  # noqa: E402

EXAMPLES = """examples:
  pick.py networks/* --log share/byoc/tuning/amd-family26.jsonl --log new.jsonl --output picked.jsonl
  pick.py networks/resnet50 --log new.jsonl --output picked.jsonl --rounds 9"""
NONE = "none"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="pick.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--log", metavar="FILE", action="append", required=True, help="a log; may be repeated")
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the log to write")
    parser.add_argument("--compiler", metavar="A,B", default="llvm", help="as byoc's (default llvm)")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="of a run (default 1)")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="profiles with each log (default 5)")
    parser.add_argument("--margin", metavar="X", type=float, default=0.985,
                        help="a record takes X times the time without it or less (default 0.985)")
    parser.add_argument("--build", type=Path, default=peers.BUILD, help="byoc's build folder")
    options = parser.parse_args(arguments)
    options.models = []  # of find_models
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return options


def best_records(records):
    """Returns {task: record}, the one that a compilation takes: the winner of duels, else the least time."""
    by_task = collections.defaultdict(list)
    for _, record in records:
        if record and record["samples_ns"] and not record.get("error"):
            by_task[task_of(record)].append(record)
    out = {}
    for task, all_of_task in by_task.items():
        left = sorted(all_of_task, key=lambda r: min(r["samples_ns"]))
        best, seen = left[0], []
        while best.get("lost_to") and best["point"] not in seen:
            seen.append(best["point"])
            best = next((r for r in left if r["point"] == best["lost_to"]), best)
        out[task] = best
    return out


def tasks_of(options, file, flags, log, records):
    """Returns {symbol: task} of the functions of a model that have a record in a log."""
    with tempfile.TemporaryDirectory() as folder:
        value = call(options, "compile", file, *flags, "--tuning-log", log, "-o", Path(folder) / "m.byoc")
    hits = [f for f in value.get("tuning", {}).get("functions", []) if f["origin"] in ("exact", "compatible")]
    found = {hit["symbol"]: find_task(records, hit) for hit in hits}
    return {symbol: task for symbol, task in found.items() if task}


def profile(options, file, flags, log):
    """Returns {symbol: ns} of the steps of a run."""
    value = call(options, "run", file, *flags, "--tuning-log", log, "--profile")
    return {step["symbol"]: step["time_ns"] for step in value["profile"]}


def least(times):
    """Returns the mean of the three least times."""
    few = sorted(times)[:3]
    return sum(few) / len(few)


def measure(options, file, flags):
    """Returns {symbol: {log or NONE: ns}}."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    logs = [NONE, *options.log]
    for turn in range(options.rounds):
        for log in logs if turn % 2 == 0 else reversed(logs):
            for symbol, ns in profile(options, file, flags, log).items():
                times[symbol][log].append(ns)
    return {symbol: {log: least(ns) for log, ns in by_log.items()} for symbol, by_log in times.items()}


def add(totals, tasks, times, logs):
    """Adds the times of a network's steps to those of their tasks, {task: {log or NONE: ns}}."""
    for symbol, by_log in times.items():
        found = {tasks[log][symbol] for log in logs if symbol in tasks[log]}
        if len(found) == 1 and len(by_log) == len(logs) + 1:
            totals[found.pop()].update(by_log)


def choose(totals, records, logs, margin):
    """Returns {task: log or NONE}."""
    out = {}
    for task, by_log in totals.items():
        best = min((log for log in logs if task in records[log]), key=lambda log: by_log[log])
        out[task] = best if by_log[best] <= margin * by_log[NONE] else NONE
    return out


def lines_of(choice, records, logs):
    """Returns the lines of the new log: the chosen records, then those of the first log that no network has."""
    picked = [records[log][task] for task, log in sorted(choice.items()) if log != NONE]
    rest = [record for task, record in sorted(records[logs[0]].items()) if task not in choice]
    alone = [{name: value for name, value in record.items() if name != "lost_to"} for record in picked + rest]
    return [json.dumps(record, separators=(",", ":")) for record in alone]


def main(arguments):
    options = parse(arguments)
    try:
        lines = {log: read_log(Path(log)) for log in options.log}
        records = {log: best_records(lines[log]) for log in options.log}
        totals = collections.defaultdict(collections.Counter)
        for name, file in peers.find_models(options):
            flags = flags_of(options, file)
            tasks = {log: tasks_of(options, file, flags, log, lines[log]) for log in options.log}
            times = measure(options, file, flags)
            add(totals, tasks, times, options.log)
            sums = {log: sum(by_log.get(log, 0) for by_log in times.values()) for log in [NONE, *options.log]}
            print(f"{name:<16} " + "  ".join(f"{log} {ns / 1e6:.3f} ms" for log, ns in sums.items()), flush=True)
        choice = choose(totals, records, options.log, options.margin)
        networks.rewrite(options.output, lines_of(choice, records, options.log))
    except peers.Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    count = collections.Counter(choice.values())
    print("tasks: " + ", ".join(f"{count[log]} of {log}" for log in [NONE, *options.log]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
