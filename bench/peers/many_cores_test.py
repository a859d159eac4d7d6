# SPDX-License-Identifier: Apache-2.0
"""Tests of many_cores.sh: counts of threads, limits of time, figures; and a run at small scale with the built programs.

many_cores_test.py BUILD MODEL: the built programs and a small model, for the last one.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import many_cores  # noqa: E402

BUILT = [Path(argument).resolve() for argument in sys.argv[1:3]]
CORES = len(many_cores.CORES) or os.cpu_count()
SERVE = """#!{python}
import json, sys, time
import numpy
if "{bad}" in sys.argv: sys.exit("no such plugin")
print(json.dumps({{"ready": True}}), flush=True)
for line in sys.stdin:
    word, argument = line.split()
    if word == "run":
        print(json.dumps({{"ns": [{ns}] * int(argument)}}), flush=True)
    else:
        numpy.save(argument + "/0.npy", numpy.full((1, 2), {value}, numpy.float32))
        print("{{}}", flush=True)
"""
ONNXRUNTIME = """
import numpy
__version__ = "0"
class Named:
    name, shape, type = "x", [1, 2], "tensor(float)"
class SessionOptions: pass
class OrtValue:
    ortvalue_from_numpy = staticmethod(lambda value: value)
class Binding:
    def bind_ortvalue_input(self, *_): pass
    def bind_output(self, *_): pass
    def copy_outputs_to_cpu(self): return [numpy.full((1, 2), 3, numpy.float32)]
class InferenceSession:
    def __init__(self, *_, **__): pass
    get_inputs = get_outputs = lambda self: [Named]
    io_binding = lambda self: Binding()
    run_with_iobinding = lambda self, _: __import__("time").sleep(0.002)
"""


def has_numpy():
    return subprocess.run([sys.executable, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0


class Folder:
    """A folder as many_cores.sh takes it, with programs that reply as the real ones do."""

    def __init__(self, value=3, ns=1000000, bad="none"):
        self.temp = tempfile.TemporaryDirectory()
        self.path = Path(self.temp.name)
        for file in ("bin/bench_serve", "networks/a/model.onnx", "networks/b/model.onnx", "python/onnxruntime.py"):
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            (self.path / file).write_text("")
        (self.path / "bin/bench_serve").write_text(SERVE.format(python=sys.executable, value=value, ns=ns, bad=bad))
        (self.path / "bin/bench_serve").chmod(0o755)
        (self.path / "python/onnxruntime.py").write_text(ONNXRUNTIME)

    def run(self, *arguments):
        environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(self.path / "python")}
        return subprocess.run(["sh", str(HERE / "many_cores.sh"), str(self.path), *arguments], text=True,
                              capture_output=True, env=environment)


class Counts(unittest.TestCase):
    def test_are_those_that_the_cores_suffice_for(self):
        self.assertEqual(many_cores.counts_for([16, 8, 4], 16), ([16, 8, 4], ""))
        self.assertEqual(many_cores.counts_for([16, 8, 4], 12)[0], [8, 4])
        counts, note = many_cores.counts_for([16, 8, 4], 2)
        self.assertEqual((counts, note), ([2], "this machine has 2 cores: 2 threads in place of 16, 8, 4"))


class Figures(unittest.TestCase):
    rows = [{"network": n, "threads": 8, "ms": {"ONNX Runtime": 2.0, "llvm": ms}, "left_out": {}, "wrong": False}
            for n, ms in (("a", 1.0), ("b", 4.0))]

    def test_means_are_geometric_and_the_largest_is_named(self):
        self.assertEqual(list(many_cores.summary_of(self.rows)),
                         ["geometric mean      8 thr   llvm 1.00, at most 2.00 (2 networks)"])

    def test_a_line_has_times_and_ratios(self):
        self.assertRegex(many_cores.line_of(self.rows[0]), r"a +8 thr   ONNX Runtime +2.000 ms   llvm +1.000 ms \(0.50\)")


class Use(unittest.TestCase):
    def test_a_folder_without_programs_or_networks_is_exit_code_2(self):
        for missing in ("bin", "networks"):
            folder = Folder()
            shutil.rmtree(folder.path / missing)
            done = folder.run()
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"error: no {missing}/", done.stderr)

    def test_wrong_use_is_exit_code_2(self):
        for wrong in (["--threads", "many"], ["--threads", "0"], ["--seconds", "0"]):
            self.assertEqual(Folder().run(*wrong).returncode, 2, wrong)


@unittest.skipUnless(has_numpy(), "numpy is not installed")
class Run(unittest.TestCase):
    def test_prints_all_networks_beside_onnx_runtime(self):
        folder = Folder()
        done = folder.run("--threads", str(CORES), "--json", str(folder.path / "out.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = json.loads((folder.path / "out.json").read_text())["rows"]
        self.assertEqual([(row["network"], row["threads"]) for row in rows], [("a", CORES), ("b", CORES)])
        self.assertEqual(list(rows[0]["ms"]), ["ONNX Runtime", *many_cores.COMPILERS])
        self.assertEqual(rows[0]["ms"]["llvm"], 1.0)

    def test_wrong_outputs_are_not_timed_and_fail(self):
        done = Folder(value=4).run("--threads", "1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("llvm left out: WRONG", done.stdout)

    def test_a_compiler_that_does_not_start_is_left_out(self):
        done = Folder(bad="auto").run("--threads", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("auto left out: byoc --compiler auto ended", done.stdout)

    def test_ends_in_time_and_names_what_it_left_out(self):
        begin = time.monotonic()
        done = Folder().run("--threads", "1", "--seconds", "0.001")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("left out after 0.001 s: a with 1, b with 1 threads", done.stdout)


@unittest.skipUnless(len(BUILT) == 2 and (BUILT[0] / "bin" / "bench_serve").exists(), "bench_serve is not built")
class Built(unittest.TestCase):
    def test_runs_here_with_fewer_cores(self):
        if subprocess.run([sys.executable, "-c", "import onnxruntime"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("onnxruntime is not installed")
        with tempfile.TemporaryDirectory() as temp:
            folder = Path(temp)
            for name in ("bin", "lib"):
                (folder / name).symlink_to(BUILT[0] / name)
            (folder / "networks" / "small").mkdir(parents=True)
            shutil.copy(BUILT[1], folder / "networks" / "small" / "model.onnx")
            done = subprocess.run(["sh", str(HERE / "many_cores.sh"), temp, "--seconds", "60", "--threads", "1024"],
                                  text=True, capture_output=True, env={**os.environ, "PYTHON": sys.executable})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"this machine has {CORES} cores: {CORES} threads in place of 1024", done.stdout)
        self.assertRegex(done.stdout, r"llvm +[0-9.]+ ms \([0-9.]+\)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
