# SPDX-License-Identifier: Apache-2.0
"""Times byoc with several numbers of threads beside ONNX Runtime, within a limit of time.

The models are compiled here, for this processor. The most threads come first, and of each number of threads all
networks by name, so that a limit that is too short leaves out the fewest threads. Outputs are compared with those of
ONNX Runtime before anything is timed. Exit code 1: an output is wrong.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "isa")]
from report import machine  # noqa: E402
from turns import CORES, Child, Failed, check, keep_to_cores, one_round, runs_per_turn  # noqa: E402

COMPILERS = ["llvm", "onednn,llvm", "auto"]
ROUNDS, TURN_MS = 4, 60
TOLERANCE = 1e-4


def parse(arguments):
    parser = argparse.ArgumentParser(prog="many_cores.sh", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="bin/bench_serve, lib/byoc/plugins and networks/NAME/model.onnx")
    parser.add_argument("--seconds", metavar="S", type=float, default=230, help="the most seconds in all (default 230)")
    parser.add_argument("--threads", metavar="N,M", default="16,8,4", help="numbers of threads (default 16,8,4)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="the figures")
    options = parser.parse_args(arguments)
    try:
        options.threads = sorted({int(n) for n in options.threads.split(",")}, reverse=True)
    except ValueError:
        parser.error(f"--threads expects numbers, as in 8,4, got \"{options.threads}\"")
    if options.threads[-1] < 1 or options.seconds <= 0:
        parser.error("--threads must be 1 or more, and --seconds above 0")
    return options


def counts_for(given, cores):
    """Returns the numbers of threads that the cores suffice for, or all cores, and a line where these are others."""
    counts = [n for n in given if n <= cores] or [cores]
    if counts == given:
        return counts, ""
    return counts, (f"this machine has {cores} cores: {', '.join(map(str, counts))} threads in place of "
                    f"{', '.join(map(str, given))}")


def start_all(options, file, threads, folder, deadline):
    """Starts ONNX Runtime, then byoc with each compiler on the same inputs. Returns {name: process}, and {name:
    reason} of those that do not start or whose outputs are wrong."""
    setup = {"peer": "onnxruntime", "model": str(file), "threads": threads}
    children = {"ONNX Runtime": Child("ONNX Runtime", [sys.executable, str(HERE / "peer_child.py"), json.dumps(setup)])}
    reference = children["ONNX Runtime"]
    inputs = reference.ask(f"inputs {folder}")["inputs"]
    environment = {"BYOC_PLUGIN_PATH": str(options.folder / "lib" / "byoc" / "plugins")}

    def start(compiler):
        command = [str(options.folder / "bin" / "bench_serve"), str(file), "--compiler", compiler, "--threads",
                   str(threads)]
        for given in inputs:
            command += ["--input", f"{given['name']}={given['file']}"]
            if given["dims"]:
                command += ["--shape", f"{given['name']}={'x'.join(map(str, given['dims']))}"]
        try:
            left = max(deadline - time.monotonic(), 1)
            return Child(f"byoc --compiler {compiler}", ["timeout", str(math.ceil(left)), *command], environment)
        except Failed as failure:
            return failure

    failed = {}
    with ThreadPoolExecutor(len(COMPILERS)) as pool:  # they compile at the same time
        for compiler, child in zip(COMPILERS, pool.map(start, COMPILERS)):
            if isinstance(child, Failed):
                failed[compiler] = str(child).splitlines()[-1]
            else:
                children[compiler] = child
    return children, failed


def measure_network(options, name, file, threads, deadline):
    """Returns the medians in ms of a network by name of the program, and what was left out and why."""
    row = {"network": name, "threads": threads, "ms": {}, "left_out": {}, "wrong": False}
    keep_to_cores(threads)
    children = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            children, row["left_out"] = start_all(options, file, threads, folder, deadline)
            for compiler in [c for c in COMPILERS if c in children]:
                found = check(children["ONNX Runtime"], children[compiler], TOLERANCE)
                if found["agrees"]:
                    continue
                row["wrong"] = True
                row["left_out"][compiler] = f"WRONG: {found['why'] or found['error']}"
                children.pop(compiler).close()
            running = list(children.values())
            counts = [runs_per_turn(child, TURN_MS) for child in running]
            rounds = []
            while len(rounds) < ROUNDS and (not rounds or time.monotonic() < deadline):
                rounds.append(one_round(running, counts, len(rounds) % 2 == 1))
            for c, program in enumerate(children):
                row["ms"][program] = statistics.median(statistics.median(turns[c]) for turns in rounds) / 1e6
        except (Failed, OSError) as failure:
            row["left_out"]["ONNX Runtime"] = str(failure).splitlines()[-1]
        finally:
            for child in children.values():
                child.close()
    return row


def ratio(row, compiler):
    """Returns byoc's time over ONNX Runtime's, or None."""
    times = row["ms"]
    return times[compiler] / times["ONNX Runtime"] if {compiler, "ONNX Runtime"} <= times.keys() else None


def line_of(row):
    begin = f"{row['network']:<18} {row['threads']:>2} thr"
    if "ONNX Runtime" in row["ms"]:
        begin += f"   ONNX Runtime {row['ms']['ONNX Runtime']:9.3f} ms"
    parts = [f"{c} {row['ms'][c]:9.3f} ms ({ratio(row, c):.2f})" for c in COMPILERS if ratio(row, c) is not None]
    parts += [f"{name} left out: {why}" for name, why in row["left_out"].items()]
    return "   ".join([begin, *parts])


def summary_of(rows):
    """Yields a line per number of threads: geometric means, and the largest ratio."""
    for threads in sorted({row["threads"] for row in rows}):
        parts = []
        for compiler in COMPILERS:
            found = [r for r in (ratio(row, compiler) for row in rows if row["threads"] == threads) if r is not None]
            if found:
                mean = math.exp(sum(map(math.log, found)) / len(found))
                parts.append(f"{compiler} {mean:.2f}, at most {max(found):.2f} ({len(found)} networks)")
        yield f"{'geometric mean':<18} {threads:>2} thr   " + "   ".join(parts or ["no ratio"])


def main(arguments):
    options = parse(arguments)
    options.folder = options.folder.resolve()
    deadline = time.monotonic() + options.seconds
    networks = sorted(options.folder.glob("networks/*/model.onnx"))
    serve = options.folder / "bin" / "bench_serve"
    if not networks or not serve.exists():
        missing = "networks/*/model.onnx" if not networks else "bin/bench_serve"
        print(f"error: no {missing} in {options.folder}", file=sys.stderr)
        return 2
    cores = len(CORES) or os.cpu_count()
    counts, note = counts_for(options.threads, cores)
    print("\n".join(filter(None, [machine(), note])), flush=True)
    rows, left_out = [], []
    for threads in counts:
        for file in networks:
            if time.monotonic() >= deadline:
                left_out.append(f"{file.parent.name} with {threads}")
                continue
            rows.append(measure_network(options, file.parent.name, file, threads, deadline))
            print(line_of(rows[-1]), flush=True)
    for line in summary_of(rows):
        print(line)
    if left_out:
        print(f"left out after {options.seconds:g} s: {', '.join(left_out)} threads")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows, "left_out": left_out}, indent=1) + "\n")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
