# SPDX-License-Identifier: Apache-2.0
"""Runs another runtime with the commands of bench_serve: one line in, one line of JSON out.

run N          runs N times after one that is not counted; gives the times in nanoseconds
inputs DIR     writes the inputs as .npy files; their names, files and dims
outputs DIR    writes the outputs of the last run as DIR/0.npy, DIR/1.npy, ...
compare DIR    reads DIR/0.npy, ... and gives the largest error as a part of the largest value
layers         gives the times of ONNX Runtime's own profiler, in microseconds per run, slowest first
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy

from runtimes import RUNTIMES


class Server:
    def __init__(self, runtime):
        self.runtime = runtime

    def run(self, count):
        once = self.runtime.once
        once()
        times = []
        for _ in range(int(count)):
            begin = time.perf_counter_ns()
            once()
            times.append(time.perf_counter_ns() - begin)
        return {"ns": times}

    def inputs(self, folder):
        out = []
        for k, (name, value) in enumerate(self.runtime.inputs.items()):
            file = str(Path(folder) / f"input_{k}.npy")
            numpy.save(file, numpy.ascontiguousarray(value))
            out.append({"name": name, "file": file, "dims": list(value.shape)})
        return {"inputs": out}

    def outputs(self, folder):
        outputs = self.runtime.outputs()
        for k, value in enumerate(outputs):
            numpy.save(str(Path(folder) / f"{k}.npy"), numpy.ascontiguousarray(value))
        return {"outputs": len(outputs)}

    def compare(self, folder):
        worst = 0.0
        for k, right in enumerate(self.runtime.outputs()):
            got = numpy.load(Path(folder) / f"{k}.npy")
            if got.shape != right.shape:
                return {"error": None, "why": f"output {k} has shape {got.shape}, not {right.shape}"}
            if right.size:
                error = numpy.abs(got.astype(numpy.float64) - right.astype(numpy.float64)).max()
                if not numpy.isfinite(error):
                    return {"error": None, "why": f"output {k} has values that are not finite"}
                worst = max(worst, float(error / (numpy.abs(right).max() or 1)))
        return {"error": worst}

    def layers(self):
        return {"layers": self.runtime.layers()}


def main():
    setup = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    runtime = RUNTIMES[setup["peer"]](setup["model"], setup["threads"], setup.get("profile"))
    server = Server(runtime)
    runtime.once()
    print(json.dumps({"ready": True, "version": runtime.version}), file=answers, flush=True)
    for line in sys.stdin:
        word, *arguments = line.split(maxsplit=1)
        print(json.dumps(getattr(server, word)(*(a.strip() for a in arguments))), file=answers, flush=True)


if __name__ == "__main__":
    main()
