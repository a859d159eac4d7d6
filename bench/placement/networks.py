#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Places networks by measured cost, and confirms each plan against its rivals.

Each network gets `byoc place`, whose contest names the fastest plugin alone and the order of priority.
`byoc bench --vs` then times --compiler auto against both in turns, with an A/A control. With --estimates
nothing is measured before: the choice follows from a fresh calibration, and the rivals are all plugins alone.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = """examples:
  networks.py networks/* --threads 1,2 --json placed.json --markdown placed.md
  networks.py networks/* --estimates"""
COLUMNS = ["network", "threads", "plan", "ms", "single", "single / plan", "order", "order / plan", "control", "cores", "RN",
           "gap", "bound", "ranks", "s"]


class Failed(Exception):
    """A command of byoc that ended with an error."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="networks.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", type=Path, help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--compiler", default="onednn,llvm,xnnpack,openblas", help="the plugins, by priority")
    parser.add_argument("--threads", default="1", metavar="N,M", help="numbers of threads (default 1)")
    parser.add_argument("--estimates", action="store_true", help="place by estimates alone")
    parser.add_argument("--improve", type=float, default=30, metavar="S",
                        help="seconds of moving ops in `byoc place` (default 30)")
    parser.add_argument("--min-time", type=float, default=2, metavar="S", help="of each side of --vs (default 2)")
    parser.add_argument("--rounds", type=int, default=8, help="blocks of --vs (default 8)")
    parser.add_argument("--byoc", default="build/bin/byoc", help="the program (default build/bin/byoc)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table")
    return parser.parse_args(arguments)


def call(options, *words, environment=None):
    """Returns the JSON that a command prints. Errors: Failed with its message."""
    done = subprocess.run([options.byoc, *map(str, words), "--json"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment)
    try:
        value = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Failed((done.stderr.strip().splitlines() or ["no output"])[-1]) from None
    if not value["ok"]:
        raise Failed(value["error"]["message"])
    return value


def versus(options, file, threads, rival, environment=None):
    """Returns time ratios, rival / auto and auto / auto."""
    plan = ["--plan", "none"] if options.estimates else []
    value = call(options, "bench", file, "--compiler", f"auto,{options.compiler}", *plan, "--threads", threads, "--vs",
                 f"compiler={','.join(rival)}", "--no-check", "--no-peaks", "--min-time", options.min_time, "--rounds",
                 options.rounds, environment=environment)
    return {"ratio": value["versus"]["b_against_a"], "control": value["versus"]["control"],
            "cores": value["versus"]["cores"], "auto_ns": value["configurations"][0]["median_ns"]}


def fastest(choices, kind):
    runs = [choice for choice in choices if choice["kind"] == kind and not choice["error"]]
    return min(runs, key=lambda choice: choice["ns"]) if runs else None


def measured_row(options, file, threads):
    begin = time.monotonic()
    placed = call(options, "place", file, "--compiler", options.compiler, "--threads", threads,
                  "--improve", options.improve)
    row = {"seconds": time.monotonic() - begin, "place": placed, "origin": placed["origin"]}
    for kind in ("single", "order"):
        rival = fastest(placed["choices"], kind)
        if rival:
            row[kind] = {"name": rival["name"], **versus(options, file, threads, rival["compilers"])}
    return row


def estimated_row(options, file, threads, folder):
    """Tries each plugin alone, with the rest for llvm, and keeps the fastest."""
    environment = {**os.environ, "XDG_CACHE_HOME": folder}
    row = {"seconds": 0.0, "origin": "estimates"}
    for plugin in options.compiler.split(","):
        rival = ["llvm"] if plugin == "llvm" else [plugin, "llvm"]
        result = {"name": ", then ".join(rival), **versus(options, file, threads, rival, environment)}
        if "single" not in row or result["ratio"]["ratio"] < row["single"]["ratio"]["ratio"]:
            row["single"] = result
    return row


def most_gain(row):
    """Returns the most that a choice could gain over the best plugin alone; None when it is not known."""
    return row.get("place", {}).get("free_borders", {}).get("most_gain")


def ranks(row):
    """Returns the rank correlation of each plugin's estimates with the measured times of its candidates."""
    return {one["plugin"]: one["rank_correlation"] for one in row.get("place", {}).get("agreement", [])}


def cores(row):
    """Returns the least multiply-adds of all threads over one's beside the times; None with one thread."""
    readings = [reading for kind in ("single", "order") for reading in row.get(kind, {}).get("cores", ())]
    return min((reading["speedup"] for reading in readings), default=None)


def cells(row):
    out = [row["network"], str(row["threads"]), row["origin"], f"{row['single']['auto_ns'] / 1e6:.3f}"]
    for kind in ("single", "order"):
        if kind not in row:
            out += ["-", "-"]
            continue
        ratio = row[kind]["ratio"]
        out += [row[kind]["name"], f"{ratio['ratio']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]"]
    out.append(f"{row['single']['control']['ratio']:.3f}")
    out.append(f"{cores(row):.2f}" if cores(row) else "-")
    solver = row.get("place", {}).get("solver", {})
    out.append(str(solver.get("heuristic_steps", "-")))
    out.append(f"{100 * solver['gap']:.1f} %" if solver else "-")
    out.append(f"{most_gain(row):.3f}" if most_gain(row) else "-")
    out.append(", ".join(f"{plugin} {rank:.2f}" for plugin, rank in sorted(ranks(row).items())) or "-")
    return out + [f"{row['seconds']:.0f}"]


def mean(rows, kind):
    logs = [math.log(row[kind]["ratio"]["ratio"]) for row in rows if kind in row]
    return math.exp(sum(logs) / len(logs)) if logs else None


def table(rows):
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, rows)]
    text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    for kind in ("single", "order"):
        if mean(rows, kind):
            text += f"\ngeometric mean, {kind} / plan: {mean(rows, kind):.3f}\n"
    for plugin in sorted({plugin for row in rows for plugin in ranks(row)}):
        of_plugin = [ranks(row)[plugin] for row in rows if plugin in ranks(row)]
        text += (f"\nrank correlation of the estimates of {plugin}: median {statistics.median(of_plugin):.2f}, "
                 f"least {min(of_plugin):.2f}\n")
    gains = [gain for gain in map(most_gain, rows) if gain]
    if gains:
        text += f"\ngeometric mean, bound: {math.exp(sum(map(math.log, gains)) / len(gains)):.3f}\n"
    return text


def write(options, rows, failures):
    text = table(rows) + "".join(f"\n{name}: {why}\n" for name, why in failures)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({"schema": "byoc.placed/1", "rows": rows, "failures": failures}, indent=1) + "\n")
    return text


def main(arguments):
    options = parse(arguments)
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads.split(","):
            if options.estimates:
                call(options, "calibrate", "--compiler", options.compiler, "--threads", threads,
                     environment={**os.environ, "XDG_CACHE_HOME": folder})
            for model in options.model:
                file = model / "model.onnx" if model.is_dir() else model
                name = model.name if model.is_dir() else model.stem
                try:
                    row = (estimated_row(options, file, threads, folder) if options.estimates
                           else measured_row(options, file, threads))
                except Failed as failure:
                    failures.append((f"{name}, {threads} threads", str(failure)))
                    print(*failures[-1], sep=": ", file=sys.stderr)
                    continue
                rows.append({"network": name, "threads": int(threads), **row})
                print(" ".join(cells(rows[-1])), flush=True)
                write(options, rows, failures)  # a run takes an hour; what it has so far is kept
    print(write(options, rows, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
