#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's node cases through byoc's execution provider: every case that ONNX Runtime's own provider passes gives the same.

    node_suite.py SOURCE BUILD FOLDER             writes the cases of the installed package onnx to FOLDER and runs them
    node_suite.py SOURCE BUILD FOLDER --only NAME [...]

A process of its own runs the cases, so that one that ends it is found by name.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# The least share of the cases that ONNX Runtime passes in which byoc runs a node.
LEAST_SHARE = 0.7
# ONNX Runtime before 1.24 has a provider group the body of SequenceMap, which looks like a model to it,
# and then refuses the groups.
REFUSED_BEFORE_1_24 = "test_sequence_map_"
# Types that numpy has not: models get casts at these inputs and outputs, which are exact.
OTHER_TYPES = ("BFLOAT16", "FLOAT8", "INT4", "INT2", "FLOAT4")


def with_casts(model):
    """The model with f32 in the place of types that numpy has not, and the names of values that changed."""
    from onnx import TensorProto, helper
    changed = set()
    for kind, values in (("in", model.graph.input), ("out", model.graph.output)):
        for value in values:
            element = value.type.tensor_type.elem_type
            if not value.type.HasField("tensor_type") or not any(name in TensorProto.DataType.Name(element) for name in OTHER_TYPES):
                continue
            own = value.name + "_as_f32"
            changed.add(value.name)
            for node in model.graph.node:
                for names in (node.input, node.output):
                    names[:] = [own if name == value.name else name for name in names]
            if kind == "in":
                model.graph.node.insert(0, helper.make_node("Cast", [value.name], [own], to=element))
            else:
                model.graph.node.append(helper.make_node("Cast", [own], [value.name], to=TensorProto.FLOAT))
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return model, changed


def values_of(folder, kind, infos):
    import onnx
    from onnx import numpy_helper
    out = []
    for k, info in enumerate(infos):
        bytes_ = (folder / f"test_data_set_0/{kind}_{k}.pb").read_bytes()
        if info.type.HasField("sequence_type"):
            out.append(numpy_helper.to_list(onnx.SequenceProto.FromString(bytes_)))
        elif info.type.HasField("optional_type"):
            out.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(bytes_)))
        else:
            out.append(numpy_helper.to_array(onnx.TensorProto.FromString(bytes_)))
    return out


def same(ours, expected, rounding=1e-3):
    """Compares values; `rounding` is relative, of floats."""
    import numpy as np
    if isinstance(expected, (list, tuple)):
        return len(ours) == len(expected) and all(same(a, b, rounding) for a, b in zip(ours, expected))
    if ours is None or expected is None:
        return ours is expected
    ours, expected = np.asarray(ours), np.asarray(expected)
    if ours.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fiub":
        return ours.tolist() == expected.tolist()
    is_exact = expected.dtype.kind != "f"
    return ours.dtype == expected.dtype and np.allclose(ours, expected, rtol=0 if is_exact else rounding, atol=0 if is_exact else 1e-5, equal_nan=True)


