#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests networks.py with a program that answers as byoc does."""

import json
import stat
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks  # noqa: E402

# Rivals are slower by the length of their list; "broken.onnx" cannot be read.
PROGRAM = """#!%s
import json, sys
words = sys.argv[1:]
if words[1].endswith("broken.onnx"):
    print(json.dumps({"ok": False, "error": {"message": "no model"}}))
elif words[0] == "place":
    choice = lambda kind, names, ns: {"name": "+".join(names), "kind": kind, "compilers": names, "ns": ns, "error": ""}
    failed = {"name": "c", "kind": "single", "compilers": ["c"], "ns": 0, "error": "differs"}
    print(json.dumps({"ok": True, "origin": "by cost", "solver": {"heuristic_steps": 3, "gap": 0.021},
                      "free_borders": {"most_gain": 1.234},
                      "agreement": [{"plugin": "onednn", "candidates": 9, "rank_correlation": 0.5},
                                    {"plugin": "llvm", "candidates": 12,
                                     "rank_correlation": 0.9 if words[1] == "a.onnx" else 0.7}],
                      "choices": [failed, choice("single", ["llvm"], 9), choice("single", ["onednn", "llvm"], 8),
                                  choice("order", ["onednn", "b", "llvm"], 10)]}))
elif words[0] == "bench":
    rival = words[words.index("--vs") + 1]
    ratio = 1 + rival.count(",") / 10 + ("b" in rival.split("=")[1])
    print(json.dumps({"ok": True, "configurations": [{"median_ns": 2e6}],
                      "versus": {"b_against_a": {"ratio": ratio, "low": ratio, "high": ratio},
                                 "control": {"ratio": 1.0, "low": 0.99, "high": 1.01},
                                 "cores": [] if words[words.index("--threads") + 1] == "1" else
                                          [{"speedup": 1.98}, {"speedup": 1.72 + len(rival)}]}}))
else:
    print(json.dumps({"ok": True}))
"""


class Networks(unittest.TestCase):
    def run_script(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "byoc"
            program.write_text(PROGRAM % sys.executable)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            out = Path(folder) / "out.json"
            code = networks.main([*words, "--byoc", str(program), "--json", str(out)])
            return code, json.loads(out.read_text()) if out.exists() else None

    def test_confirms_against_the_fastest_of_each_kind(self):
        code, value = self.run_script("a.onnx", "b.onnx", "--threads", "1,2")
        self.assertEqual(code, 0)
        self.assertEqual([(row["network"], row["threads"]) for row in value["rows"]],
                         [("a", 1), ("b", 1), ("a", 2), ("b", 2)])
        row = value["rows"][0]
        self.assertEqual(row["single"]["name"], "onednn+llvm")
        self.assertAlmostEqual(row["single"]["ratio"]["ratio"], 1.1)
        self.assertAlmostEqual(row["order"]["ratio"]["ratio"], 2.2)
        self.assertIsNone(networks.cores(row))
        self.assertAlmostEqual(networks.cores(value["rows"][2]), 1.98)
        cells = networks.cells(row)
        self.assertEqual(len(cells), len(networks.COLUMNS))
        self.assertIn("2.1 %", cells)
        self.assertEqual(cells[networks.COLUMNS.index("bound")], "1.234")
        self.assertEqual(cells[networks.COLUMNS.index("ranks")], "llvm 0.90, onednn 0.50")
        self.assertAlmostEqual(networks.mean(value["rows"], "single"), 1.1)
        self.assertIn("rank correlation of the estimates of llvm: median 0.80, least 0.70\n",
                      networks.table(value["rows"]))

    def test_estimates_keep_the_fastest_plugin(self):
        code, value = self.run_script("a.onnx", "--estimates", "--compiler", "onednn,llvm")
        self.assertEqual(code, 0)
        self.assertEqual(value["rows"][0]["single"]["name"], "llvm")

    def test_reports_networks_that_fail(self):
        code, value = self.run_script("a.onnx", "broken.onnx")
        self.assertEqual(code, 1)
        self.assertEqual(len(value["rows"]), 1)
        self.assertEqual(value["failures"], [["broken, 1 threads", "no model"]])


if __name__ == "__main__":
    unittest.main()
