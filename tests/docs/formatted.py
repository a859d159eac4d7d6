#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds pages below ROOT that a formatter of C++ has wrapped: rows of tables on two lines, list items that continue in
the first column or share a line, headings and paths with spaces in other places, and lines that end in the middle of
`code` or of a [link](target)."""
import re
import sys

import tree


def faults_of(path, page):
    faults, last, table = [], "", 0
    for number, line in tree.outside_of_blocks(page):
        cells = len(re.sub(r"`[^`]*`|\\\|", "", line).split("|")) if line.startswith("|") else 0
        if line.startswith("|") and not line.rstrip().endswith("|"):
            faults.append(f"{path}:{number}: a row of a table goes on in the next line: {line[:40]}")
        elif cells and table and cells != table:
            faults.append(f"{path}:{number}: a row of a table has {cells - 2} cells, and the head {table - 2}")
        table = cells and (table or cells)
        if re.match(r"\s*- ", last) and re.match(r"[A-Za-z`(]", line) and not line.startswith("|"):
            faults.append(f"{path}:{number}: a list item goes on in the first column: {line[:40]}")
        if line.count("`") % 2 and not line.startswith("    "):
            faults.append(f"{path}:{number}: code in backticks goes on in the next line: {line[-40:]}")
        if re.search(r"\]\([^)]*$|\]$(?<!\]\])", line) and not line.startswith(("    ", "[")):
            faults.append(f"{path}:{number}: a link goes on in the next line: {line[-40:]}")
        if re.match(r"#+[^#\s]", line):
            faults.append(f"{path}:{number}: a heading without a space after its marks: {line[:40]}")
        if re.search(r"^ +-[A-Z`]|`[^`]*[a-z] / [a-z]+ / |[.`]\.?- ", line) and not line.startswith("|"):
            faults.append(f"{path}:{number}: spaces in a path, or several list items in one line: {line[:40]}")
        last = line
    return faults


def check(root):
    return [fault for path in tree.files(root, ".md") for fault in faults_of(path, tree.read(root, path))]


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else "formatted: no page was wrapped by a formatter of code")
    sys.exit(bool(found))
