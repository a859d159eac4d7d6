#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and uses the tools by the package byoc; what they return is what the commands print with --json.

    tools_test.py SOURCE BUILD
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
FOLDER = Path(tempfile.mkdtemp())
os.environ["XDG_CACHE_HOME"] = str(FOLDER / "cache")
sys.path.insert(0, str(SOURCE / "python"))

import byoc  # noqa: E402

MODEL = SOURCE / "tests/models/digits/model.onnx"
IMAGES = np.load(MODEL.parent / "images.npy").astype(np.float32)
EXPECTED = np.load(MODEL.parent / "outputs.npy")
# Members that differ from run to run: measurements, and facts of the process.
TIMES = {"time_ns", "first_ns", "total_ns", "min_ns", "seconds", "compile_ns", "load_ns", "first_run_ns", "median_ns", "p5_ns",
         "p95_ns", "samples_ns", "gflop_per_s", "gb_per_s", "share_of_peak", "share_of_bandwidth", "runs_per_sample", "runs",
         "outside_ns", "peak_rss_bytes", "other_load", "memory", "benchmarks", "context", "spans", "turns", "peaks", "cores",
         "calls_per_run", "ratio", "low", "high", "free_bytes", "observations"}


def same_without_times(value):
    if isinstance(value, dict):
        return {key: same_without_times(item) for key, item in value.items() if key not in TIMES}
    return [same_without_times(item) for item in value] if isinstance(value, list) else value


def command(*words: object):
    done = subprocess.run([BUILD / "bin/byoc", *map(str, words), "--json"], text=True, capture_output=True)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Compiling(unittest.TestCase):
    def test_values(self):
        for compiler in (["onednn", "llvm"], "llvm", ["json"]):
            program = byoc.compile(MODEL, shapes={"N": 1}, compiler=compiler)
            np.testing.assert_allclose(program(IMAGES[:1]), EXPECTED[:1], rtol=1e-4, atol=1e-5)

    def test_forms_of_a_model_and_of_shapes(self):
        wanted = byoc.compile(MODEL, shapes={"N": 1}, compiler="json")(IMAGES[:1])
        data = MODEL.read_bytes()
        for model in (str(MODEL), data, bytearray(data)):
            np.testing.assert_array_equal(byoc.compile(model, shapes=["N=1"], compiler="json")(IMAGES[:1]), wanted)
        np.testing.assert_array_equal(
            byoc.compile(MODEL, shapes={"image": (1, 1, 8, 8)}, compiler="json")(IMAGES[:1]), wanted)
        every = byoc.compile(MODEL, compiler="llvm")         # no numbers: one program for all
        for n in (1, 3):                                     # llvm adds in another order than json
            np.testing.assert_allclose(every(IMAGES[:n]), byoc.compile(MODEL, shapes={"N": n}, compiler="json")(IMAGES[:n]),
                                       rtol=1e-4, atol=1e-5)
        two = byoc.compile(MODEL, shapes=[{"N": 1}, {"N": 4}], compiler="json")
        self.assertEqual(two.sizes, ["N=1", "N=4"])
        self.assertEqual(two(IMAGES[:4]).shape, (4, 10))

    def test_saved_as_the_command_saves(self):
        program = byoc.compile(MODEL, shapes={"N": 1}, compiler=["onednn", "llvm"])
        program.save(FOLDER / "python.byoc")
        subprocess.run([BUILD / "bin/byoc", "compile", MODEL, "--shape", "N=1", "--compiler", "onednn,llvm", "-o",
                        FOLDER / "command.byoc"], check=True, capture_output=True)
        self.assertEqual((FOLDER / "python.byoc").read_bytes(), (FOLDER / "command.byoc").read_bytes())
        loaded = byoc.load(FOLDER / "command.byoc")
        np.testing.assert_array_equal(loaded(IMAGES[:1]), program(IMAGES[:1]))
        with self.assertRaises(byoc.Error) as caught:
            loaded.explain()
        self.assertEqual(caught.exception.slug, "no-model")

    def test_cures_are_in_words_of_python(self):
        def caught(model, **options):
            with self.assertRaises(byoc.Error) as found:
                byoc.compile(model, **options)
            return found.exception

        error = caught(MODEL, shapes={"N": -1})
        self.assertIn("shapes", f"{error} {error.help}")
        error = caught(b"no model")
        self.assertEqual((error.slug, error.where), ("onnx-parse", "the given model"))
        self.assertIn('shapes names "M"', str(caught(MODEL, shapes={"M": 1})))
        error = caught(MODEL, shapes=(1, 1, 8, 8))
        self.assertEqual(error.slug, "usage")
        self.assertIn('{"x": (1, 3, 224, 224)', error.help)

    def test_errors(self):
        for arguments, slug in [({"shaps": 1}, "usage"), ({"compiler": ["nonsense"]}, "unknown-plugin"),
                                ({"level": 9}, "usage"), ({"shapes": [{"N": 1}, {"M": 1}]}, "usage")]:
            with self.subTest(arguments), self.assertRaises(byoc.Error) as caught:
                byoc.compile(MODEL, **{"shapes": {"N": 1}, **arguments})
            self.assertEqual(caught.exception.slug, slug)
        with self.assertRaises(byoc.Error) as caught:
            byoc.compile("missing.onnx")
        self.assertIn("missing.onnx", str(caught.exception))
        with self.assertRaises(byoc.Error) as caught:
            byoc.compile(b"no model")
        self.assertTrue(caught.exception.message)
        with self.assertRaises(byoc.Error):
            byoc.compile(12)

    def test_threads(self):
        program = byoc.compile(MODEL, shapes={"N": 1}, compiler="llvm", threads=2)
        np.testing.assert_allclose(program(IMAGES[:1]), EXPECTED[:1], rtol=1e-4, atol=1e-5)


