#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""io_failures.py BUILD FOLDER SHIM [--most N] [--only COMMAND]: lets each call on files of commands fail once.

compile, run, tune and place are run with SHIM, which lets the n-th call on a file of the test's folder fail or be cut, for
every n; with --most for N of them, spread over all. Each must end by itself with 0, or with 1 and an error; what it wrote is
complete or not there; and the command works afterwards with the same cache. Prints the counts.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

from commands import COMMANDS, Place, digest, is_crash

KINDS = ("eio", "enospc", "short", "full", "vanish")
LINKER = "byoc-link-"                                      # the folders of its files


def calls_of(place, words, shim, under):
    """The most calls on files below `under` of one process of the command, and its workers."""
    count = place.folder / "count"
    count.unlink(missing_ok=True)
    ran = place.run(words, LD_PRELOAD=shim, FAIL_UNDER=under, FAIL_COUNT=str(count))
    assert ran.returncode == 0, ran.stderr
    most = max(map(int, count.read_text().split()), default=0) if count.exists() else 0
    count.unlink(missing_ok=True)
    return most


def fault_of(place, name, words, output, ran):
    first = (ran.stderr.strip().splitlines() or ["no text"])[0]
    if is_crash(ran.returncode):
        return f"ended with {ran.returncode}: {ran.stderr[-300:]}"
    if ran.returncode not in (0, 1):
        return f"exit code {ran.returncode}: {first}"
    if ran.returncode == 1 and "error[" not in ran.stderr:
        return f"no error is printed: {first}"
    wrong = place.check_file(output)
    if wrong:
        return f"{wrong} ({first})"
    if ran.returncode == 0 and not (place.folder / output).exists():
        return f"ended with 0 and wrote nothing: {first}"
    left = [path for path in place.left() if ".tmp" in path or LINKER in path]
    return f"leaves {left}" if left else None


def try_kind(place, name, kind, total, options, under):
    words, output = COMMANDS[name]
    step = max(1, total // options.most) if options.most else 1
    faults, refused, tried, errors = [], 0, 0, set()
    for at in range(1, total + 1, step):
        place.clean(keeps_cache=kind != "vanish" and under != LINKER)
        if kind == "vanish":
            (place.folder / "cache").mkdir()
        more = dict(LD_PRELOAD=options.shim, FAIL_UNDER=under, FAIL_AT=str(at), FAIL_HOW=kind,
                    FAIL_GONE=str(place.folder / "cache"))
        try:
            ran = place.run(words, **more)
        except subprocess.TimeoutExpired:
            faults.append(f"{name}, {kind} at {at}: does not end")
            continue
        tried, refused = tried + 1, refused + (ran.returncode != 0)
        errors.update(re.findall(r"error\[([a-z0-9-]+)\]", ran.stderr))
        fault = fault_of(place, name, words, output, ran)
        if fault:
            faults.append(f"{name}, {kind} at {at}: {fault}")
        for path in place.folder.glob("out/*.tmp-*"):
            path.unlink()
        for path in place.folder.glob(LINKER + "*"):
            shutil.rmtree(path)
    place.clean()
    ran = place.run(words)
    if ran.returncode != 0:
        faults.append(f"{name} after {kind}: does not work any more: {ran.stderr[:300]}")
    print(f"{name:8} {kind:7} {tried} of {total} calls tried, {refused} ended with an error {' '.join(sorted(errors))}", flush=True)
    return faults


def try_folders(place, name):
    """Homes that cannot be written, and a clock that jumps."""
    words, output = COMMANDS[name]
    faults = []
    for what, more in (("a home that is a device", dict(XDG_CACHE_HOME="/dev/null")),
                       ("a home in /proc", dict(XDG_CACHE_HOME="/proc/none")),
                       ("no home", dict(XDG_CACHE_HOME="", HOME="")),
                       ("a home that is not there", dict(XDG_CACHE_HOME=str(place.folder / "not/there"))),
                       ("a clock that jumps", dict(LD_PRELOAD=place.shim, FAIL_HOW="clock"))):
        place.clean()
        ran = place.run(words, **more)
        fault = fault_of(place, name, words, output, ran)
        if ran.returncode != 0:
            fault = f"ended with {ran.returncode}: {ran.stderr[:300]}"
        if name == "place" and re.match(r"error\[(file|usage)\]", ran.stderr):
            fault = None                                   # it keeps its plan in the home
        if fault:
            faults.append(f"{name} with {what}: {fault}")
    print(f"{name:8} homes and clock: 5 tried", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("shim")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--kind")
    options = parser.parse_args()
    options.shim = os.path.abspath(options.shim)
    place = Place(options.build, options.folder)
    place.shim = options.shim
    begin, faults = time.monotonic(), []
    good = digest(place.folder / "good.byoc")
    for name, (words, output) in COMMANDS.items():
        if options.only and name != options.only:
            continue
        place.clean()
        total = calls_of(place, words, options.shim, str(place.folder))
        for kind in KINDS:
            if options.kind in (None, kind):
                faults += try_kind(place, name, kind, total, options, str(place.folder))
        if options.kind is None:
            faults += try_folders(place, name)
    if options.only in (None, "compile"):                  # LLVM's linker alone, with more of its calls
        place.clean(keeps_cache=False)
        words, _ = COMMANDS["compile"]
        total = calls_of(place, words, options.shim, LINKER)
        options.most *= 2
        for kind in ("eio", "full"):
            faults += try_kind(place, "compile", kind, total, options, LINKER)
    if digest(place.folder / "good.byoc") != good:
        faults.append("an input has been changed")
    print("\n".join(faults) or f"nothing is lost ({time.monotonic() - begin:.0f} s)")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
