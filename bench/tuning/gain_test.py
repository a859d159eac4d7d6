#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of gain.py's own logic: its options, its figures, and its messages."""

import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gain  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def run(*arguments):
    return subprocess.run([sys.executable, gain.__file__, *arguments], text=True, capture_output=True)


class Arguments(unittest.TestCase):
    def test_help_has_examples(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("gain.py networks/resnet18 networks/lstm --logs logs --budget 600", done.stdout)

    def test_wrong_use_is_exit_code_2(self):
        for wrong in ([], ["m.onnx", "--rounds", "0"], ["m.onnx", "--round", "3"]):
            self.assertEqual(run(*wrong).returncode, 2, wrong)

    def test_a_missing_model_is_named(self):
        done = run("nets/none.onnx")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model at nets/none.onnx", done.stderr)

    def test_a_failed_program_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            byoc = Path(folder) / "bin" / "byoc"
            byoc.parent.mkdir()
            byoc.write_text("#!/bin/sh\nexit 3\n")
            byoc.chmod(0o755)
            model = Path(folder) / "m.onnx"
            model.write_bytes(b"")
            done = run(str(model), "--build", folder, "--logs", folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit code 3", done.stderr)


class Figures(unittest.TestCase):
    def test_geometric_mean(self):
        results = [{"ratio": {"untuned/tuned": {"median": value}}} for value in (2.0, 8.0)]
        self.assertAlmostEqual(gain.geometric_means(results)["untuned/tuned"], 4.0)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_errors_are_parts_of_the_largest_value(self):
        right = [numpy.array([1.0, -4.0], "f4")]
        self.assertEqual(gain.largest_error([numpy.array([1.0, -3.0], "f4")], right), 0.25)
        self.assertEqual(gain.largest_error([numpy.array([1.0], "f4")], right), math.inf)
        self.assertFalse(gain.largest_error([numpy.array([1.0, math.nan], "f4")], right) <= 1e-4)


if __name__ == "__main__":
    unittest.main()
