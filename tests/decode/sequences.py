#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random sequences of runs of a small decoder with states, against the same decoder in plain numpy.

sequences.py SOURCE BUILD [--compiler llvm] [--threads 1] [--form scatter] [--count N] [--seed N]

A sequence has two texts, whose runs are interleaved: prompts and tokens after the last row, rows that are written again,
resets, caches that are set, and runs before the first or after the last row, which are errors and change nothing. The forms are the
two ways in which exporters write caches: `scatter` (bench/decode/decoder.py) and `grouped` (exported.py).
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnx.numpy_helper

sys.path.insert(0, str(Path(__file__).parent))
import exported  # noqa: E402
import plain     # noqa: E402

O = SimpleNamespace(layers=2, width=96, heads=6, kv_heads=2, hidden=40, vocabulary=50, length=24, seed=3)
PROMPT, STEPS = 9, 14                                      # most tokens of a run; runs of a sequence
BOUND = 2e-5                                               # of the largest number, for two layers in f32

# form -> the function that makes the model, and the options of its sizes
FORMS = {
    "scatter": (exported.decoder.graph, [f"T=1..{PROMPT}", "T=1"]),
    "grouped": (exported.graph, ["batch_size=1", f"past_sequence_length={O.length}", f"total_sequence_length={O.length}",
                                 f"sequence_length=1..{PROMPT}", "sequence_length=1"]),
}

def name_of_first(form, count):
    """What an error names: seqlens_k is the position of the last new token, so also of the first when there is one."""
    if form == "scatter":
        return "tensor_scatter: write_indices"
    return "group_query: seqlens_k" if count == 1 else "group_query: first_new_position"


