#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times byoc inside ONNX Runtime, byoc alone and ONNX Runtime's own provider in turns, and compares outputs.

compare.py MODEL.onnx ... [--threads N] [--size NAME=N] [--compiler A,B] [--provider MODULE] [--rounds N] [--json FILE]

In every round each of them runs for a turn; the order moves from round to round. A time is the median run of a turn, and
a ratio the median, over the rounds, of two times of one round; "cpu" is the processor's time, which a busy machine does not
lengthen by waiting. Inputs are those stored beside a model, as ONNX's own tests have them, or random. --size fixes an open size,
such as a batch, for all of them. --provider adds another execution provider: NAME=LIBRARY, or the module of its wheel, such as
nxrt_ep_cpu, which has get_library_path().
Needs numpy and onnxruntime 1.23 or newer; BYOC_PREFIX is a build or an installation.
"""
import argparse
import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench/peers")]
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import byoc  # noqa: E402
from inputs import make_inputs  # noqa: E402

try:
    import onnxruntime
except ImportError:
    onnxruntime = None                                     # main() reports it, after --help

BOUND = 1e-4                                               # of the largest value
ADDED = {}                                                 # the names of devices that each library adds
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def session_options(args):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = args.threads, 3
    for name, number in args.size:
        options.add_free_dimension_override_by_name(name, number)
    return options


def own_provider(model, args):
    return onnxruntime.InferenceSession(model, session_options(args), providers=["CPUExecutionProvider"])


def with_provider(name, model, args, settings):
    options = session_options(args)
    names = {name} | ADDED.get(name, set())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name in names]
    if not devices:
        raise SystemExit(f"{name}: ONNX Runtime lists no device of this provider")
    options.add_provider_for_devices(devices[:1], settings)
    return onnxruntime.InferenceSession(model, options)


def ort_run(session, feeds):
    return lambda: session.run(None, feeds)


def byoc_run(model, feeds, args):
    bound = byoc.compile(model, compiler=args.compiler, threads=args.threads, shapes=dict(args.size)).bind(**feeds)

    def run():
        bound()
        return bound.outputs
    return run


def runners(model, args):
    """Returns {name: a function that runs once and returns the outputs}; the first is ONNX Runtime's own provider."""
    own = own_provider(model, args)
    wanted = [(one.name, one.shape, TYPES[one.type]) for one in own.get_inputs()]
    feeds = make_inputs(wanted, model)
    inside = with_provider("byoc", model, args, {"compiler": ",".join(args.compiler), "threads": str(args.threads)})
    out = {"onnxruntime": ort_run(own, feeds), "byoc inside": ort_run(inside, feeds),
           "byoc alone": byoc_run(model, feeds, args)}
    for name, _ in args.provider:
        out[name] = ort_run(with_provider(name, model, args, {}), feeds)
    return out


def check(runs):
    """Returns per runner the largest difference to the first, over the largest value."""
    expected = next(iter(runs.values()))()
    worst = {}
    for name, run in runs.items():
        scale = [max(float(np.abs(right).max()), 1e-30) for right in expected]
        worst[name] = max(float(np.abs(np.asarray(got, np.float64) - right).max()) / most
                          for got, right, most in zip(run(), expected, scale, strict=True))
    return worst


def turn(run, seconds):
    """Runs for a turn. Returns the medians of the clock and of the processor, in ms."""
    clock, busy, end = [], [], time.perf_counter() + seconds
    while not clock or time.perf_counter() < end:
        first, first_busy = time.perf_counter(), time.process_time()
        run()
        clock.append((time.perf_counter() - first) * 1e3)
        busy.append((time.process_time() - first_busy) * 1e3)
    return statistics.median(clock), statistics.median(busy)


def measure(runs, args):
    rounds = []
    for k in range(args.rounds):
        names = list(runs)[k % len(runs):] + list(runs)[:k % len(runs)]
        rounds.append({name: turn(runs[name], args.turn_ms / 1e3) for name in names})
    return rounds


def row_of(model, name, rounds, worst):
    row = {"model": model, "runtime": name, "worst": worst[name], "ok": worst[name] <= BOUND}
    for k, clock in enumerate(("ms", "cpu_ms")):
        row[clock] = statistics.median(times[name][k] for times in rounds)
        for to in ("onnxruntime", "byoc alone"):
            row[f"{clock}_over_{to}"] = statistics.median(times[name][k] / times[to][k] for times in rounds)
    return row


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="the number of an open size, as N=1")
    parser.add_argument("--compiler", default="llvm", metavar="A,B", help="byoc's, in and out of ONNX Runtime (llvm)")
    parser.add_argument("--provider", action="append", default=[], metavar="MODULE", help="another execution provider")
    parser.add_argument("--rounds", type=int, default=8, metavar="N")
    parser.add_argument("--turn-ms", type=float, default=200, metavar="T")
    parser.add_argument("--json", metavar="FILE")
    out = parser.parse_args()
    out.compiler = out.compiler.split(",")
    out.size = [(name, int(number)) for name, number in (one.split("=") for one in out.size)]
    out.provider = [one.partition("=")[::2] if "=" in one else (one, library_of(one, parser)) for one in out.provider]
    return out


def library_of(module, parser):
    """Returns the path of the library in the wheel of an execution provider."""
    try:
        return importlib.import_module(module).get_library_path()
    except ImportError as error:
        parser.error(f"--provider is NAME=LIBRARY or a module of a wheel: {error}")


def register(name, library):
    before = {device.ep_name for device in onnxruntime.get_ep_devices()}
    onnxruntime.register_execution_provider_library(name, str(Path(library).resolve()))
    ADDED[name] = {device.ep_name for device in onnxruntime.get_ep_devices()} - before


def main():
    args = arguments()
    if onnxruntime is None:
        raise SystemExit("compare.py needs onnxruntime 1.23 or newer: pip install onnxruntime")
    prefix = Path(os.environ.get("BYOC_PREFIX", ROOT / "build"))
    for name, library in [("byoc", prefix / "lib/libbyoc_ort_ep.so"), *args.provider]:
        register(name, library)
    rows = []
    print(f"onnxruntime {onnxruntime.__version__}, {args.threads} threads; ratios to ONNX Runtime, and to byoc alone", flush=True)
    for model in args.models:
        runs = runners(model, args)
        worst = check(runs)
        rounds = measure(runs, args)
        for name in runs:
            row = row_of(model, name, rounds, worst)
            rows.append(row)
            print(f"{Path(model).parent.name}/{Path(model).name}  {name:12} {row['ms']:9.3f} ms "
                  f"{row['ms_over_onnxruntime']:.3f} {row['ms_over_byoc alone']:.3f}  cpu {row['cpu_ms']:9.3f} ms "
                  f"{row['cpu_ms_over_onnxruntime']:.3f} {row['cpu_ms_over_byoc alone']:.3f}  "
                  f"{'' if row['ok'] else 'WRONG: '}max error {row['worst']:.1e} of max", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
