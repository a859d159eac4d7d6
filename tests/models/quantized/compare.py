#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares byoc's integers with ONNX Runtime's on a network in 8 bits, and the times of both.

    python3 compare.py resnet50_int8.onnx --float networks/resnet50/model.onnx

With --isa, byoc's code and the times of both are as on a processor with fewer instructions; ONNX Runtime's
integers stay those of this processor, since with AVX2 alone its products of u8 and i8 saturate.
Steps are units of the output's last scale. Fails when fewer than 99.9 % of the outputs are within
two steps, or an integer of a layer that was given ONNX Runtime's own operands is more than one off.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, shape_inference

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / "bench" / "peers"
sys.path[:0] = [str(PEERS), str(PEERS / "isa")]
import isa  # noqa: E402
from turns import Child, runs_per_turn  # noqa: E402

BUILD = ROOT / "build"


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


class Byoc:
    """A model compiled by byoc."""

    def __init__(self, args, model, folder):
        self.args, self.folder = args, folder
        self.environment = {**os.environ, **isa.environment_of_onednn(args.isa)}
        self.artifact = folder / "model.byoc"
        onnx.save(model, folder / "model.onnx")
        self.call("byoc", "compile", folder / "model.onnx", "--compiler", args.compiler,
                  "--target", isa.ISAS[args.isa].target, "-o", self.artifact, "-q")

    def call(self, program, *words):
        done = subprocess.run([str(self.args.build / "bin" / program), *map(str, words)],
                              capture_output=True, text=True, check=False, env=self.environment)
        if done.returncode:
            sys.exit(f"{program}: {done.stderr.strip()}")
        return done.stdout

    def inputs(self, feeds):
        words = []
        for k, (name, value) in enumerate(feeds.items()):
            np.save(self.folder / f"{k}.npy", value)
            words += ["--input", f"{name}={self.folder}/{k}.npy"]
        return words

    def run(self, feeds):
        out = self.folder / "out"
        self.call("byoc-run", self.artifact, "--output-dir", out, *self.inputs(feeds))
        return {entry["name"]: np.load(out / entry["file"])
                for entry in json.loads((out / "outputs.json").read_text())["outputs"]}

    def time_ms(self, feeds):
        report = json.loads(self.call("byoc", "bench", self.artifact, "--min-time", "0.7", "--threads",
                                      "1", "--json", *self.inputs(feeds)))
        return report["configurations"][0]["median_ns"] / 1e6


def start_ort(args):
    """Starts ONNX Runtime in a process where it sees the features of --isa alone."""
    setup = {"peer": "onnxruntime", "model": str(args.model), "threads": 1}
    seen = isa.environment_of_peer(args.isa, sys.executable, "onnxruntime", args.build)
    return Child("ONNX Runtime", [sys.executable, str(PEERS / "peer_child.py"), json.dumps(setup)], seen)


def ort_time_ms(ort):
    count = runs_per_turn(ort, turn_ms=700)
    return statistics.median(ort.ask(f"run {count}")["ns"]) / 1e6


class Quantized:
    """A model in QDQ form: its input, its quantised tensors, the step of its output."""

    def __init__(self, model):
        self.model = model
        graph = model.graph
        self.numbers = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.input = graph.input[0]
        self.shape = [dim.dim_value or 1 for dim in self.input.type.tensor_type.shape.dim]
        self.tensors = {node.output[0]: self.numbers[node.input[2]].dtype for node in graph.node
                        if node.op_type == "QuantizeLinear" and node.input[0] not in self.numbers}
        last = next(node for node in graph.node if graph.output[0].name in node.output)
        self.step = float(self.numbers[last.input[1]])

    def image(self, seed):
        random = np.random.default_rng(1000 + seed)
        return {self.input.name: random.standard_normal(self.shape).astype(np.float32)}

    def with_tensors(self):
        """The model with each quantised tensor as an output."""
        return self.copy(cut=False)[0]

    def copy(self, cut):
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        inferred = {v.name: v for v in shape_inference.infer_shapes(model).graph.value_info}
        operands = {}
        for node in model.graph.node if cut else []:
            if node.op_type == "DequantizeLinear" and node.input[0] in self.tensors:
                operands["given_" + node.input[0]] = node.input[0]
                node.input[0] = "given_" + node.input[0]
        def value(name, tensor):
            kind = helper.np_dtype_to_tensor_dtype(self.tensors[tensor])
            shape = [d.dim_value or 1 for d in inferred[tensor].type.tensor_type.shape.dim]
            return helper.make_tensor_value_info(name, kind, shape)
        model.graph.input.extend(value(name, tensor) for name, tensor in operands.items())
        model.graph.output.extend(value(tensor, tensor) for tensor in self.tensors)
        return model, operands