class Tools(unittest.TestCase):
    """What the commands print, compared. Times are left out."""

    def compare(self, ours, *words):
        theirs = command(*words)
        self.assertEqual(same_without_times(dict(ours)), same_without_times(theirs))
        schema = SOURCE / f"share/byoc/schemas/{words[0]}.schema.json"
        try:
            import jsonschema
        except ImportError:
            return
        jsonschema.validate(dict(ours), json.loads(schema.read_text()))

    flags = ("--shape", "N=1", "--compiler", "onednn,llvm")
    options = {"shapes": {"N": 1}, "compiler": ["onednn", "llvm"]}

    def test_explain(self):
        self.compare(byoc.explain(MODEL, **self.options), "explain", MODEL, *self.flags)
        name = "/head/Gemm"
        self.compare(byoc.explain(MODEL, op=name, **self.options), "explain", MODEL, *self.flags, "--op", name)
        with self.assertRaises(byoc.Error) as caught:
            byoc.explain(MODEL, op="conv2d", **self.options)
        self.assertEqual(caught.exception.slug, "unknown-node")

    def test_partition(self):
        ours = byoc.partition(MODEL, **self.options)
        self.compare(ours, "partition", MODEL, *self.flags, "-o", "-")
        picture = FOLDER / "picture.svg"
        command("partition", MODEL, *self.flags, "-o", FOLDER / "module.ir", "--svg", picture)
        self.assertEqual(ours._repr_svg_(), picture.read_text())
        written = byoc.partition(MODEL, output=FOLDER / "written.ir", **self.options)
        self.assertEqual(written._repr_svg_(), picture.read_text())

    def test_verify(self):
        ours = byoc.verify(MODEL, against="json", seed=3, **self.options)
        self.assertTrue(ours.ok)
        self.compare(ours, "verify", MODEL, *self.flags, "--against", "json", "--seed", "3")

    def test_verify_with_inputs(self):
        np.save(FOLDER / "image.npy", IMAGES[:1])
        ours = byoc.verify(MODEL, inputs={"image": IMAGES[:1]}, **self.options)
        self.compare(ours, "verify", MODEL, *self.flags, "--input", f"image={FOLDER / 'image.npy'}")

    def test_bench(self):
        ours = byoc.bench(MODEL, min_time=0.05, rounds=2, **self.options)
        self.assertGreater(ours.median_ms, 0)
        self.compare(ours, "bench", MODEL, *self.flags, "--min-time", "0.05", "--rounds", "2")

    def test_profile(self):
        self.compare(byoc.profile(MODEL, **self.options), "run", MODEL, *self.flags, "--profile")

    def test_place(self):
        self.compare(byoc.place(MODEL, estimates=True, **self.options), "place", MODEL, *self.flags, "--estimates")

    def test_tune(self):
        ours = byoc.tune(MODEL, FOLDER / "log.jsonl", shapes={"N": 1}, compiler="llvm", trials=1, task=["conv2d"])
        theirs = command("tune", MODEL, "--log", FOLDER / "other.jsonl", "--shape", "N=1", "--compiler", "llvm", "--trials", "1",
                         "--task", "conv2d")
        self.assertEqual(set(ours), set(theirs))
        self.assertTrue((FOLDER / "log.jsonl").read_text())

    def test_plugins_and_doctor(self):
        self.assertEqual({row["id"] for row in byoc.plugins()["plugins"]} & {"onednn", "llvm", "json"}, {"onednn", "llvm", "json"})
        self.assertEqual(set(byoc.doctor()), set(command("doctor")))
        for ours, theirs in ((byoc.plugins(), command("plugins")), (byoc.doctor(), command("doctor"))):
            self.assertEqual(ours["plugins"], theirs["plugins"])
            self.assertEqual(ours.origins["json"], f"installation, folder {BUILD / 'lib/byoc/plugins'}")

    def test_origin_of_a_package_that_is_not_beside_its_library(self):
        """A package that wraps a library of the system, or is installed in place."""
        folder, packages = FOLDER / "system", FOLDER / "packages"
        (packages / "chip-3.1.dist-info").mkdir(parents=True)
        folder.mkdir()
        library = shutil.copy(BUILD / "lib/byoc/plugins/libbyoc_json.so", folder)
        (packages / "chip.py").write_text(f"def plugins():\n    return [{str(library)!r}]\n")
        (packages / "chip-3.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: chip\nVersion: 3.1\n")
        (packages / "chip-3.1.dist-info/entry_points.txt").write_text("[byoc.plugins]\nfast = chip:plugins\n")
        text = ("import byoc; found = byoc.doctor(); assert found.origins == byoc.plugins().origins; "
                "print(found.origins['json']); print(found)")
        done = subprocess.run([sys.executable, "-c", text], text=True, capture_output=True, check=True,
                              env={**os.environ, "PYTHONPATH": f"{packages}:{SOURCE / 'python'}"})
        first, rest = done.stdout.split("\n", 1)
        self.assertEqual(first, "wheel chip 3.1, entry point fast")
        self.assertIn(first, rest)

    def test_report(self):
        page = FOLDER / "report.html"
        byoc.report(MODEL, page, min_time=0.02, rounds=1, **self.options)
        self.assertIn("<html", page.read_text()[:200].lower())

    def test_methods_of_a_program(self):
        program = byoc.compile(MODEL, **self.options)
        self.assertEqual(program.explain(), byoc.explain(MODEL, **self.options))
        self.assertEqual(program.partition(), byoc.partition(MODEL, **self.options))
        self.assertTrue(program.verify().ok)
        self.assertGreater(program.bench(min_time=0.02, rounds=1).median_ms, 0)
        self.assertTrue(program.profile()["profile"])

    def test_methods_of_a_program_of_several_sizes(self):
        program = byoc.compile(MODEL, shapes=[{"N": 2}, {"N": 1}], compiler="json")
        self.assertEqual(program.explain(), byoc.explain(MODEL, shapes={"N": 2}, compiler="json"))
        self.assertEqual(program.explain(shapes={"N": 1}), byoc.explain(MODEL, shapes={"N": 1}, compiler="json"))
        self.assertTrue(program.verify().ok)

    def test_every_tool_takes_states(self):
        model = FOLDER / "sum.ir"
        model.write_text("""fn main(%x: f32[4], %past: f32[4]) {output_names=["present","y"]} {
  %0 = add(%past, %x)
  %1 = exp(%0)
  return %0, %1
}""")
        state = {"past": "present"}
        program = byoc.compile(model, state=state, compiler="llvm")
        brief = {"min_time": 0.02, "rounds": 1}
        calls = {"explain": {}, "partition": {}, "verify": {"steps": 4}, "profile": {}, "bench": brief,
                 "report": {"output": FOLDER / "states.html", **brief}}
        for name, more in calls.items():
            self.assertTrue(getattr(program, name)(**more), name)
        self.assertTrue(byoc.verify(model, state=state, steps=4).ok)
        self.assertTrue(byoc.place(model, state=state, estimates=True))
        self.assertTrue(byoc.tune(model, FOLDER / "states.jsonl", state=state, compiler="llvm", trials=1))
        public = {name for name in vars(byoc.Program) if not name.startswith("_")}
        self.assertEqual(public, set(calls), "each tool of a program has a row here")

    def test_tables(self):
        for result, words in [(byoc.explain(MODEL, **self.options), ["onednn", "max_pool"]),
                              (byoc.partition(MODEL, **self.options), ["onednn"]),
                              (byoc.verify(MODEL, **self.options), ["right", "probabilities"]),
                              (byoc.profile(MODEL, **self.options), ["onednn"]), (byoc.plugins(), ["llvm", "json"]),
                              (byoc.doctor(), ["llvm", "plugin ABI", "installation, folder"])]:
            for word in words:
                self.assertIn(word, str(result))
                self.assertIn(word, result._repr_html_())

    def test_options(self):
        self.assertEqual(byoc.options(), [dict(row) for row in byoc.options()])
        self.assertIn("compiler", [row["name"] for row in byoc.options()])