def with_more_angles(model):
    """Lets rotation take positions after the caches, so that what writes the caches has to refuse them."""
    more = dict(zip(("cos", "sin"), exported.decoder.angles(O.length + PROMPT + 3, O.width // O.heads)))
    for tensor in model.graph.initializer:
        if tensor.name in more:
            tensor.CopyFrom(onnx.numpy_helper.from_array(more[tensor.name], tensor.name))
    return model


class Ours:
    """The caches of one text in byoc: bound programs of all numbers of tokens, on the same states."""

    def __init__(self, program, form):
        self.program, self.form, self.bound = program, form, {}

    def inputs(self, tokens, start):
        if self.form == "scatter":
            return [np.array([tokens], np.int64), np.array([start], np.int64)]
        mask = np.zeros((1, O.length), np.int64)
        mask[:, :start + len(tokens)] = 1
        mask[0, 0] += max(start + len(tokens) - O.length, 0)  # the sum is the number of valid rows
        return [np.array([tokens], np.int64), mask]

    def of(self, count):
        if count not in self.bound:
            first = next(iter(self.bound.values()), None)
            self.bound[count] = self.program.bind(*self.inputs([0] * count, 0), states=first)
        return self.bound[count]

    def run(self, tokens, start):
        bound = self.of(len(tokens))
        for array, values in zip(bound.inputs, self.inputs(tokens, start)):
            array[:] = values
        logits = bound() if self.form == "scatter" else bound()[0]
        return logits.reshape(-1, O.vocabulary)[-1]

    def names(self):
        names = [state.name for state in self.of(1).states]
        return names[::2], names[1::2]                     # of keys, and of values

    def caches(self):
        return np.array([[self.of(1).get_state(name)[0] for name in names] for names in self.names()])

    def set(self, caches):
        for names, part in zip(self.names(), caches):
            for name, cache in zip(names, part):
                self.of(1).set_state(name, cache[None].astype(np.float32))

    def reset(self):
        self.of(1).reset_states()


class Text:
    """One text by both, and how many rows of its caches are valid."""

    def __init__(self, program, decoder, form):
        self.ours, self.plain, self.rows = Ours(program, form), plain.Context(decoder), 0

    def check(self):
        near(self.ours.caches(), self.plain.caches, "caches")

    def run(self, count, start, random):
        tokens = random.integers(0, O.vocabulary, count).tolist()
        near(self.ours.run(tokens, start), self.plain.run(tokens, start), f"logits of {count} tokens at {start}")
        self.rows = start + count

    def refused(self, count, start, random, error):
        """Runs where the caches end; both refuse it."""
        tokens, before = random.integers(0, O.vocabulary, count).tolist(), self.ours.caches()
        try:
            self.ours.run(tokens, start)
        except error as caught:
            name = "rotary: position_ids" if start < 0 else name_of_first(self.ours.form, count)
            wanted = f"{name} holds {start}, expected 0 to " + (f"{O.length - count}" if start >= 0 else "")
            if wanted not in str(caught):
                raise AssertionError(f"{count} tokens at {start}: the error is {caught}") from caught
        else:
            raise AssertionError(f"{count} tokens at {start} of {O.length} are no error")
        try:
            self.plain.run(tokens, start)
            raise AssertionError("the plain decoder takes them")
        except plain.BeyondTheMaximum:
            pass
        if not np.array_equal(self.ours.caches(), before):
            raise AssertionError(f"{count} tokens at {start}: the error changed the caches")

    def set(self, random):
        caches = random.standard_normal(self.plain.caches.shape).astype(np.float32)
        self.ours.set(caches)
        self.plain.caches[:] = caches
        self.rows = int(random.integers(0, O.length + 1))

    def reset(self):
        self.ours.reset()
        self.plain.reset()
        self.rows = 0

    def step(self, random, error):
        action = random.choice(["token", "prompt", "again", "beyond", "reset", "set"], p=[.4, .2, .1, .15, .1, .05])
        count = 1 if action == "token" or random.random() < .3 else int(random.integers(1, PROMPT + 1))
        if action == "reset":
            self.reset()
        elif action == "set":
            self.set(random)
        elif action == "beyond":
            beyond = range(O.length - count + 1, O.length + 3)
            self.refused(count, int(random.choice([-1, *beyond])), random, error)
        elif action == "again":
            self.run(count, int(random.integers(0, O.length - count + 1)), random)
        elif self.rows + count > O.length:
            self.refused(count, self.rows, random, error)
        else:
            self.run(count, self.rows, random)


def near(got, expected, what):
    worst = np.abs(got - expected).max() / np.abs(expected).max() if np.any(expected) else np.abs(got).max()
    if not worst <= BOUND:
        raise AssertionError(f"{what}: differ by {worst:.3g} of the largest number, at most {BOUND} is right")


def compiled(o, folder):
    """Returns the artifact and the model."""
    make, sizes = FORMS[o.form]
    model, artifact = folder / "model.onnx", folder / "model.byoc"
    onnx.save(with_more_angles(make(O)), str(model))
    command = [o.build / "bin/byoc", "compile", model, "--compiler", o.compiler, "--threads", str(o.threads), "--state", "auto",
               "-o", artifact] + [word for size in sizes for word in ("--shape", size)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        raise SystemExit(ran.stdout)
    return artifact, model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--compiler", default="llvm", help="as for byoc compile (default llvm)")
    parser.add_argument("--form", choices=FORMS, default="scatter")
    for name, default in (("threads", 1), ("count", 40), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N")
    o = parser.parse_args()
    os.environ["BYOC_PREFIX"] = str(o.build)
    sys.path.insert(0, str(o.source / "python"))
    import byoc_runtime
    with tempfile.TemporaryDirectory() as folder:
        artifact, model = compiled(o, Path(folder))
        program = byoc_runtime.load(artifact, threads=o.threads)
        decoder = plain.Decoder(str(model), O.layers, O.heads, O.kv_heads, O.length)
        texts = [Text(program, decoder, o.form) for _ in range(2)]
        for seed in range(o.seed, o.seed + o.count):
            random = np.random.default_rng(seed)
            for text in texts:
                text.reset()
            try:
                for _ in range(STEPS):
                    texts[random.integers(2)].step(random, byoc_runtime.Error)
                    for text in texts:
                        text.check()
            except AssertionError as fault:
                print(f"sequence {seed}: {fault}")
                return 1
    print(f"{o.count} sequences of {STEPS} runs, {o.form}, {o.compiler}, {o.threads} threads: all as in numpy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
