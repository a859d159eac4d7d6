#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decodes greedily by byoc and by ONNX Runtime in turns, and compares logits, tokens and times.

compare.py MODEL.onnx NAME=ARTIFACT.byoc ... [--prompt N] [--steps N] [--threads N] [--json FILE]

MODEL.onnx is one of decoder.py, and an artifact is that model compiled with --state auto. Each step of a token is done by
every runtime before the next one, after a pause: ONNX Runtime's workers keep their cores for a while after a run, which the
next runtime would wait for. ONNX Runtime has its caches in one buffer for past and present. A time is the least of
--rounds sequences, of the whole prompt or of the median step; "cpu" is the time of the processor, which a busy machine
does not lengthen by waiting. Needs numpy, onnxruntime and byoc_runtime; BYOC_PREFIX is a build or an installation.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import byoc_runtime  # noqa: E402

try:
    import onnxruntime
except ImportError:
    onnxruntime = None                                     # main() reports it, after --help

BOUND = 1e-4                                               # of the largest logit
PAUSE = 0.03                                               # seconds, in which the workers of the turn before fall asleep


class OnnxRuntime:
    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.caches = [tensor for tensor in self.session.get_inputs() if tensor.name.startswith("past_")]
        self.reset()

    def reset(self):
        zeros = {tensor.name: np.zeros(tensor.shape, np.float32) for tensor in self.caches}
        self.values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in zeros.items()}

    def prepare(self, tokens, start):
        self.binding = self.session.io_binding()
        for name, array in (("tokens", tokens), ("start", start)):
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for name, value in self.values.items():
            self.binding.bind_ortvalue_input(name, value)
            self.binding.bind_ortvalue_output(name.replace("past_", "present_"), value)
        self.binding.bind_output("logits")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def logits(self):
        return self.binding.get_outputs()[-1].numpy()[0]


class Byoc:
    def __init__(self, artifact, threads):
        self.program, self.bound = byoc_runtime.load(artifact, threads=threads), {}

    def reset(self):
        for bound in list(self.bound.values())[:1]:
            bound.reset_states()

    def prepare(self, tokens, start):
        first = next(iter(self.bound.values()), None)
        if tokens.size not in self.bound:
            self.bound[tokens.size] = self.program.bind(tokens.copy(), start.copy(), states=first)
        self.now = self.bound[tokens.size]
        self.now.inputs[0][:], self.now.inputs[1][:] = tokens, start

    def run(self):
        self.now()

    def logits(self):
        return self.now.outputs[0][0]


def turn(runtime, tokens, start):
    """Runs once. Returns the times, in ms, of the clock and of the processor."""
    runtime.prepare(np.array([tokens], np.int64), np.array([start], np.int64))
    time.sleep(PAUSE)
    begin, busy = time.perf_counter(), time.process_time()
    runtime.run()
    return (time.perf_counter() - begin) * 1e3, (time.process_time() - busy) * 1e3


def differs(got, expected):
    """Returns the largest difference over the largest logit."""
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def sequence(runtimes, prompt, steps, worst):
    """Decodes once, all runtimes in turns. Returns per runtime the times of the prompt and of each step."""
    times = {name: [] for name in runtimes}
    for runtime in runtimes.values():
        runtime.reset()
    tokens, start = prompt, 0
    for step in range(steps + 1):
        names = list(runtimes)[step % len(runtimes):] + list(runtimes)[:step % len(runtimes)]
        for name in names:
            times[name].append(turn(runtimes[name], tokens, start))
        expected = runtimes["onnxruntime"].logits()
        for name in runtimes:
            worst[name] = max(worst[name], differs(runtimes[name].logits(), expected))
            if int(runtimes[name].logits().argmax()) != int(expected.argmax()):
                raise SystemExit(f"{name}: another token at step {step}")
        start, tokens = start + len(tokens), [int(expected.argmax())]
    return times


def table(options, rounds, worst):
    rows = []
    for name in rounds[0]:
        row = {"runtime": name, "worst": worst[name]}
        for k, clock in enumerate(("ms", "cpu_ms")):
            row[f"prompt_{clock}"] = min(times[name][0][k] for times in rounds)
            if options.steps:
                row[f"step_{clock}"] = min(statistics.median(step[k] for step in times[name][1:]) for times in rounds)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("artifacts", nargs="+", metavar="NAME=ARTIFACT.byoc")
    for name, default in (("prompt", 512), ("steps", 256), ("threads", 1), ("rounds", 3), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if onnxruntime is None:
        parser.error("the module onnxruntime is missing: pip install onnxruntime")
    runtimes = {"onnxruntime": OnnxRuntime(options.model, options.threads)}
    for text in options.artifacts:
        name, _, path = text.partition("=")
        runtimes[name] = Byoc(path, options.threads)
    prompt = np.random.default_rng(options.seed).integers(0, 256, options.prompt).tolist()
    worst = dict.fromkeys(runtimes, 0.0)
    rounds = [sequence(runtimes, prompt, options.steps, worst) for _ in range(options.rounds)]
    rows = table(options, rounds, worst)
    processor = [line.split(":")[1].strip() for line in subprocess.run(
        ["lscpu"], stdout=subprocess.PIPE, text=True).stdout.splitlines() if line.startswith("Model name")]
    print(f"{processor[0] if processor else 'unknown'}; onnxruntime {onnxruntime.__version__}; {options.threads} threads; "
          f"a prompt of {options.prompt}, {options.steps} steps, {options.rounds} rounds; the same tokens")
    for row in rows:
        print("; ".join(f"{key} {value:.3g}" if isinstance(value, float) else value for key, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps({"processor": processor, "rows": rows}, indent=1))
    return 1 if max(worst.values()) > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
