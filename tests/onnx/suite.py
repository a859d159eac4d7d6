#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's backend test cases: none may fail, and the counts of each folder are those of counts.txt.

suite.py BYOC FOLDER COMPILER [more arguments of `byoc test-onnx`, such as --plugin FILE]

FOLDER holds the folders of cases: /usr/share/libonnx-testdata/data. Cases run under --strict, so that "passed" means
that COMPILER computed the case, and "folded" that byoc did at compile time.
"""
import json
import os
import subprocess
import sys
from collections import Counter

VERDICTS = ("passed", "folded", "failed", "unsupported")
MOST_SHOWN = 20  # cases of a kind, one line each


def pinned(compiler):
    """Returns {folder: counts} of COMPILER's rows in counts.txt."""
    counts = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.txt")) as table:
        for line in table:
            words = line.split("#")[0].split()
            if words and words[0] == compiler:
                counts[words[1]] = tuple(int(word) for word in words[2:])
    return counts


def cases(byoc, compiler, folders, more):
    """Returns {(folder, case): verdict and reason} as the command reports them."""
    command = [byoc, "test-onnx", *folders, "--compiler", compiler, "--strict", "--json", *more]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    report = json.loads(ran.stdout)
    if "cases" not in report:
        sys.exit(f"{' '.join(command)}: {ran.stdout}")
    failed = report["failed"] > 0
    if ran.returncode != (1 if failed else 0):
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode} with {report['failed']} failed cases")
    found = {}
    for case in report["cases"]:
        folder, name = os.path.split(case["folder"])
        found[os.path.basename(folder), name] = case
    return found


def counts_of(found, folder):
    counted = Counter(case["verdict"] for (where, _), case in found.items() if where == folder)
    return tuple(counted[verdict] for verdict in VERDICTS)


def show(title, found, names):
    for case in names[:MOST_SHOWN]:
        reason = (found[case]["reason"].splitlines() or [""])[0]
        print(f"{title}: {'/'.join(case)} {found[case]['verdict']} {reason}")
    if len(names) > MOST_SHOWN:
        print(f"{title}: {len(names) - MOST_SHOWN} more")


def main():
    byoc, root, compiler, more = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    wanted = pinned(compiler)
    if not wanted:
        sys.exit(f"counts.txt has no rows for {compiler}")
    folders = [os.path.join(root, folder) for folder in wanted]
    missing = [folder for folder in folders if not os.path.isdir(folder)]
    if missing:
        sys.exit(f"no folder {missing[0]}: install the package libonnx-testdata")
    found = cases(byoc, compiler, folders, more)
    right = True
    for folder, counts in wanted.items():
        got = counts_of(found, folder)
        print(f"{compiler:12} {folder:18}", *(f"{n:4} {verdict}" for n, verdict in zip(got, VERDICTS)))
        if got != counts:
            print(f"  counts.txt has {counts}")
            right = False
    failed = [case for case, result in found.items() if result["verdict"] == "failed"]
    show("failed", found, failed)
    if right and not failed:
        return 0
    if compiler != "json":                                    # most likely those that changed
        reference = cases(byoc, "json", folders, [])
        show("json ends otherwise", found,
             [case for case in found if found[case]["verdict"] != reference[case]["verdict"] and case not in failed])
    return 1


if __name__ == "__main__":
    sys.exit(main())
