# SPDX-License-Identifier: Apache-2.0
"""Tests of table.py: its columns, the order of its rows, and its last lines."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "table.py"


def case(op, threads, ours, theirs):
    ratio = ours / theirs if theirs else None
    return {"op": op, "from": "net", "shapes": "f32[2]", "attrs": {}, "threads": threads, "ratio": ratio,
            "byoc": {"time_ns": ours}, "peer": {"time_ns": theirs} if theirs else None}


def printed(results, *options):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, (given, cases) in enumerate(results):
            files.append(f"{folder}/{number}.json")
            Path(files[-1]).write_text(json.dumps({"options": given, "cases": cases}))
        done = subprocess.run([sys.executable, str(SCRIPT), *files, *options], text=True, capture_output=True, check=True)
    return done.stdout.splitlines()


class Table(unittest.TestCase):
    def test_rows_are_the_worst_of_any_column(self):
        lines = printed([({}, [case("A", 1, 4000, 1000), case("B", 1, 8000, 1000), case("C", 1, 1000, 1000)]),
                         ({"compiler": ["llvm", "json"]}, [case("A", 1, 9000, 1000), case("B", 1, 1000, 1000)])],
                        "--worst", "2")
        self.assertEqual(lines[0], "| operator | size of | `default`, 1 | `llvm,json`, 1 |")
        self.assertEqual(lines[2:4], ["| A | net | 4 (4.00) | 9 (9.00) |", "| B | net | 8 (8.00) | 1 (1.00) |"])
        self.assertEqual(lines[4], "| geometric mean | 3 cases | 3.17 | 3.00 |")  # 32 ** (1/3), 9 ** (1/2)
        self.assertEqual(lines[5:], ["| cases above 1.5 |  | 2 | 1 |", "| cases above 1.0 |  | 2 | 1 |"])

    def test_threads_have_a_column_each(self):
        lines = printed([({}, [case("A", 2, 2000, 1000), case("A", 1, 1000, 1000)])])
        self.assertEqual(lines[0], "| operator | size of | `default`, 1 | `default`, 2 |")
        self.assertEqual(lines[2], "| A | net | 1 (1.00) | 2 (2.00) |")

    def test_results_without_a_peer_have_no_rows(self):
        lines = printed([({}, [case("A", 1, 1000, None)])])
        self.assertEqual(lines[2], "| geometric mean | 0 cases | nan |")


if __name__ == "__main__":
    unittest.main()