class Progress(unittest.TestCase):
    def test_a_function_is_called(self):
        seen = []
        byoc.place(MODEL, shapes={"N": 1}, compiler=["onednn", "llvm"], rounds=1, min_time=0.001, improve=0,
                   progress=lambda *what: seen.append(what))
        self.assertTrue(seen)

    def test_an_exception_in_it_ends_the_work(self):
        def broken(what, done, total):
            raise ZeroDivisionError(what)

        with self.assertRaises(ZeroDivisionError):
            byoc.place(MODEL, shapes={"N": 1}, compiler=["onednn", "llvm"], rounds=1, min_time=0.001, improve=0, progress=broken)

    def test_interrupt(self):
        """Ctrl-C ends the work within seconds, as a KeyboardInterrupt."""
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            byoc.bench(MODEL, shapes={"N": 1}, compiler="json", min_time=60, rounds=2)
        self.assertLess(time.monotonic() - begin, 30)

    def test_calls_from_other_threads(self):
        results = []
        thread = threading.Thread(target=lambda: results.append(byoc.compile(MODEL, shapes={"N": 1}, compiler="json")))
        thread.start()
        thread.join()
        np.testing.assert_allclose(results[0](IMAGES[:1]), EXPECTED[:1], rtol=1e-4, atol=1e-5)


class Command(unittest.TestCase):
    def test_module(self):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
        printed = subprocess.run([sys.executable, "-m", "byoc", "--version"], check=True, text=True, capture_output=True,
                                 env=environment).stdout
        self.assertEqual(printed, subprocess.run([BUILD / "bin/byoc", "--version"], text=True, capture_output=True).stdout)


if __name__ == "__main__":
    unittest.main()
