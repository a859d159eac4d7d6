# SPDX-License-Identifier: Apache-2.0
"""Processes that stay alive, run a model on command, and take turns."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


MOST_TIMES = 3  # so many times the rounds that are given, when some do not count


class Failed(Exception):
    """An error whose text is printed for the user; exit code 1."""


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


@contextlib.contextmanager
def neighbours(count):
    """Runs `count` processes that keep a core busy, on the cores of this process, until it is left."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield busy
    finally:
        for process in busy:
            process.kill()
            process.wait()


def runs_per_turn(child, turn_ms):
    """Returns the number of runs that take the child about a turn."""
    return max(1, min(1000, round(turn_ms * 1e6 / min(child.ask("run 2")["ns"]))))


def pause():
    """Waits until thread pools are idle."""
    time.sleep(0.05)


def one_round(children, counts, is_reversed):
    """Returns the times of each child in a turn."""
    turns = [None] * len(children)
    for c in reversed(range(len(children))) if is_reversed else range(len(children)):
        pause()
        turns[c] = children[c].ask(f"run {counts[c]}")["ns"]
    pause()
    return turns


def measure(children, options, control=None):
    """samples[c][r]: the times of child c in round r.

    With a control (control.py), rounds that it does not accept are repeated, up to MOST_TIMES as many rounds in all. When
    it accepts none, all count.
    """
    counts = [runs_per_turn(child, options.turn_ms) for child in children]
    kept, left_out = [], []
    if control:
        pause()
        control.read()
    while len(kept) < options.rounds and len(kept) + len(left_out) < MOST_TIMES * options.rounds:
        turns = one_round(children, counts, len(kept) % 2 == 1)
        (kept if control is None or control.accepts() else left_out).append(turns)
    if not kept:
        kept, left_out = left_out, []
    if control:
        control.left_out = left_out
    return [list(turns) for turns in zip(*kept)]


def spread(values):
    ordered = sorted(values)
    quarter = statistics.quantiles(ordered, n=4) if len(ordered) > 1 else [ordered[0]] * 3
    return {"median": statistics.median(ordered), "q1": quarter[0], "q3": quarter[2], "min": ordered[0],
            "max": ordered[-1]}


def times(samples):
    """Returns the spread of the rounds' medians."""
    return spread([statistics.median(turn) for turn in samples])


def ratios(ours, theirs):
    return [statistics.median(a) / statistics.median(b) for a, b in zip(ours, theirs)]


def fastest_ratio(ours, theirs):
    """Returns the ratio of the shortest runs of all rounds, which other work on the machine disturbs least."""
    return min(map(min, ours)) / min(map(min, theirs))


def check(reference, child, tolerance):
    """Compares the outputs of the last runs of both."""
    with tempfile.TemporaryDirectory() as folder:
        child.ask(f"outputs {folder}")
        answer = reference.ask(f"compare {folder}")
    error = answer["error"]
    return {"error": error, "agrees": error is not None and error <= tolerance, "why": answer.get("why")}
