#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks by torch.compile(backend="byoc") beside torch without compiling, and its own backend.

    networks_test.py SOURCE BUILD [--only NAME] [--times] [--rounds N] [--threads N]

Each network runs with batches of 2, 3 and 5 on one graph of open sizes: errors of at most 1e-4 of the largest value are
accepted. With --times, a batch of 1 and the graph that torch makes for it, timed in turns: the least of the rounds counts.
Run by hand with a torch of the Python index; README.md has how.
"""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


GIVEN = arguments()
os.environ["BYOC_PREFIX"] = str(GIVEN.build.resolve())
os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp())
sys.path[:0] = [str(GIVEN.source.resolve() / "python"), str(Path(__file__).parent)]

import torch  # noqa: E402
from networks import NETWORKS, settle  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402

import byoc.torch  # noqa: E402

torch._dynamo.config.allow_rnn = True                      # without it Dynamo leaves an LSTM to torch
LIMIT = 1e-4


def tensors(value):
    return torch.utils._pytree.tree_leaves(value)


def error_of(got, expected):
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(tensors(got), tensors(expected)))


def check(name, module, inputs):
    """Runs three sizes; returns the largest error."""
    torch._dynamo.reset()
    counters.clear()
    fast, errors, begin = torch.compile(module, backend="byoc"), [], time.monotonic()
    for n in (2, 3, 5):
        given = inputs(n)
        if n == 2:                                         # without it the first graph is for this size
            for tensor in given:
                torch._dynamo.mark_dynamic(tensor, 0)
        errors.append(error_of(fast(*given), module(*given)))
        if n == 2:
            took, graphs = time.monotonic() - begin, counters["stats"]["unique_graphs"]
    assert counters["stats"]["unique_graphs"] == graphs, (name, counters)   # further sizes compile nothing
    explained = byoc.torch.explain()
    by_byoc, by_torch = (sum(graph[f"nodes_of_{who}"] for graph in explained["graphs"]) for who in ("byoc", "torch"))
    print(f"{name}: error {max(errors):.1e} of the largest value, {counters['stats']['unique_graphs']} graph for batches of "
          f"2, 3, 5, nodes by byoc {by_byoc}, by torch {by_torch}, first call {took:.1f} s, breaks {len(explained['breaks'])}",
          flush=True)
    if by_torch:
        print(explained, flush=True)
    return max(errors)


def timed(name, module, inputs):
    """Prints the least times of a batch of 1, in turns."""
    given, ways = inputs(1), {"eager": module}
    torch._dynamo.reset()
    for backend in ("byoc", "inductor"):                   # whose graphs Dynamo keeps apart
        ways[backend] = torch.compile(module, backend=backend)
        begin = time.monotonic()
        try:
            error = error_of(ways[backend](*given), module(*given))
        except Exception as failure:
            print(f"{name}: {backend} cannot be timed: {str(failure).splitlines()[0][:200]}", flush=True)
            del ways[backend]
            continue
        print(f"{name}: {backend} compiles in {time.monotonic() - begin:.1f} s, error {error:.1e}", flush=True)
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(GIVEN.rounds):
        for way, function in ways.items():
            begin = time.perf_counter()
            function(*given)
            least[way] = min(least[way], time.perf_counter() - begin)
    print(f"{name}: " + ", ".join(f"{way} {least[way] * 1e3:.2f} ms" for way in ways), flush=True)


def main():
    if GIVEN.threads:
        torch.set_num_threads(GIVEN.threads)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    failed = []
    with torch.no_grad():
        for name in GIVEN.only or NETWORKS:
            torch.manual_seed(0)
            make, inputs = NETWORKS[name]
            module = settle(make())
            if GIVEN.times:
                timed(name, module, inputs)
            elif check(name, module, inputs) > LIMIT:
                failed.append(name)
    if failed:
        sys.exit(f"error above {LIMIT}: {', '.join(failed)}")


main()
