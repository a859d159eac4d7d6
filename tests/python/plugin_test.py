#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that are written in Python.

    plugin_test.py SOURCE BUILD
"""
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
FOLDER = Path(tempfile.mkdtemp())
os.environ["XDG_CACHE_HOME"] = str(FOLDER / "cache")
sys.path.insert(0, str(SOURCE / "python"))

import byoc  # noqa: E402

CHAIN = FOLDER / "chain.ir"
CHAIN.write_text("""fn main(%x: f32[2,3], %y: f32[2,3]) {
  %0 = add(%x, %y) loc("sum")
  %1 = relu(%0) loc("cut")
  %2 = const([1.0,2.0,3.0]) : f32[1,3]
  %3 = multiply(%1, %2) loc("scale")
  %4 = sigmoid(%3) loc("last")
  return %3, %4
}
""")
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Y = np.full((2, 3), 0.5, np.float32)
SCALED = np.maximum(X + Y, 0) * np.array([[1, 2, 3]], np.float32)


def takers(explanation):
    return {row["name"]: row["plugin"] for row in explanation["ops"]}


class Ops(unittest.TestCase):
    def setUp(self):
        self.plugin = byoc.plugin.Plugin("ops", priority=70)

        @self.plugin.op("relu")
        def relu(x):
            return np.maximum(x, 0)

        @self.plugin.op("add")
        def add(x, y):
            return x + y

        @self.plugin.op("multiply", when=lambda node: node.constants[1] is not None or "only by constants")
        def multiply(x, y):
            return x * y

        self.plugin.register()
        self.options = {"compiler": ["ops", "json"]}

    def test_region(self):
        self.assertEqual(takers(byoc.explain(CHAIN, **self.options)),
                         {"sum": "ops", "cut": "ops", "scale": "ops", "last": "json"})
        regions = byoc.partition(CHAIN, **self.options)["regions"]
        self.assertEqual([(row["plugin"], row["ops"]) for row in regions if row["plugin"] == "ops"], [("ops", 3)])
        program = byoc.compile(CHAIN, **self.options)
        scaled, last = program(X, Y)
        np.testing.assert_array_equal(scaled, SCALED)
        np.testing.assert_allclose(last, 1 / (1 + np.exp(-SCALED)), rtol=1e-5)
        self.assertTrue(byoc.verify(CHAIN, **self.options).ok)
        steps = {row["run_by"]: row["implementation"] for row in byoc.profile(CHAIN, **self.options)["profile"]}
        self.assertEqual(steps["ops"], "Python: add, relu, multiply")

    def test_saved_and_loaded(self):
        program = byoc.compile(CHAIN, **self.options)
        program.save(FOLDER / "chain.byoc")
        for loaded in (byoc.load(FOLDER / "chain.byoc"), byoc.load((FOLDER / "chain.byoc").read_bytes())):
            np.testing.assert_array_equal(loaded(X, Y)[0], SCALED)
        # Another process has no such plugin.
        done = subprocess.run([BUILD / "bin/byoc-run", FOLDER / "chain.byoc"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ops", done.stderr)

    def test_the_end_of_a_process_that_has_programs(self):
        """Free-threaded Python drops a program after the names of the modules are gone; nothing is printed then."""
        text = ("import byoc, numpy as np\n"
                "mine = byoc.plugin.Plugin('mine')\n"
                "mine.op('relu')(lambda x: np.maximum(x, 0))\n"
                "mine.register()\n"
                f"open({str(FOLDER / 'relu.ir')!r}, 'w').write('fn main(%x: f32[2]) {{\\n  %0 = relu(%x)\\n  return %0\\n}}\\n')\n"
                f"program = byoc.compile({str(FOLDER / 'relu.ir')!r}, compiler=['mine', 'json'])\n"
                "print(program(np.array([-1, 2], np.float32)))\n"
                "byoc.plugin._table._objects = None\n"
                "del program\n")
        done = subprocess.run([sys.executable, "-c", text], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "[0. 2.]\n", ""))

    def test_listed(self):
        for found in (byoc.plugins(), byoc.doctor()):
            self.assertIn("ops", [row["id"] for row in found["plugins"]])
            self.assertEqual(found.origins["ops"], "registered by this program")

    def test_reason_of_a_refusal(self):
        model = FOLDER / "products.ir"
        model.write_text('fn main(%x: f32[2,3], %y: f32[2,3]) {\n  %0 = multiply(%x, %y) loc("both")\n  return %0\n}\n')
        explanation = byoc.explain(model, **self.options)
        self.assertEqual(takers(explanation), {"both": "json"})
        self.assertIn("only by constants", str(explanation))

    def test_dtypes(self):
        model = FOLDER / "wide.ir"
        model.write_text('fn main(%x: f64[3]) {\n  %0 = relu(%x) loc("wide")\n  return %0\n}\n')
        self.assertEqual(takers(byoc.explain(model, **self.options)), {"wide": "json"})


class Patterns(unittest.TestCase):
    """The gelu that exporters of torch write: x * (1 + erf(x / sqrt 2)) / 2."""

    DAG = {"op": "multiply", "args": [
        {"op": "multiply", "args": [
            {"any": True, "as": "x"},
            {"op": "add", "args": [{"op": "erf", "args": [{"op": "divide", "args": [{"same": "x"}, {"const": True, "as": "root"}]}]},
                                   {"const": True, "as": "one"}]}]},
        {"const": True, "as": "half"}]}
    TEXT = """fn main(%x: f32[2,3]) {
  %0 = const(1.4142135) : f32[]
  %1 = divide(%x, %0)
  %2 = erf(%1)
  %3 = const(1.0) : f32[]
  %4 = add(%2, %3)
  %5 = multiply(%x, %4)
  %6 = const(0.5) : f32[]
  %7 = multiply(%5, %6) loc("gelu")
  return %7
}
"""

    def test_composite(self):
        plugin = byoc.plugin.Plugin("composites", priority=70)
        seen = []

        def is_gelu(node):
            seen.append(node)
            named = dict(zip(node.captured.values(), (node.constants[k] for k in node.captured)))
            good = abs(float(named["half"]) - 0.5) < 1e-6 and abs(float(named["root"]) - math.sqrt(2)) < 1e-6
            return good or "other constants"

        @plugin.pattern("gelu", self.DAG, when=is_gelu)
        def gelu(x, root, one, half):
            return (x * (1 + np.vectorize(math.erf)(x / root)) * half).astype(np.float32)

        plugin.register()
        model = FOLDER / "gelu.ir"
        model.write_text(self.TEXT)
        options = {"compiler": ["composites", "json"]}
        explanation = byoc.explain(model, **options)
        self.assertEqual(takers(explanation)["gelu"], "composites")
        self.assertEqual([row["composite"] for row in explanation["ops"] if row["name"] == "gelu"], ["composites.gelu"])
        self.assertTrue(seen)
        expected = [[v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in row] for row in X.tolist()]
        np.testing.assert_allclose(byoc.compile(model, **options)(X), expected, rtol=1e-5)
        self.assertTrue(byoc.verify(model, **options).ok)
        model.write_text(self.TEXT.replace("0.5", "0.25"))
        self.assertIn("other constants", str(byoc.explain(model, **options)))

    def test_captured_nodes(self):
        plugin = byoc.plugin.Plugin("nodes", priority=70)

        @plugin.pattern("soft", {"op": "softmax", "as": "node", "args": [{"op": "relu", "args": [{"any": True, "as": "x"}]}]})
        def soft(x, nodes):
            axis = nodes["node"][0].attrs["axis"]
            e = np.exp(np.maximum(x, 0))
            return e / e.sum(axis=axis, keepdims=True)

        plugin.register()
        model = FOLDER / "soft.ir"
        for axis in (0, 1):
            model.write_text(f"fn main(%x: f32[2,3]) {{\n  %0 = relu(%x)\n  %1 = softmax(%0) {{axis={axis}}}\n  return %1\n}}\n")
            options = {"compiler": ["nodes", "json"]}
            self.assertTrue(byoc.verify(model, **options).ok)
            self.assertEqual(byoc.explain(model, **options)["plugins"][0]["plugin"], "nodes")


class Failures(unittest.TestCase):
    def plugin(self, name, **options):
        plugin = byoc.plugin.Plugin(name, priority=70)

        def decorate(function):
            plugin.op("relu", **options)(function)
            plugin.register()
            return {"compiler": [name, "json"]}

        return decorate

    def error(self, options):
        program = byoc.compile(CHAIN, **options)
        with self.assertRaises(byoc.Error) as caught:
            program(X, Y)
        return caught.exception

    def test_an_exception_of_a_kernel(self):
        def broken(x):
            raise ZeroDivisionError("no such luck")

        options = self.plugin("broken")(broken)
        error = self.error(options)
        self.assertEqual(error.slug, "run-failed")
        for words in ("ZeroDivisionError: no such luck", "plugin_test.py", "in broken"):
            self.assertIn(words, str(error))
        self.error(options)                                # it is survived

    def test_wrong_results(self):
        for name, function, words in [
            ("shape", lambda x: x[:1], "float32[1, 3]"), ("kind", lambda x: x * 1j, "f32[2,3] is expected"),
            ("count", lambda x: (x, x), "returned 2 arrays"), ("none", lambda x: None, "object"),
        ]:
            with self.subTest(name):
                self.assertIn(words, str(self.error(self.plugin(f"wrong_{name}")(function))))

    def test_wrong_values_are_found(self):
        options = self.plugin("wrong")(lambda x: np.maximum(x, 0) + np.float32(0.01))
        verified = byoc.verify(CHAIN, **options)
        self.assertFalse(verified.ok)
        self.assertEqual(verified["bad_region"]["plugin"], "wrong")
        self.assertIn("WRONG", str(verified))

    def test_inputs_are_read_only(self):
        def writes(x):
            x += 1
            return x

        self.assertIn("read-only", str(self.error(self.plugin("writes")(writes))))

    def test_an_exception_of_a_judge(self):
        def broken(node):
            return node.nothing

        options = self.plugin("judged", when=broken)(lambda x: x)
        explanation = byoc.explain(CHAIN, **options)
        self.assertEqual(takers(explanation)["cut"], "json")
        self.assertRegex(str(explanation), r"AttributeError: .*nothing.*plugin_test.py:\d+")

    def test_a_pattern_whose_input_has_no_name(self):
        plugin = byoc.plugin.Plugin("unnamed", priority=70)
        plugin.pattern("cut", {"op": "relu", "args": [{"op": "add"}]})(lambda: None)
        plugin.register()
        explanation = byoc.explain(CHAIN, compiler=["unnamed", "json"])
        self.assertEqual(takers(explanation)["cut"], "json")

    def test_registering(self):
        for wrong in ("", "Big", "a b", "1st"):
            with self.assertRaises(byoc.Error):
                byoc.plugin.Plugin(wrong)
        with self.assertRaisesRegex(byoc.Error, "is no JSON"):
            byoc.plugin.Plugin("bytes").pattern("cut", {"op": b"relu"})(lambda x: x)
        with self.assertRaises(byoc.Error) as caught:
            byoc.plugin.Plugin("again", priority=1).register()
            byoc.plugin.Plugin("again", priority=2).register()
        self.assertEqual(caught.exception.slug, "registered")
        with self.assertRaises(byoc.Error):
            byoc.compile(CHAIN, compiler=["again", "json"], plugin_options={"again.x": 1})

    def test_a_cell_that_runs_again(self):
        for factor in (1, 2):
            plugin = byoc.plugin.Plugin("cell", priority=70)
            plugin.op("relu")(lambda x: np.maximum(x, 0) * np.float32(factor))
            plugin.register()
            scaled, _ = byoc.compile(CHAIN, compiler=["cell", "json"])(X, Y)
            np.testing.assert_array_equal(scaled, SCALED * factor)


class Conformance(unittest.TestCase):
    """byoc check-plugin for a plugin of this process."""

    def test_keeps_the_rules(self):
        plugin = byoc.plugin.Plugin("keeper", priority=70)
        plugin.op("relu")(lambda x: np.maximum(x, 0))
        plugin.op("add", dtypes=("f32", "i64"))(lambda x, y: x + y)
        plugin.pattern("scaled", {"op": "multiply", "args": [
            {"op": "relu", "args": [{"any": True, "as": "x"}]}, {"const": True, "as": "by"}]})(
                lambda x, by: np.maximum(x, 0) * by)
        plugin.op("softmax", when=lambda node: node.attrs["axis"] == 1 or "only along axis 1")(
            lambda x, axis: np.exp(x - x.max(axis, keepdims=True)) / np.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True))
        plugin.register()
        answer = plugin.check()
        self.assertEqual([check for check in answer["checks"] if check["outcome"] == "fail"], [])
        passed = {check["name"] for check in answer["checks"] if check["outcome"] == "pass"}
        self.assertLessEqual({"opens", "required", "unknown_attr", "values", "strided", "guards", "composites", "concurrent"}, passed)

    def test_faults_are_found(self):
        plugin = byoc.plugin.Plugin("breaker", priority=70)
        plugin.op("relu")(lambda x: np.maximum(x, 0.25))
        plugin.register()
        answer = plugin.check(groups=["correctness"])
        self.assertIn("values", {check["name"] for check in answer["checks"] if check["outcome"] == "fail"})

    def test_needs_a_registered_plugin(self):
        with self.assertRaises(byoc.Error) as raised:
            byoc.plugin.Plugin("nowhere").check()
        self.assertEqual(raised.exception.code, "not-found")


class Threads(unittest.TestCase):
    def test_runs_of_several_threads(self):
        import threading

        plugin = byoc.plugin.Plugin("threads", priority=70)
        plugin.op("relu")(lambda x: np.maximum(x, 0))
        plugin.register()
        program = byoc.compile(CHAIN, compiler=["threads", "json"])
        wrong = []

        def work():
            for _ in range(100):
                if not np.array_equal(program(X, Y)[0], SCALED):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_memory(self):
        from byoc.plugin import _table

        plugin = byoc.plugin.Plugin("memory", priority=70)
        plugin.op("relu")(lambda x: np.maximum(x, 0))
        plugin.register()
        before = len(_table._objects)
        for _ in range(20):
            byoc.compile(CHAIN, compiler=["memory", "json"])(X, Y)
        self.assertEqual(len(_table._objects), before)


if __name__ == "__main__":
    unittest.main()
