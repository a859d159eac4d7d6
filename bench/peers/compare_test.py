# SPDX-License-Identifier: Apache-2.0
"""Tests of compare.py's own logic: its options, its figures, and its messages without a peer."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compare  # noqa: E402

SCRIPT = Path(compare.__file__)


class Folder:
    """A build folder with a bench_serve, a model, and a Python path on which onnxruntime does not load."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        for file in ("bin/bench_serve", "nets/b/model.onnx", "nets/a/model.onnx", "broken/onnxruntime.py"):
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            (self.path / file).write_text("raise ImportError('not here')\n")

    def run(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), "--build", str(self.path), *arguments], text=True,
                              capture_output=True, env={**os.environ, "PYTHONPATH": str(self.path / "broken")})


class Arguments(unittest.TestCase):
    def test_help_begins_with_what_it_does_and_has_examples(self):
        done = Folder().run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("compare.py networks/resnet50 networks/vgg16 --compiler onednn", done.stdout)

    def test_wrong_use_is_exit_code_2(self):
        for wrong in ([], ["m.onnx", "--threads", "two"], ["m.onnx", "--rounds", "0"], ["m.onnx", "--round", "3"]):
            done = Folder().run(*wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("error:", done.stderr)

    def test_a_model_that_is_not_there_is_named(self):
        done = Folder().run("nowhere/model.onnx")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model at nowhere/model.onnx", done.stderr)

    def test_models_of_a_folder_come_by_name(self):
        folder = Folder()
        options = compare.parse(["--models", str(folder.path / "nets")])
        self.assertEqual([name for name, _ in compare.find_models(options)], ["a", "b"])

    def test_a_model_folder_means_the_model_in_it(self):
        folder = Folder()
        options = compare.parse([str(folder.path / "nets" / "b")])
        self.assertEqual(compare.find_models(options), [("b", folder.path / "nets" / "b" / "model.onnx")])


@unittest.skipUnless(compare.CORES, "this system has no sched_setaffinity")
class Cores(unittest.TestCase):
    def test_all_processes_share_as_many_as_there_are_threads(self):
        self.addCleanup(os.sched_setaffinity, 0, compare.CORES)
        show = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
        for threads in (1, len(compare.CORES), 2 * len(compare.CORES)):
            compare.keep_to_cores(threads)
            done = subprocess.run(show, text=True, capture_output=True)
            self.assertEqual(int(done.stdout), min(threads, len(compare.CORES)))


class WithoutOnnxruntime(unittest.TestCase):
    def test_it_is_said_and_nothing_is_wrong(self):
        folder = Folder()
        done = folder.run(str(folder.path / "nets" / "a"), "--no-install")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped: ONNX Runtime is not installed", done.stdout)

    def test_json_says_why(self):
        folder = Folder()
        done = folder.run(str(folder.path / "nets" / "a"), "--no-install", "--json")
        report = json.loads(done.stdout)
        self.assertEqual(report["results"], [])
        self.assertIn("not installed", report["skipped"])


class Talker:
    """Replies to `run N` with N times."""

    def __init__(self, name, ns, log):
        self.name, self.ns, self.log = name, ns, log

    def ask(self, line):
        self.log.append(self.name)
        return {"ns": [self.ns] * int(line.split()[1])}


class Measuring(unittest.TestCase):
    def test_turns_alternate_and_turn_round(self):
        log = []
        children = [Talker("ort", 5e6, log), Talker("byoc", 10e6, log)]
        options = compare.parse(["m.onnx", "--rounds", "3", "--turn-ms", "20"])
        samples = compare.measure(children, options)
        self.assertEqual(log, ["ort", "byoc"] + ["ort", "byoc", "byoc", "ort", "ort", "byoc"])
        self.assertEqual([len(turn) for turn in samples[1]], [2, 2, 2])  # 20 ms of 10 ms runs

    def test_ratios_are_those_of_the_medians_of_each_round(self):
        self.assertEqual(compare.ratios([[1, 2, 90], [4, 4, 4]], [[4, 4, 4], [1, 2, 3]]), [0.5, 2.0])

    def test_spread_has_the_quartiles(self):
        self.assertEqual(compare.spread([7, 1, 3, 5, 2, 4, 6]), {"median": 4, "q1": 2, "q3": 6, "min": 1, "max": 7})

    def test_one_round_has_a_spread_too(self):
        self.assertEqual(compare.spread([3])["q3"], 3)

    def test_a_child_that_ends_gives_its_last_words(self):
        script = "import sys; sys.stderr.write('no such op'); sys.exit(3)"
        with self.assertRaisesRegex(compare.Failed, r"byoc ended \(exit code 3\): no such op"):
            compare.Child("byoc", [sys.executable, "-c", script])


class Report(unittest.TestCase):
    def result(self, error):
        row = {"compiler": "llvm", "time_ns": compare.spread([2e6]), "to_onnxruntime": compare.spread([0.5]),
               "fastest_to_onnxruntime": compare.fastest_ratio([[3, 2], [5]], [[8, 9], [4]]),
               "to_first_compiler": compare.spread([1.0]), "error": error, "agrees": error is not None and error < 1e-4,
               "why": None if error is not None else "output 0 has shape (1,), not (2,)"}
        return {"model": "net", "threads": 1, "onnxruntime": {"time_ns": compare.spread([4e6])}, "byoc": [row]}

    def test_has_both_times_and_their_ratio(self):
        line = next(compare.lines_of(self.result(1e-6)))
        self.assertRegex(line, r"net +1 thr  llvm +2.000 ms   ort +4.000 ms   ratio 0.500 .* fastest 0.500 ")

    def test_says_so_where_outputs_differ(self):
        self.assertIn("WRONG: max error 2.0e-02", next(compare.lines_of(self.result(2e-2))))
        self.assertIn("WRONG: output 0 has shape", next(compare.lines_of(self.result(None))))


if __name__ == "__main__":
    unittest.main()
