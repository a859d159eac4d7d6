#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plugin onnxruntime with the library of this environment's package onnxruntime.

    plugin_test.py SOURCE BUILD
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
FOLDER = Path(tempfile.mkdtemp())
DIGITS = SOURCE / "tests/models/digits"

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

PACKAGE = Path(ort.__file__).parent
os.environ.update(BYOC_ONNXRUNTIME=str(PACKAGE), ORT_DISABLE_TELEMETRY="1", BYOC_PREFIX=str(BUILD), BYOC_TUNING_PATH="",
                  XDG_CACHE_HOME=str(FOLDER / "cache"))
sys.path.insert(0, str(SOURCE / "python"))
import byoc  # noqa: E402


def command(*words, **environment):
    """(exit code, what `byoc` prints); a variable that is None is not set."""
    variables = {**os.environ, **{name: value for name, value in environment.items() if value is not None}}
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
    done = subprocess.run([BUILD / "bin/byoc", *map(str, words)], env=variables, text=True, cwd=FOLDER,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def program(name, text):
    path = FOLDER / f"{name}.ir"
    path.write_text(text)
    return path


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))


def convolutions():
    """Two convolutions with weights of several KiB, and a product."""
    values = np.random.default_rng(3)
    weights = {"w": values.normal(size=(16, 3, 3, 3)), "b": values.normal(size=16), "v": values.normal(size=(8, 16, 3, 3)),
               "m": values.normal(size=(8, 40)) / 3}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Conv", ["r", "v"], ["d"], strides=[2, 2]), helper.make_node("GlobalAveragePool", ["d"], ["g"]),
             helper.make_node("Flatten", ["g"], ["f"]), helper.make_node("MatMul", ["f", "m"], ["p"]),
             helper.make_node("Softmax", ["p"], ["y"])]
    graph = helper.make_graph(nodes, "g", [floats("x", "N", 3, 20, 20)], [floats("y", "N", 40)],
                              [onnx.numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Plugin(unittest.TestCase):
    def test_is_used_by_name_only(self):
        code, text = command("plugins")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"not opened[^\n]*\n[^\n]*\n(.*\n)*onnxruntime ")
        code, text = command("compile", DIGITS / "model.onnx", "--shape", "N=1", "-o", "auto.byoc")
        self.assertEqual(code, 0, text)
        self.assertNotIn("onnxruntime", text)

    def test_names_the_cure(self):
        """Without a library, and with one that reports its use, the message has what to do."""
        empty = FOLDER / "empty"
        empty.mkdir(exist_ok=True)
        code, text = command("compile", DIGITS / "model.onnx", "--compiler", "onnxruntime", "-o", "x.byoc", BYOC_ONNXRUNTIME=str(empty))
        self.assertNotEqual(code, 0)
        self.assertIn(f"no libonnxruntime.so is in {empty}", text)
        self.assertIn("pip install onnxruntime", text)
        code, text = command("compile", DIGITS / "model.onnx", "--shape", "N=1", "--compiler", "onnxruntime", "--default", "json",
                             "-o", "x.byoc", ORT_DISABLE_TELEMETRY=None)
        if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 29):
            self.assertEqual(code, 0, text)
        else:
            self.assertNotEqual(code, 0)
            self.assertIn("ORT_DISABLE_TELEMETRY=1", text)

    def test_option_before_variable(self):
        code, text = command("compile", DIGITS / "model.onnx", "--shape", "N=1", "--compiler", "onnxruntime", "-o", "x.byoc",
                             "--default", "json", "--plugin-option", f"onnxruntime.library={PACKAGE}", BYOC_ONNXRUNTIME="/nowhere")
        self.assertEqual(code, 0, text)

    def test_passes_the_conformance_kit(self):
        code, text = command("check-plugin", BUILD / "lib/byoc/plugins/libbyoc_onnxruntime.so")
        self.assertEqual(code, 0, text)

    def test_runs_what_the_others_refuse(self):
        """Determinants of matrices of an open size, which only the reference has, too, against numpy."""
        model = program("det", "fn main(%x: f32[2,N<=90,N<=90]) { %0 = det(%x)  return %0 }")
        code, text = command("compile", model, "--compiler", "onednn", "--default", "llvm", "--strict", "-o", "x.byoc")
        self.assertNotEqual(code, 0)
        self.assertIn("det", text)
        made = byoc.compile(str(model), compiler=["onednn", "onnxruntime"], default="llvm", strict=True)
        x = np.random.default_rng(5).normal(size=(2, 80, 80)).astype(np.float32) / 6
        np.testing.assert_allclose(made(x), np.linalg.det(x.astype(np.float64)), rtol=1e-3)

    def test_convolutions(self):
        """The results are those of ONNX Runtime that is called directly, with one thread and two."""
        model = convolutions()
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        x = np.random.default_rng(7).normal(size=(2, 3, 20, 20)).astype(np.float32)
        expected = session.run(None, {"x": x})[0]
        path = FOLDER / "conv.onnx"
        onnx.save(model, path)
        code, text = command("compile", path, "--shape", "N=2", "--compiler", "onnxruntime", "--default", "json", "-o", "c.byoc", "--strict")
        self.assertEqual(code, 0, text)                        # nothing is declined after it was taken
        self.assertNotIn("json", text)
        for threads in (1, 2):
            made = byoc.compile(model, shapes={"N": 2}, compiler="onnxruntime", default="json", strict=True, threads=threads)
            np.testing.assert_allclose(made(x), expected, rtol=1e-5, atol=1e-6)

    def test_open_sizes(self):
        """One program runs every size of its bounds."""
        model = convolutions()
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        made = byoc.compile(model, shape="N=1..64", compiler="onnxruntime", default="llvm", strict=True)
        for n in (1, 64, 3, 1):
            x = np.random.default_rng(n).normal(size=(n, 3, 20, 20)).astype(np.float32)
            np.testing.assert_allclose(made(x), session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)

    def test_artifacts(self):
        """The artifact has the weights once, and runs in another process; without the library it names the cure."""
        model, path = convolutions(), FOLDER / "conv.byoc"
        byoc.compile(model, shapes={"N": 1}, compiler="onnxruntime", default="json", strict=True).save(str(path))
        self.assertLess(path.stat().st_size, 1.6 * len(model.SerializeToString()) + 16384)
        x = np.random.default_rng(9).normal(size=(1, 3, 20, 20)).astype(np.float32)
        np.save(FOLDER / "x.npy", x)
        run = [BUILD / "bin/byoc-run", path, "--input", f"x={FOLDER / 'x.npy'}", "--output-dir", FOLDER / "results"]
        done = subprocess.run(run, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(np.load(FOLDER / "results/y.npy"), session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)
        empty = FOLDER / "empty_too"
        empty.mkdir(exist_ok=True)
        done = subprocess.run(run, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "BYOC_ONNXRUNTIME": str(empty)})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("pip install onnxruntime", done.stdout)

    def test_errors_of_runs(self):
        """An index outside of its tensor is an error of the run, and the program goes on."""
        model = program("gather", "fn main(%x: f32[5,3], %i: i64[2]) { %0 = gather(%x, %i) {axis=0}  return %0 }")
        made = byoc.compile(str(model), compiler="onnxruntime", default="json")
        x = np.arange(15, dtype=np.float32).reshape(5, 3)
        with self.assertRaisesRegex(byoc.Error, "ONNX Runtime.*out of data bounds|out of bounds"):
            made(x, np.int64([0, 7]))
        np.testing.assert_array_equal(made(x, np.int64([4, -5])), x[[4, 0]])

    def test_reasons(self):
        """Ops that ONNX Runtime computes otherwise stay with the others, with a reason."""
        model = program("mean", "fn main(%x: f32[4], %y: f32[4]) { %0 = cast(%x) {to=i32}  %1 = add(%x, %y)  return %0, %1 }")
        code, text = command("explain", model, "--compiler", "onnxruntime", "--default", "llvm")
        self.assertEqual(code, 0, text)
        self.assertIn("ONNX Runtime computes cast otherwise", text)

    def test_threads_of_the_program(self):
        made = byoc.compile(convolutions(), shapes={"N": 1}, compiler="onnxruntime", default="json", strict=True)
        inputs = [np.random.default_rng(k).normal(size=(1, 3, 20, 20)).astype(np.float32) for k in range(8)]
        expected, faults = [made(x) for x in inputs], []

        def work(k):
            for _ in range(20):
                if not np.array_equal(made(inputs[k]), expected[k]):
                    faults.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_place(self):
        """The plan has ops of the plugin only where the whole program is faster by them than without."""
        model = program("place", "fn main(%x: f32[64,96], %y: f32[96,96]) { %0 = matmul(%x, %y)  %1 = softmax(%0)  return %1 }")
        code, text = command("place", model, "--compiler", "llvm,onnxruntime", "--default", "llvm", "--min-time", "0.1",
                             "--improve", "1", "--json")
        self.assertEqual(code, 0, text)
        report = json.loads(text[text.index("{"):])
        times = {row["name"]: row["ns"] for row in report["choices"] if not row["error"]}
        self.assertIn("onnxruntime", " ".join(times))
        [best] = [row for row in report["choices"] if row["best"]]
        self.assertLessEqual(best["ns"], 1.05 * min(times.values()))


if __name__ == "__main__":
    print("onnxruntime", ort.__version__, flush=True)
    unittest.main()
