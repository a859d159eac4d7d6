#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/support.md has the tables that byoc computes; --write renews them.

    support.py BYOC PAGE [--write]
"""
import os
import subprocess
import sys

MARK = "## Operators by plugin\n"


def main():
    byoc, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        page = file.read()
    head = page[:page.index(MARK)]
    command = [byoc, "ops", "--support", "--markdown", "--compiler", "json,onednn,llvm"]
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}  # the same on every machine: others do bf16 too
    tables = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + tables)
    elif head + tables != page:
        old, new = page.splitlines(), (head + tables).splitlines()
        for line in [line for line in new if line not in old][:10]:
            print("is now:", line)
        sys.exit(f"{path} is not what byoc computes: run tests/docs/support.py {os.path.relpath(byoc)} {path} --write")


main()
