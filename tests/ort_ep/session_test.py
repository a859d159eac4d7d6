#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of onnxruntime with byoc's execution provider, compared with its own provider for processors.

    session_test.py SOURCE BUILD
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
DIGITS = SOURCE / "tests/models/digits"
FOLDER = Path(tempfile.mkdtemp())
ort.register_execution_provider_library("byoc", str(BUILD / "lib/libbyoc_ort_ep.so"))
PASSES_CAPTURED = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)   # to groups, as the provider assumes
DEVICES = [device for device in ort.get_ep_devices() if device.ep_name == "byoc"]


def session(model, **options):
    given = ort.SessionOptions()
    given.log_severity_level = 3
    given.add_provider_for_devices(DEVICES, {"compiler": "llvm", **options})
    return ort.InferenceSession(model, given, enable_fallback=False)


def plain(model):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def model_of(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))


class Sessions(unittest.TestCase):
    def same(self, model, inputs, **options):
        """Runs both, and returns the explanation of byoc's session."""
        explanation = FOLDER / "explain.json"
        results = session(model, explain=str(explanation), **options).run(None, inputs)
        for ours, theirs in zip(results, plain(model).run(None, inputs), strict=True):
            self.assertEqual(ours.dtype, theirs.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        return json.loads(explanation.read_text())

    def test_digits(self):
        """byoc runs all nodes, and one program has each size of the batch."""
        images = np.load(DIGITS / "images.npy").astype(np.float32)
        expected = np.load(DIGITS / "outputs.npy")
        explanation, folder = FOLDER / "digits.json", FOLDER / "digits"
        ours = session(str(DIGITS / "model.onnx"), explain=str(explanation), cache_dir=str(folder))
        for count in (1, 3, 1, 8):
            np.testing.assert_allclose(ours.run(None, {"image": images[:count]})[0], expected[:count], rtol=1e-4, atol=1e-5)
        explained = json.loads(explanation.read_text())
        self.assertEqual({node["runs_on"] for node in explained["nodes"]}, {"byoc"})
        self.assertIsNotNone(explained["groups"][0]["explain"])
        self.assertEqual(len(list(folder.glob("*.byoc"))), 1)

    def test_open_sizes(self):
        """One program has sizes that a product relates, and outputs whose sizes are sums; none, and one out of bounds, too."""
        weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 8], np.linspace(-1, 1, 64).tolist())
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Transpose", ["a"], ["t"], perm=[0, 2, 1]),
                 helper.make_node("MatMul", ["a", "t"], ["s"]), helper.make_node("Softmax", ["s"], ["p"]),
                 helper.make_node("Concat", ["p", "p"], ["y"], axis=1)]
        model = model_of(nodes, [floats("x", "B", "T", 8)], [floats("y", "B", None, "T")], [weight])
        folder = FOLDER / "open"
        ours, theirs = session(model, cache_dir=str(folder)), plain(model)
        rng = np.random.default_rng(2)
        for dims in ((1, 1), (3, 7), (2, 40), (1, 1), (5, 129), (1, 2000)):
            x = rng.normal(size=(*dims, 8)).astype(np.float32)
            result = ours.run(None, {"x": x})[0]
            np.testing.assert_allclose(result, theirs.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)
        self.assertEqual(len(list(folder.glob("*.byoc"))), 1)
        x = np.zeros((0, 3, 8), np.float32)
        self.assertEqual(ours.run(None, {"x": x})[0].shape, (0, 6, 3))

    def test_sizes_with_numbers(self):
        """Where byoc needs numbers for sizes, a program is made for those of each run."""
        nodes = [helper.make_node("DFT", ["x"], ["d"], axis=1), helper.make_node("Det", ["m"], ["e"]),
                 helper.make_node("Add", ["d", "e"], ["y"])]
        model = model_of(nodes, [floats("x", 1, "N", 1), floats("m", "K", "K")], [floats("y", 1, "N", 2)])
        folder = FOLDER / "numbers"
        ours, theirs = session(model, compiler="llvm", cache_dir=str(folder)), plain(model)
        for n, k in ((4, 2), (8, 3)):
            inputs = {"x": np.linspace(0, 1, n, dtype=np.float32).reshape(1, n, 1), "m": np.eye(k, dtype=np.float32) * 2}
            np.testing.assert_allclose(ours.run(None, inputs)[0], theirs.run(None, inputs)[0], rtol=1e-4, atol=1e-5)

    def test_attributes(self):
        """Attributes of each type reach byoc as they are: integers, floats, texts, lists."""
        weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 3, 3, 3], np.linspace(-1, 1, 54).tolist())
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2]),
                 helper.make_node("LeakyRelu", ["c"], ["l"], alpha=0.3),
                 helper.make_node("Transpose", ["l"], ["y"], perm=[0, 2, 3, 1])]
        x = np.random.default_rng(1).normal(size=(1, 3, 7, 7)).astype(np.float32)
        self.same(model_of(nodes, [floats("x", 1, 3, 7, 7)], [floats("y", 1, 4, 4, 2)], [weight]), {"x": x})

    def test_what_stays(self):
        """A node between two others that byoc does not run makes two groups, and is explained."""
        nodes = [helper.make_node("Relu", ["x"], ["a"]),
                 helper.make_node("RandomNormalLike", ["a"], ["r"], seed=1.0),
                 helper.make_node("Mul", ["r", "zero"], ["z"]),
                 helper.make_node("Add", ["a", "z"], ["y"])]
        zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])
        x = np.float32([[-1, 2], [3, -4]])
        explained = self.same(model_of(nodes, [floats("x", 2, 2)], [floats("y", 2, 2)], [zero]), {"x": x})
        left = [node for node in explained["nodes"] if node["runs_on"] == "onnxruntime"]
        self.assertEqual([node["op_type"] for node in left], ["RandomNormalLike"])
        self.assertIn("random", left[0]["reason"])
        self.assertEqual(len(explained["groups"]), 2)

    def test_functions(self):
        """Operators that ONNX Runtime inlines after its first request: the explanation still has what byoc runs."""
        nodes = [helper.make_node("Celu", ["x"], ["a"], alpha=2.0), helper.make_node("Softplus", ["a"], ["y"])]
        explained = self.same(model_of(nodes, [floats("x", 2, 3)], [floats("y", 2, 3)]), {"x": np.float32([[0, 1, 0], [2, 0, -3]])})
        self.assertEqual({node["runs_on"] for node in explained["nodes"]}, {"byoc"})

    def runs_on(self, explained):
        return [node["runs_on"] for node in explained["nodes"]]

    def test_if_as_a_whole(self):
        """byoc runs an If with its graphs, which read a value of the group and a constant around them."""
        then = helper.make_graph([helper.make_node("Mul", ["a", "two"], ["t"])], "then", [], [floats("t", 4)])
        three = helper.make_tensor("three", TensorProto.FLOAT, [4], [3.0, -3.0, 0.5, 1.0])
        other = helper.make_graph([helper.make_node("Sub", ["a", "three"], ["e"])], "else", [], [floats("e", 4)], [three])
        nodes = [helper.make_node("Sin", ["x"], ["a"]),
                 helper.make_node("If", ["c"], ["i"], then_branch=then, else_branch=other),
                 helper.make_node("Exp", ["i"], ["y"])]
        two = helper.make_tensor("two", TensorProto.FLOAT, [1], [2.0])
        model = model_of(nodes, [floats("x", 4), helper.make_tensor_value_info("c", TensorProto.BOOL, [1])], [floats("y", 4)], [two])
        for value in (True, False):
            explained = self.same(model, {"x": np.float32([1, -2, 3, -4]), "c": np.array([value])})
        self.assertEqual(set(self.runs_on(explained)), {"byoc"})

    def test_captured(self):
        """A value that only graphs of nodes read is passed by newer versions; the If stays with older ones."""
        then = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [floats("t", 4)])
        other = helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "else", [], [floats("e", 4)])
        nodes = [helper.make_node("If", ["c"], ["i"], then_branch=then, else_branch=other),
                 helper.make_node("Exp", ["i"], ["y"])]
        model = model_of(nodes, [floats("x", 4), helper.make_tensor_value_info("c", TensorProto.BOOL, [1])], [floats("y", 4)])
        for value in (True, False):
            explained = self.same(model, {"x": np.float32([1, -2, 3, -4]), "c": np.array([value])})
        self.assertEqual(self.runs_on(explained), ["byoc" if PASSES_CAPTURED else "onnxruntime", "byoc"])
        if not PASSES_CAPTURED:
            self.assertIn("does not pass 'x'", explained["nodes"][0]["reason"])

    def test_loop(self):
        """A Loop with an If in its body: carried values, stacked results, a value from outside."""
        then = helper.make_graph([helper.make_node("Add", ["v", "v"], ["t"])], "then", [], [floats("t", 3)])
        other = helper.make_graph([helper.make_node("Sub", ["v", "a"], ["e"])], "else", [], [floats("e", 3)])
        scalar = helper.make_tensor_value_info
        body = helper.make_graph(
            [helper.make_node("ReduceMax", ["v"], ["m"], keepdims=0), helper.make_node("Less", ["m", "five"], ["small"]),
             helper.make_node("If", ["small"], ["w"], then_branch=then, else_branch=other),
             helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Exp", ["w"], ["s"])],
            "body", [scalar("k", TensorProto.INT64, []), scalar("go", TensorProto.BOOL, []), floats("v", 3)],
            [scalar("on", TensorProto.BOOL, []), floats("w", 3), floats("s", 3)],
            [helper.make_tensor("five", TensorProto.FLOAT, [], [5.0])])
        nodes = [helper.make_node("Cos", ["x"], ["a"]), helper.make_node("Loop", ["n", "yes", "a"], ["last", "all"], body=body),
                 helper.make_node("Neg", ["last"], ["y"])]
        constants = [helper.make_tensor("n", TensorProto.INT64, [], [6]), helper.make_tensor("yes", TensorProto.BOOL, [], [True])]
        model = model_of(nodes, [floats("x", 3)], [floats("y", 3), floats("all", 6, 3)], constants)
        explained = self.same(model, {"x": np.float32([0.5, -0.25, 1])})
        self.assertEqual(set(self.runs_on(explained)), {"byoc"})

    def test_scan(self):
        """A Scan is run as a whole; of 1.23, whose groups of two graphs conflict, byoc gets its body only."""
        body = helper.make_graph([helper.make_node("Add", ["sum", "row"], ["next"]), helper.make_node("Tanh", ["next"], ["out"])],
                                 "body", [floats("sum", 2), floats("row", 2)], [floats("next", 2), floats("out", 2)])
        nodes = [helper.make_node("Sin", ["x"], ["a"]),
                 helper.make_node("Scan", ["first", "a"], ["last", "y"], body=body, num_scan_inputs=1)]
        model = model_of(nodes, [floats("first", 2), floats("x", 5, 2)], [floats("last", 2), floats("y", 5, 2)])
        inputs = {"first": np.float32([1, -1]), "x": np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)}
        explained = self.same(model, inputs)
        is_old = ort.__version__.startswith("1.23.")
        self.assertEqual(self.runs_on(explained), ["onnxruntime" if is_old else "byoc"] * 2)

    def test_refused_in_a_graph(self):
        """An If with a node that byoc refuses in a graph stays whole with ONNX Runtime, with the reason."""
        then = helper.make_graph([helper.make_node("RandomNormalLike", ["a"], ["r"], name="Dice", seed=1.0),
                                  helper.make_node("Mul", ["r", "zero"], ["t"])], "then", [], [floats("t", 4)])
        other = helper.make_graph([helper.make_node("Abs", ["a"], ["e"])], "else", [], [floats("e", 4)])
        nodes = [helper.make_node("Sin", ["x"], ["a"]),
                 helper.make_node("If", ["c"], ["i"], then_branch=then, else_branch=other),
                 helper.make_node("Exp", ["i"], ["y"])]
        zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
        model = model_of(nodes, [floats("x", 4), helper.make_tensor_value_info("c", TensorProto.BOOL, [1])], [floats("y", 4)], [zero])
        explained = self.same(model, {"x": np.float32([1, -2, 3, -4]), "c": np.array([True])})
        self.assertEqual(self.runs_on(explained), ["byoc", "onnxruntime", "byoc"])
        self.assertRegex(explained["nodes"][1]["reason"], "random|Random")

    def test_counted(self):
        """The extents of an output are found out by each run, of given sizes and of open ones."""
        integers = helper.make_tensor_value_info
        for dims in ([2, 3], ["n", 3]):
            model = model_of([helper.make_node("NonZero", ["x"], ["y"])], [floats("x", *dims)], [integers("y", TensorProto.INT64, [2, None])])
            for x in (np.float32([[0, 1, 0], [2, 0, 3]]), np.zeros((2, 3), np.float32)):
                self.same(model, {"x": x}, default="json")
        model = model_of([helper.make_node("TopK", ["x", "k"], ["v", "i"])],
                         [floats("x", "n", 5), integers("k", TensorProto.INT64, [1])],
                         [floats("v", "n", None), integers("i", TensorProto.INT64, ["n", None])])
        for n, k in ((3, 2), (1, 5), (4, 1)):
            x = np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32)
            self.same(model, {"x": x, "k": np.int64([k])})

    def test_cache(self):
        """The second session takes the compiled group from the folder; a damaged file is made again."""
        folder = FOLDER / "cache"
        model = model_of([helper.make_node("Tanh", ["x"], ["y"])], [floats("x", 8)], [floats("y", 8)])
        x = {"x": np.linspace(-1, 1, 8).astype(np.float32)}
        self.same(model, x, cache_dir=str(folder))
        [kept] = folder.glob("*.byoc")
        made = kept.stat().st_ino
        self.same(model, x, cache_dir=str(folder))
        self.assertEqual(kept.stat().st_ino, made)
        kept.write_bytes(b"damaged")
        self.same(model, x, cache_dir=str(folder))
        self.assertGreater(kept.stat().st_size, 100)

    def test_wrong_option(self):
        with self.assertRaisesRegex(Exception, 'no option "thread"; did you mean "threads"'):
            session(str(DIGITS / "model.onnx"), thread="2")

    def test_wrong_values(self):
        """Wrong values are errors of the session; without them all nodes would stay with ONNX Runtime, unnoticed."""
        file = FOLDER / "a_file"
        file.write_text("")
        for options, pattern in (({"compiler": "nosuch"}, 'nosuch'), ({"compiler": "llvm,lvm"}, 'lvm'), ({"threads": "many"}, 'many'),
                                 ({"threads": "-1"}, '-1'), ({"explain": str(FOLDER / "no/such/file")}, "byoc.explain"),
                                 ({"cache_dir": str(file)}, "byoc.cache_dir"), ({"cache_dir": str(file / "in")}, "byoc.cache_dir"),
                                 ({"state": "auto"}, 'no option "state"'), ({"strict": "yes"}, "it is a flag, 1 or 0")):
            with self.subTest(options), self.assertRaisesRegex(Exception, f"(?s)error.*{pattern}"):
                session(str(DIGITS / "model.onnx"), **options)
        for compiler in ("json", "onednn", "xnnpack", "openblas", "onednn,llvm"):
            session(str(DIGITS / "model.onnx"), compiler=compiler, explain="explain_in_this_folder.json")
        Path("explain_in_this_folder.json").unlink()

    def test_error_of_a_run(self):
        """An error in a plugin is one of ONNX Runtime, with the message; the session can be run again."""
        indices = helper.make_tensor_value_info("i", TensorProto.INT64, [2])
        model = model_of([helper.make_node("Gather", ["x", "i"], ["y"], name="Pick")], [floats("x", 3, 2), indices], [floats("y", 2, 2)])
        x = np.arange(6, dtype=np.float32).reshape(3, 2)
        for compiler in ("llvm", "json"):
            ours = session(model, compiler=compiler, default="json")
            for _ in range(3):
                with self.assertRaisesRegex(Exception, '(?s)gather: index 7 .*"Pick"'):
                    ours.run(None, {"x": x, "i": np.int64([0, 7])})
                np.testing.assert_array_equal(ours.run(None, {"x": x, "i": np.int64([2, -3])})[0], x[[2, 0]])

    def test_interrupt(self):
        """SIGINT ends a program that runs a session, as Python does it."""
        model = model_of([helper.make_node("MatMul", ["x", "x"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])],
                         [floats("x", 400, 400)], [floats("y", 400, 400)])
        path = FOLDER / "interrupt.onnx"
        path.write_bytes(model)
        program = f"""
import signal, numpy as np, onnxruntime as ort
signal.signal(signal.SIGINT, signal.default_int_handler)        # ignored in a process of the background
ort.register_execution_provider_library("byoc", {str(BUILD / "lib/libbyoc_ort_ep.so")!r})
options = ort.SessionOptions()
options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "byoc"], {{"compiler": "llvm", "threads": "2"}})
session = ort.InferenceSession({str(path)!r}, options)
x = np.zeros((400, 400), np.float32)
for k in range(10**6):
    session.run(None, {{"x": x}})
    if k == 3:
        print("running", flush=True)
"""
        running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(running.stdout.readline(), "running\n")
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertIn(running.returncode, (-signal.SIGINT, 128 + signal.SIGINT, 1))

    def test_threads_of_the_program(self):
        """Eight threads run one session, with several sizes."""
        images = np.load(DIGITS / "images.npy").astype(np.float32)
        expected = np.load(DIGITS / "outputs.npy")
        ours, faults = session(str(DIGITS / "model.onnx")), []

        def work(k):
            try:
                for n in range(1, 4):
                    for _ in range(20):
                        result = ours.run(None, {"image": images[k:k + n]})[0]
                        np.testing.assert_allclose(result, expected[k:k + n], rtol=1e-4, atol=1e-5)
            except Exception as fault:
                faults.append(repr(fault))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_many_sessions(self):
        """A hundred sessions leave no memory and no files."""
        model = model_of([helper.make_node("Tanh", ["x"], ["y"])], [floats("x", "N", 64)], [floats("y", "N", 64)])
        temporary = set(Path(tempfile.gettempdir()).glob("byoc-ort-*"))

        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        for k in range(100):
            session(model).run(None, {"x": np.zeros((1, 64), np.float32)})
            if k == 49:
                before = resident()
        self.assertLess(resident() - before, 16 << 20)
        self.assertEqual(set(Path(tempfile.gettempdir()).glob("byoc-ort-*")) - temporary, set())


if __name__ == "__main__":
    assert onnx.__version__
    print("onnxruntime", ort.__version__, flush=True)
    unittest.main()
