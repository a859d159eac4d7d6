#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how the threads of a run share the work of networks: counts of the compiled loops, no times.

  shares.py BYOC NETWORK.onnx... [--threads 4,8,16,64] [--target x86-64-v4] [--worst N] [-- FLAGS OF BYOC]

A line per network and number of threads: the parallel loops of a run, each of which ends in a barrier; the per mille of
all instructions that one thread does alone (serial), and that the busiest thread does in parallel loops, which is
1000 / N where shares are equal; their sum as a speedup, without and with the cost of the barriers; and the MB of
tensors that the busiest thread accesses. --worst: the functions that keep the other threads idle the longest."""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

# The instructions of a loop (plugins/llvm/analysis/shared_work.h): to start it, and for each thread.
PER_LOOP, PER_THREAD = 4 * 1000, 4 * 300


def counts_of(text):
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2])))


def functions_of(byoc, network, threads, target, flags):
    """Returns the counts of each function that llvm compiles."""
    command = [byoc, "print", network, "--compiler", "llvm", "--work", "--json", "--threads", str(threads)]
    command += ["--target", target] if target else []
    done = subprocess.run(command + flags, capture_output=True, text=True, env=dict(os.environ, BYOC_TUNING_PATH=""))
    if done.returncode:
        sys.exit(f"shares.py: {' '.join(command)}\n{done.stderr}")
    functions = json.loads(done.stdout)["work"]
    return {function["function"]: counts_of(function["text"]) for function in functions if function["text"]}


def idle(counts, threads):
    """Returns the instructions that the busiest thread does beyond an equal share of all."""
    return counts["serial"] + counts["busiest"] - counts["units"] / threads


def line_of(name, threads, functions):
    sums = {key: sum(counts[key] for counts in functions.values()) for key in next(iter(functions.values()))}
    units, own = sums["units"], sums["serial"] + sums["busiest"]
    with_loops = own + sums["barriers"] * (PER_LOOP + PER_THREAD * threads)
    return (f"{name:<18} {threads:>2} threads   loops {sums['barriers']:5}   serial "
            f"{1000 * sums['serial'] / units:4.0f}"
            f"   busiest {1000 * sums['busiest'] / units:4.0f}   speedup {units / own:5.1f}, with loops "
            f"{units / with_loops:5.1f}   {sums['bytes'] / 1e6:8.1f} MB")


def main(arguments):
    arguments, flags = split(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("byoc")
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--threads", default="4,8,16,64")
    parser.add_argument("--target", default="")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args(arguments)
    for network in options.networks:
        name = Path(network).parent.name if Path(network).stem == "model" else Path(network).stem
        for threads in map(int, options.threads.split(",")):
            functions = functions_of(options.byoc, network, threads, options.target, flags)
            print(line_of(name, threads, functions), flush=True)
            worst = sorted(functions.items(), key=lambda item: -idle(item[1], threads))[: options.worst]
            for function, counts in worst:
                share = 1000 * idle(counts, threads) / sum(c["units"] for c in functions.values())
                print(f"    {function:<20} idle {share:5.1f} per mille   {counts}")


def split(arguments):
    """Returns the arguments before and after "--"."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


if __name__ == "__main__":
    main(sys.argv[1:])
