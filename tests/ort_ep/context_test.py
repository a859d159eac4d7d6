#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with EPContext nodes: written by a session, run by another one that compiles nothing, and refused where they cannot run.

    context_test.py SOURCE BUILD
"""
import json
import os
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
ort.register_execution_provider_library("byoc", str(BUILD / "lib/libbyoc_ort_ep.so"))
DEVICES = [device for device in ort.get_ep_devices() if device.ep_name == "byoc"]


def options_of(entries=(), **options):
    given = ort.SessionOptions()
    given.log_severity_level = 4
    for key, value in dict(entries).items():
        given.add_session_config_entry(key, str(value))
    given.add_provider_for_devices(DEVICES, {"compiler": "llvm", **options})
    return given


def session(model, entries=(), **options):
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), options_of(entries, **options),
                                enable_fallback=False)


def plain(model):
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), providers=["CPUExecutionProvider"])


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))


def model_of(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def tanh(*dims):
    return model_of([helper.make_node("Tanh", ["x"], ["y"])], [floats("x", *dims)], [floats("y", *dims)])


def attributes_of(node):
    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


class Contexts(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def write(self, model, embedded, name="model_ctx.onnx", **options):
        """Compiles a model, given as bytes, to one with EPContext nodes. Returns its file."""
        path = self.folder / name
        path.unlink(missing_ok=True)                        # ONNX Runtime does not replace it
        session(model, {"ep.context_enable": 1, "ep.context_file_path": path, "ep.context_embed_mode": int(embedded)}, **options)
        return path

    def changed(self, path, change):
        """Writes the model again after `change(node)` of its first EPContext node."""
        model = onnx.load(path)
        change(next(node for node in model.graph.node if node.op_type == "EPContext"))
        onnx.save(model, path)
        return path

    def with_attribute(self, path, name, value):
        def change(node):
            kept = [one for one in node.attribute if one.name != name]
            del node.attribute[:]
            node.attribute.extend(kept + ([] if value is None else [helper.make_attribute(name, value)]))
        return self.changed(path, change)

    def refused(self, model, slug, pattern=""):
        expected = rf'(?s)error\[{slug}\]: the EPContext node "byoc\w+" cannot be run: .*{pattern}.*ep.context_enable=1'
        with self.assertRaisesRegex(Exception, expected):
            session(model)

    def test_digits(self):
        """One node has the network; its sizes are open, in the model itself and in a file beside it."""
        images, expected = np.load(DIGITS / "images.npy").astype("f4"), np.load(DIGITS / "outputs.npy")
        for embedded in (True, False):
            path = self.write(DIGITS / "model.onnx", embedded, f"digits_{embedded}.onnx")
            model = onnx.load(path)
            self.assertEqual([(node.op_type, node.domain) for node in model.graph.node], [("EPContext", "com.microsoft")])
            self.assertEqual(len(model.graph.initializer), 0)
            attributes = attributes_of(model.graph.node[0])
            self.assertEqual((attributes["source"], attributes["main_context"], attributes["embed_mode"]), (b"byoc", 1, embedded))
            if embedded:
                self.assertTrue(attributes["ep_cache_context"].startswith(b"\x89byoc"))
            else:
                self.assertEqual([file.name for file in self.folder.glob("*.byoc")], [attributes["ep_cache_context"].decode()])
            explain = self.folder / "explain.json"
            ours = session(path, explain=str(explain))
            for count in (1, 5, 3):
                np.testing.assert_allclose(ours.run(None, {"image": images[:count]})[0], expected[:count], rtol=1e-4, atol=1e-5)
            self.assertEqual([node["runs_on"] for node in json.loads(explain.read_text())["nodes"]], ["byoc"])

    def test_default_place(self):
        """Without a path the model and its programs are beside the one that is read; a moved folder runs."""
        (self.folder / "net.onnx").write_bytes(tanh(2, 3))
        session(self.folder / "net.onnx", {"ep.context_enable": 1})
        moved = self.folder / "moved"
        moved.mkdir()
        for file in [*self.folder.glob("*_ctx.onnx"), *self.folder.glob("*.byoc")]:
            file.rename(moved / file.name)
        [model] = moved.glob("*.onnx")
        x = np.float32([[0, 1, -1], [2, -2, 0.5]])
        np.testing.assert_allclose(session(model).run(None, {"x": x})[0], np.tanh(x), rtol=1e-5, atol=1e-6)

    def test_from_memory(self):
        """A model in memory with files of programs needs ep.context_file_path, to read and to write; an embedded one does not."""
        x = np.float32([[0, 1, -1]])
        embedded = self.write(tanh(1, 3), True, "embedded.onnx").read_bytes()
        np.testing.assert_allclose(session(embedded).run(None, {"x": x})[0], np.tanh(x), rtol=1e-5, atol=1e-6)
        path = self.write(tanh(1, 3), False)
        ours = session(path.read_bytes(), {"ep.context_file_path": path})
        np.testing.assert_allclose(ours.run(None, {"x": x})[0], np.tanh(x), rtol=1e-5, atol=1e-6)
        self.refused(path.read_bytes(), "ort-context", "ep.context_file_path")

    def test_nodes_that_stay(self):
        """Groups become EPContext nodes; a node between them stays, and values of both kinds meet."""
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("RandomNormalLike", ["a"], ["r"], seed=1.0),
                 helper.make_node("Mul", ["r", "zero"], ["z"]), helper.make_node("Add", ["a", "z"], ["y"])]
        zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])
        model = model_of(nodes, [floats("x", "N", 2)], [floats("y", "N", 2)], [zero])
        for embedded in (True, False):
            path = self.write(model, embedded)
            self.assertEqual([node.op_type for node in onnx.load(path).graph.node],
                             ["EPContext", "RandomNormalLike", "EPContext"])
            x = np.float32([[-1, 2], [3, -4], [5, 6]])
            np.testing.assert_array_equal(session(path).run(None, {"x": x})[0], np.maximum(x, 0))

    def test_types(self):
        """Integers, halves, booleans, several outputs, and a body that reads a value from outside."""
        value = helper.make_tensor_value_info
        then = helper.make_graph([helper.make_node("Mul", ["h", "h"], ["t"])], "then", [], [value("t", TensorProto.FLOAT16, [4])])
        other = helper.make_graph([helper.make_node("Neg", ["h"], ["e"])], "else", [], [value("e", TensorProto.FLOAT16, [4])])
        nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["h"], to=TensorProto.FLOAT16),
                 helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
                 helper.make_node("Cast", ["h"], ["k"], to=TensorProto.INT64), helper.make_node("Less", ["s", "x"], ["b"])]
        model = model_of(nodes, [floats("x", 4), value("c", TensorProto.BOOL, [1])],
                         [value("y", TensorProto.FLOAT16, [4]), value("k", TensorProto.INT64, [4]), value("b", TensorProto.BOOL, [4])])
        ours, theirs = session(self.write(model, True)), plain(model)
        for c in (True, False):
            inputs = {"x": np.float32([1, -2, 3, -4]), "c": np.array([c])}
            for got, right in zip(ours.run(None, inputs), theirs.run(None, inputs), strict=True):
                self.assertEqual(got.dtype, right.dtype)
                np.testing.assert_allclose(got.astype("f4"), right.astype("f4"), rtol=2e-3)

    def test_default_of_an_input(self):
        """An input with a value of its own; ONNX Runtime makes it a constant of the compiled model."""
        c = helper.make_tensor("c", TensorProto.FLOAT, [2], [1.0, -1.0])
        model = model_of([helper.make_node("Add", ["x", "c"], ["y"])], [floats("x", 2), floats("c", 2)], [floats("y", 2)], [c])
        x = np.float32([3, 4])
        np.testing.assert_array_equal(session(model).run(None, {"x": x, "c": np.float32([5, 6])})[0], [8, 10])
        np.testing.assert_array_equal(session(self.write(model, True)).run(None, {"x": x})[0], [4, 3])

    def test_functions(self):
        """Operators that ONNX Runtime inlines."""
        nodes = [helper.make_node("Celu", ["x"], ["a"], alpha=2.0), helper.make_node("Softplus", ["a"], ["y"])]
        model = model_of(nodes, [floats("x", 2, 3)], [floats("y", 2, 3)])
        x = {"x": np.float32([[0, 1, 0], [2, 0, -3]])}
        np.testing.assert_allclose(session(self.write(model, True)).run(None, x)[0], plain(model).run(None, x)[0], rtol=1e-4, atol=1e-5)

    def test_model_compiler(self):
        """ONNX Runtime's own compiler of models, to a file and to memory."""
        images, expected = np.load(DIGITS / "images.npy").astype("f4"), np.load(DIGITS / "outputs.npy")
        for embedded in (True, False):
            compiler = ort.ModelCompiler(options_of(), str(DIGITS / "model.onnx"), embed_compiled_data_into_model=embedded)
            path = self.folder / f"compiled_{embedded}.onnx"
            compiler.compile_to_file(str(path))
            np.testing.assert_allclose(session(path).run(None, {"image": images[:3]})[0], expected[:3], rtol=1e-4, atol=1e-5)
        compiler = ort.ModelCompiler(options_of(), str(DIGITS / "model.onnx"), embed_compiled_data_into_model=True)
        ours = session(compiler.compile_to_bytes())
        np.testing.assert_allclose(ours.run(None, {"image": images[:3]})[0], expected[:3], rtol=1e-4, atol=1e-5)

    def test_sizes_with_numbers(self):
        """A node that byoc compiles for numbers only stays with ONNX Runtime, with the reason, and the others do not."""
        nodes = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("NonZero", ["t"], ["n"]), helper.make_node("Exp", ["t"], ["y"])]
        n = helper.make_tensor_value_info("n", TensorProto.INT64, [2, None])
        model = model_of(nodes, [floats("x", "N", "M")], [floats("y", "N", "M"), n])
        explain = self.folder / "explain.json"
        path = self.write(model, True, explain=str(explain))
        self.assertEqual(sorted(node.op_type for node in onnx.load(path).graph.node), ["EPContext", "NonZero"])
        reasons = {node["op_type"]: node.get("reason") for node in json.loads(explain.read_text())["nodes"]}
        self.assertRegex(reasons["NonZero"], "counted at run time")
        x = {"x": np.float32([[0, 1, 0], [2, 0, -3]])}
        for got, right in zip(session(path).run(None, x), plain(model).run(None, x), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)

    def test_sizes_out_of_bounds(self):
        """A size that the program does not have is an error of the run, and the next run is right."""
        weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 8], np.linspace(-1, 1, 64).tolist())
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [floats("x", "B", 8)], [floats("y", "B", 8)], [weight])
        ours, theirs = session(self.write(model, True)), plain(model)
        with self.assertRaisesRegex(Exception, r"(?s)error\[input-size\]: .* is 0 .*\n  help: .*EPContext"):
            ours.run(None, {"x": np.ones((0, 8), "f4")})
        x = {"x": np.ones((7, 8), "f4")}
        np.testing.assert_allclose(ours.run(None, x)[0], theirs.run(None, x)[0], rtol=1e-4)

    def test_cache_and_again(self):
        """A cached group is written, too; and a model that is compiled already is written as it is."""
        cache, x = self.folder / "cache", np.float32([[0, 1, -1]])
        for name in ("first.onnx", "second.onnx"):
            path = self.write(tanh(1, 3), True, name, cache_dir=str(cache))
            np.testing.assert_allclose(session(path).run(None, {"x": x})[0], np.tanh(x), rtol=1e-5, atol=1e-6)
        self.assertEqual(len(list(cache.glob("*.byoc"))), 1)
        again = self.write(path, True, "third.onnx")
        if again.exists():                                  # older versions do not write it
            np.testing.assert_allclose(session(again).run(None, {"x": x})[0], np.tanh(x), rtol=1e-5, atol=1e-6)

    def test_threads_of_the_program(self):
        images, expected = np.load(DIGITS / "images.npy").astype("f4"), np.load(DIGITS / "outputs.npy")
        ours, faults = session(self.write(DIGITS / "model.onnx", False)), []

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

    def test_damaged(self):
        """A changed byte, a cut file, another version of the format: each is named, with the node."""
        path = self.write(tanh(1, 3), False)
        [program] = self.folder.glob("*.byoc")
        whole = program.read_bytes()
        for k in (3, 60, 70, len(whole) // 2, len(whole) - 1):
            program.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1:])
            self.refused(path, "artifact-(corrupt|version)")
        for size in (0, 40, len(whole) - 1):
            program.write_bytes(whole[:size])
            self.refused(path, "artifact-corrupt")
        program.write_bytes(b"onnx" * 100)
        self.refused(path, "artifact-corrupt")
        program.unlink()
        self.refused(path, "file", "No such file")
        embedded = self.write(tanh(1, 3), True, "embedded.onnx")
        bytes_ = bytearray(attributes_of(onnx.load(embedded).graph.node[0])["ep_cache_context"])
        bytes_[len(bytes_) // 2] ^= 1
        self.refused(self.with_attribute(embedded, "ep_cache_context", bytes(bytes_)), "artifact-corrupt")

    def test_other_processor(self):
        """A program for another processor is refused by name."""
        path = self.write(tanh(1, 3), False)
        [program] = self.folder.glob("*.byoc")
        (self.folder / "net.onnx").write_bytes(tanh(1, 3))
        subprocess.run([BUILD / "bin/byoc", "compile", self.folder / "net.onnx", "--compiler", "llvm", "--target", "aarch64",
                        "-o", program], check=True, capture_output=True)
        self.refused(path, "native-module")

    def test_other_program(self):
        """A program with other values than the node's is refused: its memory would not fit."""
        path = self.write(tanh(1, 3), False)
        [program] = self.folder.glob("*.byoc")

        def put(model):
            (self.folder / "net.onnx").write_bytes(model)
            subprocess.run([BUILD / "bin/byoc", "compile", self.folder / "net.onnx", "--compiler", "llvm", "-o", program],
                           check=True, capture_output=True)
        doubles = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1, 3]) for name in "xy"]
        put(model_of([helper.make_node("Tanh", ["x"], ["y"])], doubles[:1], doubles[1:]))
        self.refused(path, "ort-context", "its input 'x' has elements of type 1, and its program has 11")
        put(model_of([helper.make_node("Add", ["x", "z"], ["y"])], [floats("x", 1, 3), floats("z", 1, 3)], [floats("y", 1, 3)]))
        self.refused(path, "ort-context", "it has 1 inputs, and its program has 2")
        put(tanh(5, 3))
        with self.assertRaisesRegex(Exception, "shape|size"):
            session(path).run(None, {"x": np.zeros((1, 3), "f4")})

    def test_hostile_nodes(self):
        """Names of files outside of the folder, missing attributes, nodes of others."""
        (self.folder / "in").mkdir()
        path = self.write(tanh(1, 3), False, "in/model.onnx")
        [program] = (self.folder / "in").glob("*.byoc")
        program.rename(self.folder / "outside.byoc")
        for name in ("../outside.byoc", str(self.folder / "outside.byoc"), ""):
            self.refused(self.with_attribute(path, "ep_cache_context", name.encode()), "ort-context", "is no name of a file in the folder")
        self.refused(self.with_attribute(path, "main_context", 0), "ort-context", "no program of its own")
        self.refused(self.with_attribute(self.with_attribute(path, "main_context", 1), "ep_cache_context", None),
                     "ort-context", "lacks the attribute ep_cache_context")
        with self.assertRaisesRegex(Exception, "EPContext"):       # ONNX Runtime's message: no provider takes it
            session(self.with_attribute(path, "source", b"other"))

    def test_no_place(self):
        """A model in memory, without a path for what is written."""
        with self.assertRaisesRegex(Exception, "ep.context_file_path|ep_context_path"):     # newer ones refuse it themselves
            session(tanh(1, 3), {"ep.context_enable": 1})


if __name__ == "__main__":
    print("onnxruntime", ort.__version__, os.uname().machine, flush=True)
    unittest.main()
