#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares counts of compiled blocks with counts.txt. None depends on a clock or on the processor: the llvm plugin
compiles for the targets that are named.

  counts.py BYOC            prints what differs; fails when something does
  counts.py BYOC --update   prints the same, and writes counts.txt

A block has one line, one per target, and one per number of threads:

  NAME steps S kernels K copies C arena BYTES constants BYTES flops F
  NAME TARGET f/m/s f/m/s ...
  NAME threads N loops L serial S busiest B bytes M

copies: steps without arithmetic, such as changes of layout and max pools. f/m/s: the multiply-adds, accesses of memory
and accesses of the stack (spills) in the inner loop of each kernel that has the most multiply-adds. loops: parallel
ones that are run, each ends in a barrier. serial, busiest: per mille of all instructions that one thread does alone,
and that the thread with the most work does in parallel loops; equal shares have 1000 / N. bytes: the tensors that this
thread accesses in them."""
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from assembly import kernels_of  # noqa: E402
from blocks import BLOCKS  # noqa: E402

TARGETS = ["x86-64-v3", "x86-64-v4", "aarch64"]
THREADS = [4, 8, 16, 64]
# Blocks whose channels get others of zeros, and the multiply-adds by those of their shapes: 58 are computed as 64.
FILLED = {"shufflenet_v2": (64 / 58) ** 2}
COUNTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.txt")


def run(*command):
    environment = dict(os.environ, BYOC_TUNING_PATH="")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"counts.py: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def manifest_of(path):
    """Returns the manifest of an artifact of one size (docs/artifact-format.md)."""
    with open(path, "rb") as file:
        header = file.read(64)
        (size,) = struct.unpack_from("<Q", header, 24)
        return json.loads(file.read(size))


def program_line(name, manifest, multiply_adds):
    functions = [function for module in manifest["modules"] for function in module["functions"]]
    program = manifest["program"]
    calls = [manifest["modules"][step["module"]]["functions"][step["function"]] for step in program["steps"]]
    blobs = {module["blob"] for module in manifest["modules"]}
    constants = sum(section["size"] for section in manifest["sections"] if section["key"] not in blobs)
    flops = int(sum(call["flops"] for call in calls))
    if not 2 * multiply_adds <= flops <= 2.2 * multiply_adds * FILLED.get(name, 1):
        sys.exit(f"counts.py: {name} has {flops} operations, and {multiply_adds} multiply-adds by its shapes")
    return (f"{name} steps {len(calls)} kernels {len(functions)} copies {sum(call['flops'] == 0 for call in calls)} "
            f"arena {program['arena_bytes']} constants {constants} flops {flops}")


def shares_line(name, threads, text):
    words = text.split()
    counts = dict(zip(words[::2], map(int, words[1::2])))
    mille = [round(1000 * counts[part] / counts["units"]) for part in ("serial", "busiest")]
    return (f"{name} threads {threads} loops {counts['barriers']} serial {mille[0]} busiest {mille[1]} "
            f"bytes {counts['bytes']}")


def lines_of(byoc, block):
    name = block.__name__
    graph, result = block()
    with tempfile.TemporaryDirectory() as folder:
        model, artifact = os.path.join(folder, name + ".ir"), os.path.join(folder, "block.byoc")
        with open(model, "w", encoding="utf-8") as file:
            file.write(graph.text(result))
        flags = ["--compiler", "llvm", "--strict", "--plugin-option", "llvm.cache=0"]
        run(byoc, "compile", model, *flags, "--target", TARGETS[0], "-o", artifact)
        lines = [program_line(name, manifest_of(artifact), graph.multiply_adds)]
        for target in TARGETS:
            kernels = kernels_of(run(byoc, "print", model, *flags, "--target", target, "--asm"))
            lines.append(" ".join([name, target] + [loop.text() for loop in kernels.values()]))
        for threads in THREADS:
            work = run(byoc, "print", model, *flags, "--target", TARGETS[0], "--threads", str(threads), "--work")
            lines.append(shares_line(name, threads, work.split("# all functions\n")[1]))
    return lines


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--update"]):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        now = [line for lines in pool.map(lambda block: lines_of(sys.argv[1], block), BLOCKS) for line in lines]
    pinned = []
    if os.path.exists(COUNTS):
        with open(COUNTS, encoding="utf-8") as file:
            pinned = file.read().splitlines()
    gone, new = [line for line in pinned if line not in now], [line for line in now if line not in pinned]
    for line in sorted([("-", line) for line in gone] + [("+", line) for line in new],
                       key=lambda item: (item[1].split()[:2], item[0] == "+")):
        print(*line)
    if sys.argv[2:]:
        with open(COUNTS, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in now))
    elif gone or new or not pinned:
        sys.exit("counts.py: the counts above differ from counts.txt (-). If they are no worse, write the new ones (+) "
                 f"with: python3 {os.path.relpath(__file__)} {os.path.relpath(sys.argv[1])} --update")


main()
