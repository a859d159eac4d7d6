#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times byoc and other runtimes on the same models and inputs, in turns, and compares their outputs.

The peers are ONNX Runtime, OpenVINO, MNN, ncnn, and PyTorch as onnx2torch converts the model, op by op and by
its compiler (inductor). All compute in f32. A peer whose outputs differ from those of the first is left out
before anything is timed. All run in processes that stay alive. In every round each of them runs for a turn,
and the order alternates from round to round, so that a slow minute of the machine affects all. The ratio of a
round is that of the two medians in it, byoc's and that of the better peer, which is the one with the shortest time; the report
shows the median of these ratios and their spread, and the ratio of the shortest runs. All run on the same
cores, as many as there are threads: one core of a shared machine may be slower than the next for minutes.
With several threads, rounds in which the machine does not give each of these a core are repeated.
The floor of a network is the time that the best known sums take at the machine's peaks (floor.py).
"""

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "isa")]
import isa  # noqa: E402
from control import start_control  # noqa: E402
from floor import counted_by, floor_of, speed_of  # noqa: E402
from install import PEERS, find_peers  # noqa: E402
from layers import layers_of  # noqa: E402
from picture import picture  # noqa: E402
from report import command_of, lines_of, machine, ratio_text, scaling_lines, table, write_table  # noqa: E402, F401
from turns import (CORES, Child, Failed, check, fastest_ratio, keep_to_cores, measure,  # noqa: E402, F401
                   neighbours, ratios, spread, times)

BUILD = HERE.parent.parent / "build"
COMPILERS = ["llvm", "onednn,llvm", "auto"]
EXAMPLES = """examples:
  compare.py networks/resnet50 networks/vgg16 --compiler onednn
  compare.py networks/mobilenet_v2/model.onnx --peer onnxruntime --threads 1,2
  compare.py --models networks --threads 1,2 --markdown README.md --json=peers.json --picture docs/images/peers.svg
  compare.py networks/resnet50 --compiler onednn --layers 15     # the slowest layers of both
  compare.py networks/resnet50 --threads 1,2 --busy 1            # beside a process that keeps a core busy
  compare.py networks/vgg16 --threads 1,2,all --python mnn=mnn/venv/bin/python   # MNN as it was built there
  compare.py networks/resnet50 --isa avx2                        # all as on a processor with AVX2 and no AVX-512

Peers are installed from the Python package index, once, into a separate folder (--venv); PyTorch takes 6 GB.
A peer that cannot be installed, or cannot run a model, is left out and the reason is printed. Without any peer
the exit code is 0: there is nothing to compare with."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", help="an .onnx file, or a folder with model.onnx in it")
    parser.add_argument("--models", metavar="DIR", action="append", default=[], help="all of DIR/*/model.onnx")
    parser.add_argument("--compiler", metavar="A,B", action="append", default=[],
                        help="as byoc's; several times: all are measured in the same rounds "
                             f"(default: {'; '.join(COMPILERS)}). auto uses the plan of byoc place where there is one")
    parser.add_argument("--peer", metavar="NAME", action="append", default=[], choices=list(PEERS),
                        help="several times; outputs are compared with those of the first (default: "
                             f"{', '.join(PEERS)})")
    parser.add_argument("--python", metavar="NAME=FILE", action="append", default=[],
                        help="the Python that has a peer, such as a build of MNN for this processor; several times")
    parser.add_argument("--threads", metavar="N,M", default="1",
                        help="thread counts, one after another; all: as many as cores (default 1)")
    parser.add_argument("--rounds", metavar="N", type=int, default=8, help="turns of each (default 8)")
    parser.add_argument("--turn-ms", metavar="T", type=float, default=150, help="length of a turn (default 150)")
    parser.add_argument("--busy", metavar="N", type=int, default=0,
                        help="N other processes keep a core busy each; all share as many cores as the most threads")
    parser.add_argument("--all-rounds", action="store_true",
                        help="with several threads, keep rounds in which the machine does not give these a core each "
                             "(they are left out, and repeated up to three times as many rounds in all)")
    isa.add_option(parser)
    parser.add_argument("--tolerance", metavar="X", type=float, default=1e-4,
                        help="largest error as a part of the largest value (default 1e-4)")
    parser.add_argument("--layers", metavar="N", type=int, default=0,
                        help="also the N slowest layers of ONNX Runtime and of byoc, one thread count at a time")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="everything, samples too")
    parser.add_argument("--markdown", metavar="FILE", type=Path,
                        help="the table; in a file that has a table of this program, that one is replaced")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="the table as an SVG")
    parser.add_argument("--build", type=Path, default=BUILD, help="byoc's build folder (default: that of this tree)")
    parser.add_argument("--venv", type=Path, help="where peers are installed (default BUILD/peers_venv)")
    parser.add_argument("--no-install", action="store_true", help="do not install peers that are not there")
    options = parser.parse_args(arguments)
    options.compiler = options.compiler or COMPILERS
    options.peer = options.peer or list(PEERS)
    options.venv = options.venv or options.build / "peers_venv"
    pairs = [given.partition("=") for given in options.python]
    for name, _, python in pairs:
        if name not in PEERS or not python:
            parser.error(f"--python expects a peer and its Python, as in mnn=venv/bin/python, got \"{name}={python}\"")
    options.python = {name: python for name, _, python in pairs}
    try:
        counts = [max(len(CORES), 1) if n == "all" else int(n) for n in options.threads.split(",")]
        options.threads = list(dict.fromkeys(counts))
    except ValueError:
        parser.error(f"--threads expects numbers, as in 1,2, got \"{options.threads}\"")
    if min(options.threads) < 1 or options.rounds < 1 or options.busy < 0:
        parser.error("--threads and --rounds must be 1 or more, and --busy 0 or more")
    if not options.model and not options.models:
        parser.error("no models: give files, folders, or --models DIR")
    return options


