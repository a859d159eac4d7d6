#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how runs of a model scale over threads of Python, beside threads of C: one process of each, in turns.

    threads.py SOURCE BUILD MODEL [THREADS] [ROUNDS] [SECONDS]

Each thread runs an artifact of one thread (llvm) with memory of its own. A round has four turns: one thread and THREADS, in
both languages. The ratio of a round is Python's scaling over C's; its median counts, as others may use the machine.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SOURCE, BUILD, MODEL = (Path(word).resolve() for word in sys.argv[1:4])


def child(artifact):
    """Replies as tests/c/throughput.c does."""
    import numpy as np

    sys.path.insert(0, str(SOURCE / "python"))
    import byoc_runtime

    program = byoc_runtime.load(artifact, threads=1)
    x = np.zeros(program.inputs[0].shape, program.inputs[0].dtype)
    program(x)
    for line in sys.stdin:
        count, seconds = int(line.split()[0]), float(line.split()[1])
        done, stops = [0] * count, []

        def work(k):
            while not stops:
                program(x)
                done[k] += 1

        processor, begin = time.process_time(), time.monotonic()
        threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stops.append(True)
        for thread in threads:
            thread.join()
        print(sum(done), time.monotonic() - begin, time.process_time() - processor, flush=True)


class Process:
    """A process that runs the model on command."""

    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.turn(1, 0.2)

    def turn(self, threads, seconds):
        """Returns the runs per second, and the processor time of a run in milliseconds."""
        self.process.stdin.write(f"{threads} {seconds}\n")
        self.process.stdin.flush()
        runs, wall, processor = map(float, self.process.stdout.readline().split())
        return runs / wall, processor / max(runs, 1) * 1e3


def main():
    words = [*sys.argv[4:], *["8", "9", "2"][len(sys.argv) - 4:]]
    threads, rounds, seconds = int(words[0]), int(words[1]), float(words[2])
    with tempfile.TemporaryDirectory() as folder:
        artifact, worker = Path(folder) / "net.byoc", Path(folder) / "worker"
        subprocess.run([BUILD / "bin/byoc", "compile", "-q", MODEL, "--compiler", "llvm", "--threads", "1", "-o", artifact], check=True)
        subprocess.run(["cc", "-O2", f"-I{SOURCE / 'include'}", SOURCE / "tests/c/throughput.c", BUILD / "lib/libbyoc_runtime.so.0",
                        f"-Wl,-rpath,{BUILD / 'lib'}", "-lpthread", "-o", worker], check=True)
        os.environ.setdefault("BYOC_PREFIX", str(BUILD))
        callers = {"C": Process([worker, artifact]),
                   "Python": Process([sys.executable, __file__, SOURCE, BUILD, MODEL, "--child", artifact])}
        turns = {(name, count): [] for count in (1, threads) for name in callers}
        for _ in range(rounds):
            for name, count in turns:
                turns[name, count].append(callers[name].turn(count, seconds))
    for (name, count), rows in turns.items():
        rate, milliseconds = (statistics.median(column) for column in zip(*rows))
        print(f"{name}, {count} threads: {rate:.1f} runs per second, {milliseconds:.2f} ms of the processors a run")
    scalings = {name: [many[0] / one[0] for one, many in zip(turns[name, 1], turns[name, threads])] for name in callers}
    ratios = [python / c for python, c in zip(scalings["Python"], scalings["C"])]
    print(f"scaling: C {statistics.median(scalings['C']):.2f}, Python {statistics.median(scalings['Python']):.2f}; "
          f"Python over C: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    child(sys.argv[5]) if "--child" in sys.argv else main()
