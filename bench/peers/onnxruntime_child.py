# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX Runtime with the commands of bench_serve: one line in, one line of JSON out.

run N          runs N times after one that is not counted; gives the times in nanoseconds
inputs DIR     writes the inputs as .npy files; their names, files and dims
compare DIR    reads DIR/0.npy, ... and gives the largest error as a part of the largest value
layers         gives the times of ONNX Runtime's own profiler, in microseconds per run, slowest first
"""

import json
import sys
import time
from pathlib import Path

import numpy
import onnxruntime

DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
          "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


def fields(data):
    """Yields (number, value) of each field of a protobuf message; values are numbers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def read_pb(path):
    """Reads an ONNX TensorProto: dims 1, data type 2, name 8, raw data 9; ONNX's test data has raw data."""
    dims, name, raw, dtype = [], "", None, None
    for number, value in fields(path.read_bytes()):
        if number == 1:
            dims += [value] if isinstance(value, int) else [v for v in unpack(value)]
        elif number == 2:
            dtype = {1: numpy.float32, 6: numpy.int32, 7: numpy.int64, 9: numpy.bool_, 10: numpy.float16,
                     11: numpy.float64}[value]
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    return name, None if raw is None else numpy.frombuffer(raw, dtype).reshape(dims)


def unpack(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def make_inputs(session, model):
    """Returns the inputs of test_data_set_0 beside the model, else seeded: normal floats, else zeros."""
    stored = {}
    for path in sorted((Path(model).parent / "test_data_set_0").glob("input_*.pb")):
        name, value = read_pb(path)
        if value is not None:
            stored[name] = value
    random = numpy.random.default_rng(0)
    out = {}
    for wanted in session.get_inputs():
        if wanted.name in stored:
            out[wanted.name] = stored[wanted.name]
            continue
        dims = [d if isinstance(d, int) else 1 for d in wanted.shape]
        dtype = DTYPES[wanted.type]
        is_float = numpy.issubdtype(dtype, numpy.floating)
        out[wanted.name] = (random.standard_normal(dims) if is_float else numpy.zeros(dims)).astype(dtype)
    return out


class Server:
    def __init__(self, model, threads, profile):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_profiling = profile is not None
        if profile:
            options.profile_file_prefix = profile
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = make_inputs(self.session, model)
        self.binding = self.session.io_binding()
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def once(self):
        self.session.run_with_iobinding(self.binding)

    def run(self, count):
        self.once()
        times = []
        for _ in range(int(count)):
            begin = time.perf_counter_ns()
            self.once()
            times.append(time.perf_counter_ns() - begin)
        return {"ns": times}

    def inputs_to(self, folder):
        out = []
        for k, (name, value) in enumerate(self.inputs.items()):
            file = str(Path(folder) / f"input_{k}.npy")
            numpy.save(file, numpy.ascontiguousarray(value))
            out.append({"name": name, "file": file, "dims": list(value.shape)})
        return {"inputs": out}

    def compare(self, folder):
        worst = 0.0
        for k, right in enumerate(self.binding.copy_outputs_to_cpu()):
            got = numpy.load(Path(folder) / f"{k}.npy")
            if got.shape != right.shape:
                return {"error": None, "why": f"output {k} has shape {got.shape}, not {right.shape}"}
            if right.size:
                error = numpy.abs(got.astype(numpy.float64) - right.astype(numpy.float64)).max()
                worst = max(worst, float(error / (numpy.abs(right).max() or 1)))
        return {"error": worst}

    def layers(self):
        events = json.loads(Path(self.session.end_profiling()).read_text())
        sums, counts = {}, {}
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                key = (event["name"][:-len("_kernel_time")], event["args"].get("op_name", ""))
                sums[key] = sums.get(key, 0) + event["dur"]
                counts[key] = counts.get(key, 0) + 1
        rows = [{"name": name, "op": op, "us": sums[name, op] / counts[name, op]} for name, op in sums]
        return {"layers": sorted(rows, key=lambda row: -row["us"])}


def main():
    setup = json.loads(sys.argv[1])
    server = Server(setup["model"], setup["threads"], setup.get("profile"))
    commands = {"run": server.run, "inputs": server.inputs_to, "compare": server.compare, "layers": server.layers}
    server.once()
    print(json.dumps({"ready": True, "version": onnxruntime.__version__}), flush=True)
    for line in sys.stdin:
        word, *arguments = line.split(maxsplit=1)
        print(json.dumps(commands[word](*(a.strip() for a in arguments))), flush=True)


if __name__ == "__main__":
    main()
