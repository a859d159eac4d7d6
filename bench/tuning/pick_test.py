#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of pick.py: which record each task gets, and its messages."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pick  # noqa: E402
from networks_test import record  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, pick.__file__, *arguments], text=True, capture_output=True)


def task(key):
    return (key, "t", 1)


class Arguments(unittest.TestCase):
    def test_wrong_use_is_exit_code_2(self):
        for wrong in ([], ["m.onnx"], ["m.onnx", "--log", "l"], ["m.onnx", "--log", "l", "--output", "o", "--rounds", "0"]):
            self.assertEqual(run(*wrong).returncode, 2, wrong)

    def test_a_missing_model_is_named(self):
        done = run("nets/none.onnx", "--log", "none.jsonl", "--output", "o.jsonl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model at nets/none.onnx", done.stderr)


class Records(unittest.TestCase):
    def test_the_winner_of_a_duel_counts(self):
        loser = {**record("1", 10, "a"), "lost_to": {"tile": "b"}}
        best = pick.best_records([("", loser), ("", record("1", 12, "b")), ("", record("1", 11, "c"))])
        self.assertEqual(best[task("1")]["point"], {"tile": "b"})

    def test_duels_in_a_circle_end(self):
        a = {**record("1", 10, "a"), "lost_to": {"tile": "b"}}
        b = {**record("1", 12, "b"), "lost_to": {"tile": "a"}}
        self.assertIn(pick.best_records([("", a), ("", b)])[task("1")]["point"], ({"tile": "a"}, {"tile": "b"}))

    def test_records_with_an_error_have_no_time(self):
        failed = {**record("1", 1), "error": "timeout"}
        self.assertEqual(pick.best_records([("", failed), ("not JSON", None)]), {})


class Choice(unittest.TestCase):
    def pick(self, logs, networks, margin="0.985"):
        """Returns the records of the new log. `logs` are lists of records; a network has {symbol: (key, [ns without a
        log, with the first, ...])}."""
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder) / f"{k}.jsonl") for k in range(len(logs))]
            for file, records in zip(files, logs):
                Path(file).write_text("".join(json.dumps(r) + "\n" for r in records))
            output = Path(folder) / "out.jsonl"
            keys = [{r["key"] for r in records} for records in logs]

            def tasks_of(_, file, flags, log, lines):
                has = keys[files.index(log)]
                return {symbol: task(key) for symbol, (key, _) in networks[file].items() if key in has}

            def profile(_, file, flags, log):
                column = 0 if log == pick.NONE else 1 + files.index(log)
                return {symbol: ns[column] for symbol, (_, ns) in networks[file].items()}

            words = [word for file in files for word in ("--log", file)]
            with mock.patch.object(pick, "tasks_of", side_effect=tasks_of), \
                    mock.patch.object(pick, "profile", side_effect=profile), \
                    mock.patch.object(pick, "flags_of", return_value=[]), \
                    mock.patch.object(pick.peers, "find_models", return_value=[(n, n) for n in networks]), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(pick.main(["m", *words, "--output", str(output), "--margin", margin]), 0)
            return [json.loads(line) for line in output.read_text().splitlines()]

    def test_a_task_gets_the_record_that_is_faster_in_the_network(self):
        old, new = [record("1", 10, "old"), record("2", 10, "old")], [record("1", 5, "new"), record("2", 5, "new")]
        picked = self.pick([old, new], {"m": {"f": ("1", [20, 12, 15]), "g": ("2", [20, 15, 12])}})
        self.assertEqual([(r["key"], r["point"]["tile"]) for r in picked], [("1", "old"), ("2", "new")])

    def test_a_record_that_gains_less_than_the_margin_is_left_out(self):
        network = {"m": {"f": ("1", [100, 99])}}
        self.assertEqual(self.pick([[record("1", 10)]], network), [])
        self.assertEqual(len(self.pick([[record("1", 10)]], network, margin="1")), 1)

    def test_the_times_of_all_networks_count(self):
        networks = {"m": {"f": ("1", [100, 90])}, "n": {"f": ("1", [100, 130]), "g": ("1", [100, 130])}}
        self.assertEqual(self.pick([[record("1", 10)]], networks), [])

    def test_tasks_of_no_network_keep_the_record_of_the_first_log(self):
        picked = self.pick([[record("3", 10, "old")], [record("3", 5, "new"), record("4", 5)]], {"m": {}})
        self.assertEqual([(r["key"], r["point"]["tile"]) for r in picked], [("3", "old")])

    def test_records_lose_the_name_of_a_winner_that_is_not_there(self):
        lost = {**record("1", 10), "lost_to": {"tile": "z"}}
        self.assertNotIn("lost_to", self.pick([[lost]], {"m": {"f": ("1", [20, 10])}})[0])


if __name__ == "__main__":
    unittest.main()
