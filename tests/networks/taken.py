#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which ops of a model a plugin takes, and the kernels that it runs for them.

    python3 taken.py MODEL --byoc build/bin/byoc --plugin onednn --taken matmul softmax --regions 1
    python3 taken.py MODEL --byoc build/bin/byoc --plugin onednn --inside erf=gelu_erf_pieces --shape N=1

--taken OP...       every such op, of which there is at least one, is the plugin's
--inside OP=PART    every such op, of which there is at least one, is in a composite whose name ends in PART
--regions N         the plugin has so many regions, and no other plugin has any
--reorders N        its kernels reorder at most N times, by the text with which they describe themselves
"""

import argparse
import json
import re
import subprocess
import sys


def byoc(options, command, *more):
    shapes = [word for shape in options.shape for word in ("--shape", shape)]
    done = subprocess.run([options.byoc, command, options.model, "--compiler", f"{options.plugin},json", "--json",
                           *shapes, *more], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def wrong_ops(options, explained):
    def of(kind):
        found = [op for op in explained["ops"] if op["op"] == kind]
        return found or [None]

    for kind in options.taken:
        for op in of(kind):
            if op is None:
                yield f"there is no {kind}"
            elif op["plugin"] != options.plugin:
                yield f"{kind} {op['name']} is taken by {op['plugin']}: {op['opinions']}"
    for kind, part in (word.split("=") for word in options.inside):
        for op in of(kind):
            if op is None:
                yield f"there is no {kind}"
            elif not op["composite"].startswith(options.plugin) or not op["composite"].endswith(part):
                yield f"{kind} {op['name']} is in composite '{op['composite']}', not in {part}"


def wrong_regions(options, explained):
    regions = {row["plugin"]: row["regions"] for row in explained["plugins"] if row["regions"]}
    if options.regions is not None and regions != {options.plugin: options.regions}:
        yield f"regions are {regions}, not {options.regions} of {options.plugin} alone"


def reorders(implementation):
    found = re.search(r"\breorder(?: x(\d+))?", implementation)
    return int(found.group(1) or 1) if found else 0


def wrong_reorders(options):
    if options.reorders is None:
        return
    steps = [step for step in byoc(options, "run", "--profile")["profile"] if step["run_by"] == options.plugin]
    count = sum(reorders(step["implementation"]) for step in steps)
    print(f"{count} reorders in {len(steps)} kernels: {[step['implementation'] for step in steps]}")
    if not steps or count > options.reorders:
        yield f"{count} reorders, not {options.reorders}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--byoc", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--taken", nargs="*", default=[])
    parser.add_argument("--inside", nargs="*", default=[])
    parser.add_argument("--regions", type=int)
    parser.add_argument("--reorders", type=int)
    options = parser.parse_args()
    explained = byoc(options, "explain")
    wrong = [*wrong_ops(options, explained), *wrong_regions(options, explained), *wrong_reorders(options)]
    print("\n".join(wrong) if wrong else "as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
