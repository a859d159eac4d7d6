#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py BUILD FOLDER [--kills N] [--seed N]: kills compile, tune, place and run at random moments.

Each command is killed N times with SIGKILL, at moments from 0 to the time that it takes. The file that it writes must be
complete or absent, or the one that was there before; the command must work afterwards with the same cache, and no process of
its own may stay. Prints the counts.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

from commands import COMMANDS, Place, digest


def processes_in(folder):
    """The processes whose current folder is `folder`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(folder):
                found.append(pid)
        except OSError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=53)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    place = Place(options.build, options.folder)
    faults = []
    for name, (words, output) in COMMANDS.items():
        path = place.folder / output
        place.clean()
        begin = time.monotonic()
        ran = place.run(words)
        seconds = time.monotonic() - begin
        assert ran.returncode == 0, ran.stderr
        before = digest(path) if output.endswith(".byoc") else None
        killed = ended = 0
        for k in range(options.kills):
            if k % 2:  # half of them with the file of the run before
                place.clean(keeps_cache=k % 4 == 1)
            process = subprocess.Popen(place.words(words), cwd=place.folder, env=place.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
            code = process.wait()
            killed, ended = killed + (code == -signal.SIGKILL), ended + (code == 0)
            wrong = place.check_file(output)
            if wrong:
                faults.append(f"{name}, kill {k}: {wrong}")
            if before and path.exists() and digest(path) != before:
                faults.append(f"{name}, kill {k}: {output} has other bytes")
        deadline = time.monotonic() + 10
        while processes_in(place.folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        if processes_in(place.folder):
            faults.append(f"{name}: processes stay: {processes_in(place.folder)}")
        ran = place.run(words)
        if ran.returncode != 0:
            faults.append(f"{name} does not work after {killed} kills: {ran.stderr[:300]}")
        elif place.check_file(output):
            faults.append(f"{name} after the kills: {place.check_file(output)}")
        print(f"{name:8} {killed} killed, {ended} ended before, of {options.kills}; it takes {seconds:.2f} s", flush=True)
    print("\n".join(faults) or "files are complete or absent")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
