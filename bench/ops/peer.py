# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as the peer of `byoc bench --ops`: a line of JSON in, a line of JSON out.

{"load": MODEL, "threads": N, "inputs": {NAME: FILE.npy}}   makes a session and runs it once
{"run": SECONDS}       runs for so long, after a run that is not counted: ns per run of each sample
{"outputs": FOLDER}    writes the outputs of the last run as FOLDER/0.npy, FOLDER/1.npy, ...

A reply has "error" when a request failed. With one thread, times are those that the processor spent on the
thread, as byoc's own are. The script needs numpy and onnxruntime, and nothing of byoc.
"""

import json
import sys
import time

SHORTEST_SAMPLE_NS = 400_000  # shorter runs are measured several at a time


class Peer:
    def __init__(self):
        import numpy
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        self.numpy, self.runtime = numpy, onnxruntime

    def load(self, request):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = request["threads"]
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Without it, sums of products of u8 and i8 saturate on processors without VNNI. Weights of at most 64, of
        # which none does, are multiplied as fast with it.
        options.add_session_config_entry("session.x64quantprecision", "1")
        self.clock = time.thread_time_ns if request["threads"] == 1 else time.perf_counter_ns
        session = self.runtime.InferenceSession(request["load"], options, providers=["CPUExecutionProvider"])
        self.binding = session.io_binding()
        for name, file in request["inputs"].items():
            value = self.runtime.OrtValue.ortvalue_from_numpy(self.numpy.load(file))
            self.binding.bind_ortvalue_input(name, value)
        for output in session.get_outputs():
            self.binding.bind_output(output.name)
        self.session = session
        self.session.run_with_iobinding(self.binding)
        self.runs = max(1, round(SHORTEST_SAMPLE_NS / max(1, min(self.sample(1) for _ in range(3)))))
        return {"loaded": True}

    def sample(self, runs):
        """Returns the ns of a run, the mean of so many."""
        run, binding = self.session.run_with_iobinding, self.binding
        begin = self.clock()
        for _ in range(runs):
            run(binding)
        return (self.clock() - begin) / runs

    def run(self, request):
        end = time.perf_counter() + request["run"]
        self.sample(1)
        samples = [self.sample(self.runs)]
        while time.perf_counter() < end:
            samples.append(self.sample(self.runs))
        return {"ns": samples}

    def outputs(self, request):
        values = self.binding.copy_outputs_to_cpu()
        for k, value in enumerate(values):
            self.numpy.save(f"{request['outputs']}/{k}.npy", self.numpy.ascontiguousarray(value).reshape(value.shape))
        return {"outputs": len(values)}


def reply(value):
    print(json.dumps(value), flush=True)


def main():
    try:
        peer = Peer()
    except Exception as error:
        reply({"error": f"{type(error).__name__}: {error}"})
        return
    reply({"version": peer.runtime.__version__})
    for line in sys.stdin:
        request = json.loads(line)
        word = next(name for name in ("load", "run", "outputs") if name in request)
        try:
            reply(getattr(peer, word)(request))
        except Exception as error:
            reply({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