class Worker:
    """Runs cases, and prints a line before and after each."""

    def __init__(self, build):
        import onnxruntime as ort
        self.ort = ort
        ort.set_default_logger_severity(4)
        ort.register_execution_provider_library("byoc", str(build / "lib/libbyoc_ort_ep.so"))
        self.devices = [device for device in ort.get_ep_devices() if device.ep_name == "byoc"]
        self.explanation = Path(tempfile.mkdtemp()) / "explain.json"

    def session(self, model, is_ours):
        options = self.ort.SessionOptions()
        options.log_severity_level = 4
        if not is_ours:
            return self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        options.add_provider_for_devices(self.devices, {"compiler": "llvm", "explain": str(self.explanation)})
        return self.ort.InferenceSession(model, options, enable_fallback=False)

    def try_case(self, folder):
        """The verdict: "own" where ONNX Runtime does not pass by itself, "right", "left" (byoc runs no node), or what is wrong."""
        import numpy as np
        import onnx
        model, changed = with_casts(onnx.load(folder / "model.onnx"))
        bytes_ = model.SerializeToString()
        try:
            inputs = values_of(folder, "input", model.graph.input)
            feeds = {info.name: np.asarray(value, np.float32) if info.name in changed else value
                     for info, value in zip(model.graph.input, inputs)}
            expected = self.session(bytes_, False).run(None, feeds)
            wanted = values_of(folder, "output", model.graph.output)
            if not same(expected, [np.asarray(value, np.float32) if info.name in changed else value
                                   for info, value in zip(model.graph.output, wanted)]):
                return "own"
        except Exception:
            return "own"
        self.explanation.unlink(missing_ok=True)
        try:
            session = self.session(bytes_, True)
            ours = session.run(None, feeds)
            again = session.run(None, feeds)
        except Exception as fault:
            return "fails: " + " ".join(str(fault).split())[:300]
        rounding = 2 ** -7 if changed else 1e-3                # bf16 has 8 bits; narrower floats are only moved
        if not same(ours, expected, rounding) or not same(again, expected, rounding):
            return "gives something else"
        nodes = json.loads(self.explanation.read_text())["nodes"] if self.explanation.exists() else []
        return "right" if any(node["runs_on"] == "byoc" for node in nodes) else "left"


def run_worker(build, folders):
    worker = Worker(build)
    for folder in folders:
        print("begin", folder.name, flush=True)
        print("end", folder.name, worker.try_case(folder), sep="\t", flush=True)


def run_all(arguments, folders):
    """Verdicts by case. A case that ends the worker is named, and the next worker goes on after it."""
    verdicts, rest = {}, list(folders)
    while rest:
        command = [sys.executable, __file__, arguments.source, arguments.build, arguments.folder, "--worker"]
        with tempfile.TemporaryFile("w+") as names:
            names.write("\n".join(folder.name for folder in rest))
            names.seek(0)
            done = subprocess.run(command, stdin=names, stdout=subprocess.PIPE, text=True)
        begun = ""
        for line in done.stdout.splitlines():
            if line.startswith("begin "):
                begun = line[6:]
            elif line.startswith("end\t"):
                _, name, verdict = line.split("\t")
                verdicts[name], begun = verdict, ""
        if begun:
            verdicts[begun] = f"ends the process (exit code {done.returncode})"
        elif done.returncode != 0:
            sys.exit(f"the worker ends with {done.returncode} outside of a case")
        rest = [folder for folder in rest if folder.name not in verdicts]
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("source", "build", "folder"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    cases = arguments.folder / "newest"
    if arguments.worker:
        return run_worker(arguments.build, [cases / name for name in sys.stdin.read().split()])
    if not (arguments.folder / "cases.tsv").exists():
        subprocess.run([sys.executable, arguments.source / "tests/onnx/newest_cases.py", arguments.folder], check=True,
                       stderr=subprocess.DEVNULL)              # numpy warns of the cases' own NaN
    import onnxruntime
    is_old = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 24)
    folders = sorted(folder for folder in cases.iterdir() if (not arguments.only or folder.name in arguments.only)
                     and not (is_old and folder.name.startswith(REFUSED_BEFORE_1_24)))
    verdicts = run_all(arguments, folders)
    counts = Counter(verdict if verdict in ("own", "right", "left") else "wrong" for verdict in verdicts.values())
    passed = counts["right"] + counts["left"] + counts["wrong"]
    print(f"{len(verdicts)} cases; ONNX Runtime passes {passed}; of these byoc runs {counts['right']} right, "
          f"takes no node of {counts['left']}, and {counts['wrong']} are wrong")
    for name, verdict in verdicts.items():
        if verdict not in ("own", "right", "left"):
            print(f"  {name}: {verdict}")
    if not arguments.only and counts["right"] < LEAST_SHARE * passed:
        sys.exit(f"byoc runs a node of {counts['right']} cases, expected {LEAST_SHARE:.0%} of {passed}")
    return 1 if counts["wrong"] else 0


sys.exit(main())
