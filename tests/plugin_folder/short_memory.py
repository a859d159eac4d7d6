#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""short_memory.py BUILD FOLDER [--step MIB] [--most MIB] [--whole]: commands under limits of memory.

`byoc plugins`, `byoc doctor` and `byoc compile` by each plugin that was built run with limits of the address space from
200 MiB, in steps, until three in a row succeed, or with --whole up to the most. Each must end within 10 s with the answer or
with an error: an exit code and a text, never a signal. Prints what each limit gave.
"""
import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

MODEL = "fn main(%x: f32[1,8,16,16], %w: f32[8,8,3,3]) {\n  %0 = conv2d(%x, %w)\n" \
        "  %1 = relu(%0)\n  %2 = tanh(%1)\n  return %2\n}\n"
LEAST, SECONDS, IN_A_ROW = 200, 10, 3


def limited(mib):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def has_findings(out):
    return "no usable plugin" in out or "problem: " in out  # of byoc plugins, and of byoc doctor


def attempt(command, mib, env, work):
    """Returns what came of the command, and what is wrong with that ("": nothing)."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=limited(mib))
    try:
        out, err = process.communicate(timeout=3 * SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "endless", f"did not end within {3 * SECONDS} s"
    seconds, code = time.monotonic() - begin, process.returncode
    first = (err.strip().splitlines() or ["no text"])[0]
    if code < 0 or code > 128:
        return f"signal, code {code}", f"ended by a signal (code {code}): {first}"
    if code == 3:
        return "bug", f"ended as a bug of byoc: {first}"
    if code != 0 and "error" not in err and not has_findings(out) and not err.startswith("libgomp: "):
        return "no text", f"ends with {code} and without an error: {first}"
    if seconds > SECONDS:
        return "slow", f"took {seconds:.1f} s: {first}"
    return ("works" if code == 0 else first), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--step", type=int, default=20)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    options.build, options.work = options.build.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    model = options.work / "m.ir"
    model.write_text(MODEL)
    byoc = options.build / "bin/byoc"
    env = dict(os.environ, XDG_CACHE_HOME=str(options.work / "cache"), BYOC_TUNING_PATH="")
    compiling = [byoc, "compile", model, "-o", options.work / "m.byoc", "--compiler"]
    cases = {"plugins": [byoc, "plugins"], "doctor": [byoc, "doctor"], "json": [*compiling, "json"],
             "llvm": [*compiling, "llvm", "--plugin-option", "llvm.cache=0"], "onednn": [*compiling, "onednn", "--default", "json"],
             "openblas": [*compiling, "openblas,json"], "xnnpack": [*compiling, "xnnpack,json"]}
    faults = []
    plugins = options.build / "lib/byoc/plugins"
    for name, command in cases.items():
        if name not in ("plugins", "doctor") and not (plugins / f"libbyoc_{name}.so").exists():
            print(f"{name:8}left out, it was not built")
            continue
        row, before = 0, None
        for mib in range(LEAST, options.most, options.step):
            what, wrong = attempt(command, mib, env, options.work)
            if wrong:
                faults.append(f"{name} with {mib} MiB: {wrong}")
            if what != before:
                print(f"{name:8}{mib:5} MiB  {what}", flush=True)
            before = what
            row = row + 1 if what == "works" else 0
            if row == IN_A_ROW and not options.whole:
                break
        if row < IN_A_ROW:
            faults.append(f"{name} does not work with {options.most} MiB")
    print("\n".join(faults) or "no command ended by a signal")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
