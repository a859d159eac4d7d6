#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times byoc and ONNX Runtime on the same models and inputs, in turns, and compares their outputs.

Both run in processes that stay alive. In every round each of them runs a few times, and the order
alternates from round to round, so that a slow minute of the machine affects all. The ratio of a
round is that of the two medians in it; the report shows the median of these ratios and their spread,
and the ratio of the shortest runs. All run on the same cores, as many as there are threads: one core
of a shared machine may be slower than the next for minutes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
EXAMPLES = """examples:
  compare.py networks/resnet50 networks/vgg16 --compiler onednn
  compare.py networks/mobilenet_v2/model.onnx --compiler llvm --compiler onednn,llvm --threads 1,2
  compare.py --models networks --compiler onednn --rounds 20 --json=peers.json
  compare.py networks/resnet50 --compiler onednn --layers 15     # the slowest layers of both

ONNX Runtime is installed from the Python package index, once, into a separate folder (--venv). If
that fails, the program prints the reason and ends with exit code 0: there is nothing to compare with."""


class Failed(Exception):
    """An error whose text is printed for the user; exit code 1."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--models", metavar="DIR", action="append", default=[], help="all of DIR/*/model.onnx")
    parser.add_argument("--compiler", metavar="A,B", action="append", default=[],
                        help="as byoc's; several times: all are measured in the same rounds (default onednn)")
    parser.add_argument("--threads", metavar="N,M", default="1", help="thread counts, one after another (default 1)")
    parser.add_argument("--rounds", metavar="N", type=int, default=12, help="turns of each (default 12)")
    parser.add_argument("--turn-ms", metavar="T", type=float, default=300, help="length of a turn (default 300)")
    parser.add_argument("--tolerance", metavar="X", type=float, default=1e-4,
                        help="largest error as a part of the largest value (default 1e-4)")
    parser.add_argument("--layers", metavar="N", type=int, default=0,
                        help="also the N slowest layers of ONNX Runtime and of byoc, one thread count at a time")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="everything, samples too")
    parser.add_argument("--build", type=Path, default=BUILD, help="byoc's build folder (default: that of this tree)")
    parser.add_argument("--venv", type=Path, help="where ONNX Runtime is installed (default BUILD/peers_venv)")
    parser.add_argument("--no-install", action="store_true", help="do not install it when it is not there")
    options = parser.parse_args(arguments)
    options.compiler = options.compiler or ["onednn"]
    options.venv = options.venv or options.build / "peers_venv"
    try:
        options.threads = [int(n) for n in options.threads.split(",")]
    except ValueError:
        parser.error(f"--threads expects numbers, as in 1,2, got \"{options.threads}\"")
    if min(options.threads) < 1 or options.rounds < 1:
        parser.error("--threads and --rounds must be 1 or more")
    if not options.model and not options.models:
        parser.error("no models: give files, folders, or --models DIR")
    return options


def find_models(options):
    """Returns (name, file) of each model in the given order; those of a folder by name."""
    found = []
    for given in map(Path, options.model):
        file = given / "model.onnx" if given.is_dir() else given
        if not file.is_file():
            raise Failed(f"no model at {file}")
        found.append((file.parent.name if file.name == "model.onnx" else file.stem, file))
    for folder in map(Path, options.models):
        here = sorted(folder.glob("*/model.onnx"))
        if not here:
            raise Failed(f"no {folder}/*/model.onnx")
        found += [(file.parent.name, file) for file in here]
    return found


def has_onnxruntime(python):
    command = [python, "-c", "import onnxruntime, numpy"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def find_python(options, say):
    """Returns a Python that has ONNX Runtime (this one, or that of a venv, which is created if needed), or None and the reason."""
    own = options.venv / "bin" / "python"
    for python in (sys.executable, str(own)):
        if Path(python).exists() and has_onnxruntime(python):
            return python, None
    if options.no_install:
        return None, "ONNX Runtime is not installed, and --no-install is given"
    say(f"installing ONNX Runtime in {options.venv}")
    for command in ([sys.executable, "-m", "venv", str(options.venv)],
                    [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "onnxruntime"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            return None, f"ONNX Runtime cannot be installed: {lines[-1]}"
    return (str(own), None) if has_onnxruntime(str(own)) else (None, "the installed ONNX Runtime does not load")


class Child:
    """A process that replies to every line with a line of JSON."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env={**os.environ, **(environment or {})})
        self.hello = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.process.wait()
        self.errors.seek(0)
        raise Failed(f"{self.name} ended (exit code {self.process.returncode}): {self.errors.read().strip()}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def keep_to_cores(threads):
    """Binds this process and its later children to the last cores; the first ones handle interrupts."""
    if CORES:
        os.sched_setaffinity(0, CORES[-threads:])


def start(python, options, file, threads, folder):
    """Starts ONNX Runtime, then one bench_serve per compiler, all with the same inputs."""
    keep_to_cores(threads)
    peer = Child("ONNX Runtime", [python, str(HERE / "onnxruntime_child.py"),
                                  json.dumps({"model": str(file), "threads": threads})])
    children = [peer]
    inputs = peer.ask(f"inputs {folder}")["inputs"]
    try:
        for compiler in options.compiler:
            command = [str(options.build / "bin" / "bench_serve"), str(file), "--compiler", compiler,
                       "--threads", str(threads)]
            for given in inputs:
                command += ["--input", f"{given['name']}={given['file']}"]
                if given["dims"]:
                    command += ["--shape", f"{given['name']}={'x'.join(map(str, given['dims']))}"]
            children.append(Child(f"byoc --compiler {compiler}", command))
    except Failed:
        for child in children:
            child.close()
        raise
    return children


def runs_per_turn(children, turn_ms):
    """Returns the number of runs for which the slowest child takes about a turn."""
    slowest = max(min(child.ask("run 2")["ns"]) for child in children)
    return max(1, min(1000, round(turn_ms * 1e6 / slowest)))


def measure(children, options):
    """samples[c][r]: the times of child c in round r. Waits between turns until thread pools are idle."""
    samples = [[] for _ in children]
    count = runs_per_turn(children, options.turn_ms)
    for k in range(options.rounds):
        order = range(len(children)) if k % 2 == 0 else reversed(range(len(children)))
        for c in order:
            time.sleep(0.05)
            samples[c].append(children[c].ask(f"run {count}")["ns"])
    return samples


def spread(values):
    ordered = sorted(values)
    quarter = statistics.quantiles(ordered, n=4) if len(ordered) > 1 else [ordered[0]] * 3
    return {"median": statistics.median(ordered), "q1": quarter[0], "q3": quarter[2], "min": ordered[0],
            "max": ordered[-1]}


def ratios(ours, theirs):
    return [statistics.median(a) / statistics.median(b) for a, b in zip(ours, theirs)]


def fastest_ratio(ours, theirs):
    """Returns the ratio of the shortest runs of all rounds, which other work on the machine disturbs least."""
    return min(map(min, ours)) / min(map(min, theirs))


def check(peer, child, tolerance):
    with tempfile.TemporaryDirectory() as folder:
        child.ask(f"outputs {folder}")
        answer = peer.ask(f"compare {folder}")
    error = answer["error"]
    return {"error": error, "agrees": error is not None and error <= tolerance, "why": answer.get("why")}


def layers_of(python, options, file, threads, folder):
    """Returns the slowest layers of both, each by its own profiler, in separate runs."""
    peer = Child("ONNX Runtime", [python, str(HERE / "onnxruntime_child.py"), json.dumps(
        {"model": str(file), "threads": threads, "profile": str(Path(folder) / "ort")})])
    inputs = peer.ask(f"inputs {folder}")["inputs"]
    peer.ask("run 10")
    theirs = peer.ask("layers")["layers"][:options.layers]
    peer.close()
    ours = {}
    for compiler in options.compiler:
        command = [str(options.build / "bin" / "byoc"), "bench", str(file), "--compiler", compiler, "--no-check",
                   "--threads", str(threads), "--json", "--min-time", "0.5"]
        for given in inputs:
            command += ["--input", f"{given['name']}={given['file']}",
                        *(["--shape", f"{given['name']}={'x'.join(map(str, given['dims']))}"] if given["dims"] else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        rows = [{"name": span["name"], "us": span["median_ns"] * span["calls_per_run"] / 1000,
                 "op": span["details"].get("implementation", "") + (" reorder" if span["is_reorder"] else "")}
                for span in json.loads(done.stdout)["configurations"][0]["spans"]]
        ours[compiler] = sorted(rows, key=lambda row: -row["us"])[:options.layers]
    return {"onnxruntime": theirs, "byoc": ours}


def compare(python, options, name, file, threads):
    with tempfile.TemporaryDirectory() as folder:
        children = start(python, options, file, threads, folder)
        try:
            samples = measure(children, options)
            peer = {"version": children[0].hello["version"], "samples_ns": samples[0],
                    "time_ns": spread([statistics.median(turn) for turn in samples[0]])}
            rows = []
            for c, compiler in enumerate(options.compiler, 1):
                rows.append({"compiler": compiler, "samples_ns": samples[c],
                             "time_ns": spread([statistics.median(turn) for turn in samples[c]]),
                             "to_onnxruntime": spread(ratios(samples[c], samples[0])),
                             "fastest_to_onnxruntime": fastest_ratio(samples[c], samples[0]),
                             "to_first_compiler": spread(ratios(samples[c], samples[1])),
                             **check(children[0], children[c], options.tolerance)})
        finally:
            for child in children:
                child.close()
        result = {"model": name, "threads": threads, "onnxruntime": peer, "byoc": rows}
        if options.layers:
            result["layers"] = layers_of(python, options, file, threads, folder)
    return result


def ratio_text(s):
    return f"{s['median']:.3f}  [{s['q1']:.3f}, {s['q3']:.3f}]  {s['min']:.3f} to {s['max']:.3f}"


def lines_of(result):
    """Yields one line per compiler: times, ratio to ONNX Runtime, and to the first compiler."""
    theirs = result["onnxruntime"]["time_ns"]["median"] / 1e6
    for row in result["byoc"]:
        error = "outputs differ in shape" if row["error"] is None else f"max error {row['error']:.1e} of max"
        verdict = error if row["agrees"] else f"WRONG: {row['why'] or error}"
        first = ""
        if row is not result["byoc"][0]:
            first = f"   to {result['byoc'][0]['compiler']} {ratio_text(row['to_first_compiler'])}"
        yield (f"{result['model']:<16} {result['threads']:>2} thr  {row['compiler']:<14} "
               f"{row['time_ns']['median'] / 1e6:9.3f} ms   ort {theirs:9.3f} ms   "
               f"ratio {ratio_text(row['to_onnxruntime'])}   fastest {row['fastest_to_onnxruntime']:.3f}   "
               f"{verdict}{first}")
    for name, rows in ({"ONNX Runtime": result["layers"]["onnxruntime"], **result["layers"]["byoc"]}.items()
                       if "layers" in result else ()):
        yield f"  slowest of {name}:"
        for row in rows:
            yield f"    {row['us']:10.1f} us  {row['op']:<28} {row['name']}"


def main(arguments):
    options = parse(arguments)
    to_json = options.json == "-"

    def say(text, results=False):
        print(text, file=sys.stderr if to_json or not results else sys.stdout, flush=True)

    try:
        models = find_models(options)
        if not (options.build / "bin" / "bench_serve").exists():
            raise Failed(f"no bench_serve in {options.build}/bin: build byoc first, or give --build")
        python, why = find_python(options, say)
        report = {"schema": "byoc.peers/1", "skipped": why, "rounds": options.rounds, "results": []}
        if python is None:
            say(f"skipped: {why}", results=True)
        else:
            say("ratio = byoc / ONNX Runtime: median [quartiles] min to max, over rounds; fastest: of the shortest runs", results=True)
        for name, file in models if python else ():
            for threads in options.threads:
                report["results"].append(compare(python, options, name, file, threads))
                for line in lines_of(report["results"][-1]):
                    say(line, results=True)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    if options.json:
        text = json.dumps(report, indent=1)
        print(text) if to_json else Path(options.json).write_text(text + "\n")
    return 0 if all(row["agrees"] for result in report["results"] for row in result["byoc"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
