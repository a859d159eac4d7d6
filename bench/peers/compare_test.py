# SPDX-License-Identifier: Apache-2.0
"""Tests of compare.py's own logic: its options, its figures, its table, and its messages without a peer."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compare  # noqa: E402
import floor  # noqa: E402
import report as reporting  # noqa: E402
from control import Control, start_control  # noqa: E402

SCRIPT = Path(compare.__file__)


class Folder:
    """A build folder with a bench_serve, a model, and a Python path on which no peer loads."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        for file in ("bin/bench_serve", "bin/bench_cores", "nets/b/model.onnx", "nets/a/model.onnx", "broken/onnxruntime.py",
                     "broken/openvino.py", "broken/torch.py", "broken/MNN.py", "broken/ncnn.py"):
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
        for wrong in ([], ["m.onnx", "--threads", "two"], ["m.onnx", "--rounds", "0"], ["m.onnx", "--round", "3"],
                      ["m.onnx", "--peer", "excel"], ["m.onnx", "--python", "mnn"],
                      ["m.onnx", "--python", "excel=python"], ["m.onnx", "--isa", "sse2"], ["m.onnx", "--busy", "-1"]):
            done = Folder().run(*wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("error:", done.stderr)

    def test_all_threads_are_as_many_as_cores_once(self):
        cores = max(len(compare.CORES), 1)
        self.assertEqual(compare.parse(["m.onnx", "--threads", f"{cores},all"]).threads, [cores])

    def test_a_peer_may_have_a_python_of_its_own(self):
        options = compare.parse(["m.onnx", "--peer", "mnn", "--python", "mnn=/no/such/python", "--no-install"])
        self.assertEqual(options.python, {"mnn": "/no/such/python"})
        pythons, skipped = compare.find_peers(options, print)
        self.assertEqual((pythons, skipped), ({}, {"mnn": "/no/such/python does not load MNN"}))

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


class Neighbours(unittest.TestCase):
    def test_run_as_long_as_the_measurement(self):
        with compare.neighbours(2) as busy:
            self.assertEqual([process.poll() for process in busy], [None, None])
        self.assertEqual([process.poll() for process in busy], [-9, -9])


class WithoutPeers(unittest.TestCase):
    def test_it_is_said_and_nothing_is_wrong(self):
        folder = Folder()
        done = folder.run(str(folder.path / "nets" / "a"), "--no-install")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("ONNX Runtime", "OpenVINO", "MNN", "ncnn", "PyTorch", "inductor"):
            self.assertIn(f"skipped: {name} is not installed", done.stdout)

    def test_json_says_why(self):
        folder = Folder()
        done = folder.run(str(folder.path / "nets" / "a"), "--no-install", "--peer", "openvino", "--json")
        report = json.loads(done.stdout)
        self.assertEqual(report["results"], [])
        self.assertEqual(list(report["skipped"]), ["openvino"])
        self.assertIn("not installed", report["skipped"]["openvino"])


class Talker:
    """Replies to `run N` with N times."""

    def __init__(self, name, ns, log):
        self.name, self.ns, self.log = name, ns, log

    def ask(self, line):
        self.log.append(self.name)
        return {"ns": [self.ns] * int(line.split()[1])}


class Readings:
    """Replies with one rate after another of two threads over one's; the limit is 1.8."""

    def __init__(self, speedups, rate=100.0):
        self.replies = [{"one_gflop_per_s": rate, "all_gflop_per_s": rate * s, "speedup": s, "limit": 1.8,
                         "round_trip_ns": 100 * s} for s in reversed(speedups)]

    def ask(self, _):
        return self.replies.pop()


class Measuring(unittest.TestCase):
    def test_turns_alternate_and_turn_round(self):
        log = []
        children = [Talker("ort", 5e6, log), Talker("byoc", 10e6, log)]  # a turn of 20 ms is four runs, and two
        options = compare.parse(["m.onnx", "--rounds", "3", "--turn-ms", "20"])
        samples = compare.measure(children, options)
        self.assertEqual(log, ["ort", "byoc"] + ["ort", "byoc", "byoc", "ort", "ort", "byoc"])
        self.assertEqual([[len(turn) for turn in child] for child in samples], [[4, 4, 4], [2, 2, 2]])

    def test_rounds_without_a_core_each_are_repeated_in_the_same_order(self):
        log = []
        children = [Talker("ort", 10e6, log), Talker("byoc", 10e6, log)]
        options = compare.parse(["m.onnx", "--rounds", "2", "--turn-ms", "10"])
        control = Control(Readings([1.9, 1.9, 1.2, 1.3, 1.9, 1.9]))  # round 2 ends badly, 3 is bad, 4 begins badly
        samples = compare.measure(children, options, control)
        self.assertEqual(log[2:], ["ort", "byoc"] + 4 * ["byoc", "ort"])
        self.assertEqual([len(turns) for turns in samples], [2, 2])
        record = control.record()
        self.assertEqual((record["rounds"], record["short_rounds"], record["left_out"]), (5, 3, 3))
        self.assertEqual((record["limit"], record["speedup"]["min"]), (1.8, 1.2))
        self.assertEqual((record["round_trip_ns"]["median"], record["round_trip_ns"]["max"]), (190, 190))
        self.assertEqual(record["left_out_ns"][0], [[10e6], [10e6]])

    def test_no_more_than_three_times_as_many_rounds_are_run(self):
        control = Control(Readings([1.9, 1.9] + [1.0] * 9))
        options = compare.parse(["m.onnx", "--rounds", "3"])
        samples = compare.measure([Talker("ort", 75e6, [])], options, control)
        self.assertEqual(len(samples[0]), 1)
        self.assertEqual((control.record()["rounds"], control.record()["left_out"]), (9, 8))

    def test_where_no_round_had_the_cores_all_count(self):
        control = Control(Readings([1.0] * 4))
        samples = compare.measure([Talker("ort", 75e6, [])], compare.parse(["m.onnx", "--rounds", "1"]), control)
        self.assertEqual(len(samples[0]), 3)
        self.assertEqual((control.record()["short_rounds"], control.record()["left_out"]), (3, 0))

    def test_all_rounds_can_be_kept(self):
        control = Control(Readings([1.9, 1.0, 1.9]), keeps_all=True)
        samples = compare.measure([Talker("ort", 75e6, [])], compare.parse(["m.onnx", "--rounds", "2"]), control)
        self.assertEqual(len(samples[0]), 2)
        self.assertEqual((control.record()["short_rounds"], control.record()["left_out"]), (2, 0))

    def test_a_processor_without_multiply_adds_has_no_limit(self):
        control = Control(Readings([0.0, 0.0], rate=0))
        compare.measure([Talker("ort", 75e6, [])], compare.parse(["m.onnx", "--rounds", "1"]), control)
        self.assertEqual(control.record()["short_rounds"], 0)

    def test_there_is_a_control_for_several_threads_that_have_the_cores_alone(self):
        for arguments, threads in ((["m.onnx"], 1), (["m.onnx", "--busy", "1"], 2)):
            self.assertIsNone(start_control(compare.parse(arguments), threads))

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


def options():
    return compare.parse(["/somewhere/nets/a", "--threads", "1,2", "--compiler", "llvm", "--compiler", "auto"])


def measured(ms, model="net", threads=1, wrong=False):
    """A measurement of two peers, of 4 and 5 ms, and two compilers of which the second takes 3 ms."""
    theirs = {"onnxruntime": [[5e6], [5e6]], "openvino": [[4e6], [4e6]]}
    children = {peer: Answer({"error": 0.0}) for peer in theirs}
    children["onnxruntime"] = Answer({"error": 2e-2 if wrong else 1e-6})
    ours = {"llvm": Answer({}), "auto": Answer({})}
    samples = [*theirs.values(), [[ms * 1e6], [ms * 1e6]], [[3e6], [3e6]]]
    rows = compare.rows_of(options(), children, ours, samples)
    return {"model": model, "threads": threads, "skipped": {"pytorch": "PyTorch ended: no such op"}, **rows}


class Answer:
    hello = {"version": "1.2"}

    def close(self):
        pass

    def __init__(self, answer):
        self.answer = answer

    def ask(self, line):
        return self.answer


def report(*results):
    return {"date": "2026-01-02", "machine": "a machine", "command": "compare.py nets", "compilers": ["llvm", "auto"],
            "skipped": {}, "results": list(results)}


class Ratios(unittest.TestCase):
    def test_are_those_to_the_peer_with_the_shortest_time(self):
        result = measured(2)
        self.assertEqual(result["better_peer"], "openvino")
        self.assertEqual(result["byoc"][0]["to_better_peer"]["median"], 0.5)
        self.assertEqual(result["byoc"][0]["to_peer"]["onnxruntime"]["median"], 0.4)
        self.assertEqual(result["byoc"][0]["fastest_to_better_peer"], 0.5)

    def test_means_are_geometric(self):
        means = reporting.mean_ratios([measured(2), measured(8)], ["llvm", "auto"])
        self.assertAlmostEqual(means[0], 1.0)  # of 0.5 and 2
        self.assertAlmostEqual(means[1], 0.75)


class WrongPeers(unittest.TestCase):
    def test_are_left_out_before_they_are_timed(self):
        right = Answer({"error": 2e-3})
        peers = {"onnxruntime": right, "mnn": Answer({})}
        skipped = {}
        compare.drop_wrong(options(), peers, skipped)
        self.assertEqual(list(peers), ["onnxruntime"])
        self.assertIn("max error 2.0e-03", skipped["mnn"])
        peers = {"onnxruntime": Answer({"error": 1e-6}), "mnn": Answer({})}
        compare.drop_wrong(options(), peers, skipped)
        self.assertEqual(list(peers), ["onnxruntime", "mnn"])


class Floors(unittest.TestCase):
    def test_a_row_has_the_tiles_that_take_the_fewest_multiplications(self):
        self.assertEqual(floor.along(12, 3, 1), 16)   # two tiles of 6 results and 8 multiplications
        self.assertEqual(floor.along(7, 3, 1), 12)    # two tiles of 4: 6 each, less than 8 + 8
        self.assertEqual(floor.along(12, 1, 1), 12)
        self.assertEqual(floor.along(12, 3, 2), 26)   # taps 0 and 2: two tiles of 7; tap 1: 12
        self.assertEqual(floor.along(5, 3, 3), 15)

    def test_of_a_convolution_is_less_than_its_definition_where_schemes_have_less(self):
        self.assertEqual(floor.convolution([1, 8, 12, 12], [8, 4, 3, 3], [1, 1], 1), 8 * 4 * 16 * 16)
        self.assertEqual(floor.convolution([1, 8, 12, 12], [8, 1, 3, 3], [1, 1], 8), 8 * 144 * 9)
        self.assertEqual(floor.convolution([1, 64, 8, 8], [64, 64, 1, 1], [1, 1], 1), 64 ** 3 * 7 / 8)

    def test_of_a_product_counts_rows_of_all_matrices_by_one_constant(self):
        self.assertEqual(floor.matmul([4, 16, 64], [64, 64]), 64 ** 3 * 7 / 8)
        self.assertEqual(floor.matmul([4, 16, 64], [4, 64, 64]), 4 * 16 * 64 * 64)

    def test_is_the_longer_of_sums_and_weights(self):
        speed = {"f32_gop_per_s": {"one": 100, "all": 150}, "levels": [{}, {"read_gb_per_s": {"one": 10, "all": 40}}]}
        counted = {"multiplications": 5e8, "weight_bytes": 2e8, "unknown": 0}
        one, two = (floor.floor_of(counted, speed, threads) for threads in (1, 2))
        self.assertEqual((one["compute_ns"], one["memory_ns"], one["ns"]), (1e7, 2e7, 2e7))
        self.assertEqual((two["memory_ns"], two["ns"]), (1e7, 1e7))

    def test_is_shown_with_the_shares_that_are_reached(self):
        result = {**measured(2), "floor": {"ns": 1e6, "compute_ns": 1e6, "memory_ns": 5e5, "multiplications": 7e6,
                                           "weight_bytes": 3e6}}
        text = "\n".join(compare.lines_of(result))
        self.assertRegex(text, r"the floor +1.000 ms   7 million multiplications 1.000 ms, 3.0 MB of weights 0.500 ms")
        self.assertRegex(text, r"llvm +2.000 ms .* 2.00 of the floor")
        page = compare.table(report(result, measured(8, "other")))
        self.assertIn("| network | threads | floor | ONNX Runtime |", page)
        self.assertIn("| net | 1 | 1.00 | 5.00 | 4.00 | 2.00 (0.50) |", page)
        self.assertIn("| other | 1 | - | 5.00 |", page)


class Lines(unittest.TestCase):
    def test_have_times_ratios_and_who_was_left_out(self):
        text = "\n".join(compare.lines_of(measured(2)))
        self.assertRegex(text, r"net +1 thr  OpenVINO +4.000 ms")
        self.assertRegex(text, r"net +1 thr  llvm +2.000 ms   ratio 0.500 .* fastest 0.500 ")
        self.assertRegex(text, r"PyTorch +left out: PyTorch ended: no such op")

    def test_show_the_times_with_more_threads(self):
        lines = list(compare.scaling_lines([measured(1, threads=2), measured(2)]))
        self.assertRegex(lines[2], r"net +llvm +of 1 thread's time: 2 threads 0.500")
        self.assertEqual(list(compare.scaling_lines([measured(2)])), [])

    def test_say_so_where_outputs_differ(self):
        self.assertIn("WRONG: max error 2.0e-02", "\n".join(compare.lines_of(measured(2, wrong=True))))


class Table(unittest.TestCase):
    def test_has_a_row_per_network_and_number_of_threads(self):
        text = compare.table(report(measured(2), measured(8, threads=2), measured(8, "other")))
        self.assertIn("| network | threads | ONNX Runtime | OpenVINO | byoc `llvm` | byoc `auto` | error |", text)
        self.assertIn("| net | 1 | 5.00 | 4.00 | 2.00 (0.50) | 3.00 (0.75) | 1e-06 |", text)
        self.assertIn("| net | 2 | 5.00 | 4.00 | 8.00 (2.00) | 3.00 (0.75) | 1e-06 |", text)
        self.assertIn("| geometric mean | 1 |  |  | (1.00) | (0.75) |  |", text)
        self.assertIn("2026-01-02, a machine", text)
        self.assertIn("PyTorch ended: no such op", text)

    def test_counts_rounds_that_were_left_out_and_marks_rows_that_have_no_others(self):
        some, none = measured(2, threads=2), measured(8, "other", threads=2)
        some["control"] = {"rounds": 10, "short_rounds": 2, "left_out": 2, "limit": 1.8,
                           "round_trip_ns": {"median": 50, "min": 40, "max": 60}}
        none["control"] = {"rounds": 24, "short_rounds": 24, "left_out": 0, "limit": 1.8,
                           "round_trip_ns": {"median": 410, "min": 55, "max": 420}}
        text = compare.table(report(some, none, measured(2)))
        self.assertIn("In 26 of 34 rounds, 2 threads had less than 1.8 times one's multiply-adds; 2 were left out.", text)
        self.assertIn("With 2 threads, a value took 230 ns from one processor to another and back, 40 to 420.", text)
        self.assertIn("Rows with * have such rounds alone.", text)
        self.assertIn("| net | 2 | 5.00", text)
        self.assertIn("| other | 2 * | 5.00", text)
        self.assertNotIn("left out.", compare.table(report(measured(2))))

    def test_marks_wrong_outputs(self):
        self.assertIn("| 2.00 (0.50) wrong |", compare.table(report(measured(2, wrong=True))))

    def test_takes_the_place_of_the_last_one(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(f"before\n{reporting.BEGIN}\nold\n{reporting.END}\nafter\n")
            compare.write_table(page, "new\n")
            self.assertEqual(page.read_text(), f"before\n{reporting.BEGIN}\nnew\n{reporting.END}\nafter\n")
            compare.write_table(Path(folder) / "fresh.md", "new\n", Path(folder) / "images" / "p.svg")
            self.assertIn("(images/p.svg)\n\nnew\n", (Path(folder) / "fresh.md").read_text())

    def test_the_command_has_no_folders_of_this_machine(self):
        self.assertEqual(reporting.command_of(options()), "bench/peers/compare.py a --compiler llvm --compiler auto "
                         "--peer onnxruntime --peer openvino --peer mnn --peer ncnn --peer pytorch --peer inductor "
                         "--threads 1,2 --rounds 8 --turn-ms 150")


    def test_names_the_instructions_that_all_were_limited_to(self):
        self.assertIn(" --isa avx2 ", reporting.command_of(compare.parse(["net.onnx", "--isa", "avx2"])))
        self.assertTrue(reporting.machine("avx2").endswith(", limited to avx2"))
        self.assertNotIn("limited", reporting.machine("native"))


class Picture(unittest.TestCase):
    def test_is_xml_with_a_dot_per_figure(self):
        tree = ElementTree.fromstring(compare.picture(report(measured(2), measured(80, threads=2))))
        dots = tree.findall(".//{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(dots), 2 + 4)  # the legend, and two compilers for one and for two threads
        titles = [dot[0].text for dot in dots[2:]]
        self.assertEqual(titles, ["llvm 0.50", "auto 0.75", "llvm 20.00", "auto 0.75"])
        across = [float(dot.get("cx")) for dot in dots[2:]]
        self.assertLess(across[0], across[1])
        self.assertIn("20.0", [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")])


if __name__ == "__main__":
    unittest.main()
