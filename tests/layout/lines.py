#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C and C++ sources below ROOT have at most 100 columns, comments too.

Raw strings are data, which may be wider, and so may a link. clang-format wraps code, but no comments.
"""
import re
import sys
from pathlib import Path

MOST_COLUMNS = 100
TOPS = ("include", "runtime", "core", "frontends", "plugins", "bench", "tests")
RAW = re.compile(r'R"([^()\\\s]{0,16})\((?:.|\n)*?\)\1"')


def long_lines(text):
    """Returns (number, columns) of each line that is too long."""
    data = set()
    for raw in RAW.finditer(text):
        first = text.count("\n", 0, raw.start()) + 1
        data.update(range(first, first + raw[0].count("\n") + 1))
    return [(number, len(line)) for number, line in enumerate(text.splitlines(), 1)
            if len(line) > MOST_COLUMNS and number not in data and "://" not in line]


def check(root):
    files = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".cc", ".c", ".h")]
    return [f"{path.relative_to(root).as_posix()}:{number}: {columns} columns, and a line has at most {MOST_COLUMNS}"
            for path in files for number, columns in long_lines(path.read_text())]


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else f"lines: at most {MOST_COLUMNS} columns")
    sys.exit(bool(found))