def find_models(options):
    """Returns (name, file) of each model in the given order; those of a folder by name."""
    found = []
    for given in map(Path, options.model):
        file = given / "model.onnx" if given.is_dir() else given
        if not file.is_file():
            raise Failed(f"no model at {file}")
        found.append((file.parent.name if file.name == "model.onnx" else file.stem, file))
    for folder in map(Path, options.models):
        here = sorted(folder.glob("*/model.onnx"))
        if not here:
            raise Failed(f"no {folder}/*/model.onnx")
        found += [(file.parent.name, file) for file in here]
    return found


def start_peers(pythons, options, file, threads):
    """Starts the peers. Returns {id: process} of those that run the model, and {id: reason} of the others."""
    children, skipped = {}, {}
    for peer, python in pythons.items():
        setup = {"peer": peer, "model": str(file), "threads": threads}
        try:
            seen = isa.environment_of_peer(options.isa, python, peer, options.build)
            children[peer] = Child(PEERS[peer].name, [python, str(HERE / "peer_child.py"), json.dumps(setup)], seen)
        except (Failed, isa.CannotMask) as failure:
            skipped[peer] = str(failure).splitlines()[-1]
    return children, skipped


def drop_wrong(options, peers, skipped):
    """Moves peers whose outputs are not the first one's from `peers` to `skipped`."""
    (_, reference), *others = peers.items()
    for peer, child in others:
        found = check(reference, child, options.tolerance)
        if found["agrees"]:
            continue
        error = "" if found["error"] is None else f"max error {found['error']:.1e} of max"
        skipped[peer] = f"its outputs are wrong: {found['why'] or error}"
        del peers[peer]
        child.close()


def start_byoc(options, compiler, file, threads, inputs):
    command = [str(options.build / "bin" / "bench_serve"), str(file), "--compiler", compiler, "--threads", str(threads),
               "--target", isa.ISAS[options.isa].target]
    for given in inputs:
        command += ["--input", f"{given['name']}={given['file']}"]
        if given["dims"]:
            command += ["--shape", f"{given['name']}={'x'.join(map(str, given['dims']))}"]
    return Child(f"byoc --compiler {compiler}", command, isa.environment_of_onednn(options.isa))


