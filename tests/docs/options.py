#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the commands in the prose and tables of pages: programs and commands exist, and --help has their options.

    options.py ROOT BUILD

Also: docs/testing.md and CONTRIBUTING.md have each option of ./check. Prints one line per fault and exits with 1 when
there is any.
"""
import functools
import os
import re
import sys

import not_run
import tree

PROGRAM = re.compile(r"(?:build/bin/|~/byoc/bin/)?(byoc-run|byoc_fuzz|bench_[a-z_]+|byoc|\./check|\./demo)(?= |$)")
TABLES = ("docs/testing.md", "CONTRIBUTING.md")
EVERYWHERE = ("--help", "-h")


@functools.lru_cache(maxsize=None)
def help_of(root, program):
    return not_run.output_of(*program, "--help", folder=root)


def program_of(code, build):
    """The words to run for the help of a command in prose; None for other code."""
    match = PROGRAM.match(code)
    if not match:
        return None
    words = code.split()
    if match[1].startswith("./"):
        return (match[1],)
    named = words[1:2] if match[1] == "byoc" and words[1:] and re.fullmatch("[a-z][a-z-]+", words[1]) else []
    return (os.path.join(build, "bin", match[1]), *named)


def code_fault(root, build, code):
    """What is wrong with one command; None when nothing is."""
    program = program_of(code, build)
    if program is None:
        return None
    if program[0].startswith("/") and not os.access(program[0], os.X_OK):
        return f"the build has no program {os.path.basename(program[0])}"
    text = help_of(root, program)
    if "error[" in text:
        return text.split("\n")[0]
    missing = [option for option in not_run.options_of(code)
               if option not in EVERYWHERE and not re.search(rf"(?<![\w-]){option}(?![\w-])", text)]
    return f"the help has no option {missing[0]}" if missing else None


def check(root, build):
    faults = []
    for page in tree.files(root, ".md"):
        for number, line in tree.outside_of_blocks(tree.read(root, page)):
            for code in re.findall(r"`([^`]+)`", line):
                if fault := code_fault(root, build, code):
                    faults.append(f"{page}:{number}: `{code}`: {fault}")
    for option in re.findall(r"^\./check +(--[\w-]+)", help_of(root, ("./check",)), re.M):
        faults += [f"{page}: has no line about ./check {option}" for page in TABLES
                   if f"./check {option}" not in tree.read(root, page)]
    return faults


if __name__ == "__main__":
    found = check(sys.argv[1], os.path.abspath(sys.argv[2]))
    print("\n".join(found) if found else "options: the help of each program has the options that pages name")
    sys.exit(bool(found))