def compare_layers(args, network, folder):
    """Gives each layer ONNX Runtime's operands. Returns the largest difference."""
    right = session(network.with_tensors())
    cut, operands = network.copy(cut=True)
    byoc = Byoc(args, cut, folder)
    names = [output.name for output in right.get_outputs()]
    worst = differ = count = 0
    for seed in range(args.images):
        feeds = network.image(seed)
        values = dict(zip(names, right.run(None, feeds)))
        got = byoc.run(feeds | {name: values[tensor] for name, tensor in operands.items()})
        for tensor in network.tensors:
            off = np.abs(got[tensor].astype(int) - values[tensor].astype(int))
            worst, differ, count = max(worst, off.max()), differ + (off > 0).sum(), count + off.size
            if off.max() > 1:
                print(f"  {tensor}: {off.max()} apart")
    print(f"layers:  {differ} of {count} integers differ, by at most {worst}")
    return worst


def compare_outputs(args, network, byoc):
    """Returns the share of outputs within two steps."""
    right, steps = session(network.model), []
    for seed in range(args.images):
        feeds = network.image(seed)
        want = right.run(None, feeds)[0]
        steps.append(np.round(np.abs(byoc.run(feeds)[network.model.graph.output[0].name] - want) /
                              network.step))
    steps = np.array(steps)
    print(f"outputs: {100 * (steps <= 2).mean():.2f} % within two steps, {100 * (steps == 0).mean():.2f}"
          f" % equal, at most {steps.max():.0f} steps, of {steps.size} of {args.images} images")
    return (steps <= 2).mean()


def compare_times(args, network, byoc, folder):
    (folder / "float").mkdir()
    floats = Byoc(args, onnx.load(args.float), folder / "float")
    feeds, rows, ort = network.image(0), [], start_ort(args)
    for _ in range(5):  # in turns, as the speed of a machine drifts
        rows.append((ort_time_ms(ort), byoc.time_ms(feeds), floats.time_ms(feeds)))
    ort.close()
    ort_ms, byoc_ms, float_ms = (statistics.median(column) for column in zip(*rows))
    ratio = lambda a, b: " ".join(f"{row[a] / row[b]:.2f}" for row in rows)
    print(f"times:   ONNX Runtime {ort_ms:.2f} ms, byoc {byoc_ms:.2f} ms, byoc on floats {float_ms:.2f} ms")
    print(f"         ONNX Runtime / byoc: {ratio(0, 1)}; byoc on floats / byoc: {ratio(2, 1)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the network in 8 bits, in QDQ form")
    parser.add_argument("--float", type=Path, help="the float network: times are compared too")
    parser.add_argument("--compiler", default="onednn,llvm")
    parser.add_argument("--images", type=int, default=5)
    parser.add_argument("--build", type=Path, default=BUILD, help="build folder of byoc")
    isa.add_option(parser)
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    network = Quantized(onnx.load(args.model))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "layers").mkdir()
        worst = compare_layers(args, network, folder / "layers")
        byoc = Byoc(args, network.model, folder)
        share = compare_outputs(args, network, byoc)
        if args.float:
            compare_times(args, network, byoc, folder)
    if worst > 1 or share < 0.999:
        sys.exit("the integers are not those of ONNX Runtime")


if __name__ == "__main__":
    main()