def rows_of(options, peers, ours, samples):
    """Returns a row per peer and per compiler: times, ratios, and how near the outputs are to the first peer's."""
    theirs = {peer: samples[c] for c, peer in enumerate(peers)}
    better = min(theirs, key=lambda peer: times(theirs[peer])["median"])
    first = len(peers)
    rows = {"peers": [], "byoc": [], "better_peer": better}
    reference = next(iter(peers.values()))
    for peer, child in peers.items():
        rows["peers"].append({"peer": peer, "version": child.hello["version"], "samples_ns": theirs[peer],
                              "time_ns": times(theirs[peer]), **check(reference, child, options.tolerance)})
    for c, (compiler, child) in enumerate(ours.items(), first):
        rows["byoc"].append({"compiler": compiler, "samples_ns": samples[c], "time_ns": times(samples[c]),
                             "to_peer": {peer: spread(ratios(samples[c], theirs[peer])) for peer in peers},
                             "to_better_peer": spread(ratios(samples[c], theirs[better])),
                             "fastest_to_better_peer": fastest_ratio(samples[c], theirs[better]),
                             "to_first_compiler": spread(ratios(samples[c], samples[first])),
                             **check(reference, child, options.tolerance)})
    return rows


def compare(pythons, options, name, file, threads):
    """Returns the measurement of one model, without rows when no peer runs it."""
    keep_to_cores(max(options.threads) if options.busy else threads)
    ours, control = {}, None
    with tempfile.TemporaryDirectory() as folder:
        peers, skipped = start_peers(pythons, options, file, threads)
        result = {"model": name, "threads": threads, "peers": [], "byoc": [], "skipped": skipped}
        try:
            if peers:
                drop_wrong(options, peers, skipped)
                inputs = next(iter(peers.values())).ask(f"inputs {folder}")["inputs"]
                dims = {given["name"]: given["dims"] for given in inputs}
                counted = options.speed and counted_by([sys.executable, *pythons.values()], file, dims)
                if counted:
                    result["floor"] = floor_of(counted, options.speed, threads)
                for compiler in options.compiler:
                    ours[compiler] = start_byoc(options, compiler, file, threads, inputs)
                children = [*peers.values(), *ours.values()]
                control = start_control(options, threads)
                with neighbours(options.busy):
                    samples = measure(children, options, control)
                result.update(rows_of(options, peers, ours, samples))
                if control:
                    result["control"] = control.record()
        finally:
            for child in [*peers.values(), *ours.values(), *([control.child] if control else [])]:
                child.close()
        if options.layers and "onnxruntime" in peers:
            result["layers"] = layers_of(pythons["onnxruntime"], options, file, threads, folder)
    return result


def write(options, report):
    if options.json:
        text = json.dumps(report, indent=1)
        print(text) if options.json == "-" else Path(options.json).write_text(text + "\n")
    if options.markdown:
        write_table(options.markdown, table(report), options.picture)
    if options.picture:
        options.picture.write_text(picture(report))


def main(arguments):
    options = parse(arguments)

    def say(text, results=False):
        print(text, file=sys.stderr if options.json == "-" or not results else sys.stdout, flush=True)

    try:
        models = find_models(options)
        for program in ("bench_serve", "bench_cores"):
            if not (options.build / "bin" / program).exists():
                raise Failed(f"no {program} in {options.build}/bin: build byoc first, or give --build")
        pythons, skipped = find_peers(options, say)
        report = {"schema": "byoc.peers/2", "date": datetime.date.today().isoformat(), "machine": machine(options.isa), "isa": options.isa,
                  "command": command_of(options), "compilers": options.compiler,
                  "skipped": skipped, "rounds": options.rounds, "results": []}
        for why in skipped.values():
            say(f"skipped: {why}", results=True)
        options.speed = speed_of(options.build) if pythons else None
        if pythons:
            say("ratio = byoc / the better peer: median [quartiles] min to max, over rounds; fastest: of the shortest "
                "runs", results=True)
        for name, file in models if pythons else ():
            for threads in options.threads:
                report["results"].append(compare(pythons, options, name, file, threads))
                for line in lines_of(report["results"][-1]):
                    say(line, results=True)
            for line in scaling_lines(report["results"][-len(options.threads):]):
                say(line, results=True)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    write(options, report)
    return 0 if all(row["agrees"] for result in report["results"] for row in result["byoc"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
