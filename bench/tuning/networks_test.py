#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of networks.py: which records it drops, how it divides time, and its messages."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, networks.__file__, *arguments], text=True, capture_output=True)


def record(key, ns, point="a", threads=1):
    return {"key": key, "target": "t", "threads": threads, "kind": "matmul", "point": {"tile": point},
            "samples_ns": [ns + 1.0, ns]}


def hit_of(record):
    return {"symbol": f"f_{record['key']}", "kind": record["kind"], "point": record["point"], "origin": "exact",
            "best_ns": min(record["samples_ns"]), "weight_ns": min(record["samples_ns"])}


class Arguments(unittest.TestCase):
    def test_wrong_use_is_exit_code_2(self):
        for wrong in ([], ["m.onnx"], ["m.onnx", "--log", "l", "--budget", "0"]):
            self.assertEqual(run(*wrong).returncode, 2, wrong)

    def test_a_missing_model_is_named(self):
        done = run("nets/none.onnx", "--log", "none.jsonl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model at nets/none.onnx", done.stderr)


class Recheck(unittest.TestCase):
    def recheck(self, records, ratios, extra_lines=()):
        """Returns the lines of the log after a recheck, where the duel of each function has the given ratio."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log.jsonl"
            log.write_text("".join(line + "\n" for line in [*map(json.dumps, records), *extra_lines]))
            options = networks.parse(["m.onnx", "--log", str(log)])
            hits = [hit_of(r) for r in records if f"f_{r['key']}" in ratios and r["threads"] == 1]
            with mock.patch.object(networks, "hits_of", return_value=hits), \
                    mock.patch.object(networks, "duel", side_effect=lambda o, f, g, symbol: ratios[symbol]), \
                    contextlib.redirect_stdout(io.StringIO()) as printed:
                networks.recheck(options, [("m", Path(folder) / "m.onnx")], time.monotonic() + 60)
            return log.read_text().splitlines(), printed.getvalue()

    def test_drops_all_records_of_a_task_that_loses(self):
        records = [record("1", 10), record("1", 20, "b"), record("2", 30), record("1", 40, threads=2)]
        lines, printed = self.recheck(records, {"f_1": 0.97, "f_2": 1.2})
        self.assertEqual([json.loads(line) for line in lines], records[2:])
        self.assertIn("1 dropped", printed)

    def test_keeps_what_wins_what_no_model_has_and_what_it_cannot_read(self):
        records = [record("1", 10), record("3", 50)]
        lines, printed = self.recheck(records, {"f_1": 1.0}, ["no record"])
        self.assertEqual(lines, [*map(json.dumps, records), "no record"])
        self.assertIn("1 tasks were not measured", printed)


class Tune(unittest.TestCase):
    def test_divides_what_is_left_of_the_time(self):
        clock, budgets = [0.0], []

        def call(options, command, file, *words):
            budgets.append(float(words[words.index("--budget") + 1]))
            clock[0] += budgets[-1] / 2  # ends early
            return {"tasks": [], "measured": 0, "untuned_ns": None, "best_ns": None}

        options = networks.parse(["m.onnx", "--log", "l.jsonl"])
        models = [(name, Path("none") / name) for name in "abc"]
        with mock.patch.object(networks, "call", call), mock.patch.object(time, "monotonic", lambda: clock[0]), \
                contextlib.redirect_stdout(io.StringIO()):
            networks.tune(options, models, 90.0)
        self.assertEqual(budgets, [30.0, 37.5, 56.2])


if __name__ == "__main__":
    unittest.main()
