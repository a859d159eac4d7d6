#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sizes of the C and C++ sources below ROOT: at most 400 lines in a file, 200 in a public header, 40 in a
function.

Rows of tables, strings on a line of their own, enumerators, cases of a switch that take one line, and lines of the
preprocessor are not counted. The headers of the plugin ABI and
its SDK are exempt from the limit on public headers (docs/STYLE.md).
"""
import re
import sys
from pathlib import Path

MOST_LINES, MOST_PUBLIC, MOST_FUNCTION = 400, 200, 40
TOPS = ("include", "runtime", "core", "frontends", "plugins", "bench", "tests")
ABI = "include/byoc/plugin/"
RAW = re.compile(r'R"([^()\\\s]{0,16})\((?:.|\n)*?\)\1"')
NO_FUNCTION = re.compile(r"(?:template <.*> )?(?:static |typedef |const |constexpr )*(?:class|struct|union|enum|namespace|extern|if|for|while"
                         r"|switch|do|else|return|case|co_return)\b|[}#/*(]")
LAMBDA = re.compile(r"\[[^\]\[]*\] ?[({]")
ROW = re.compile(r" *(?:\{.*\}[,;]?|\{.*|.*\},|\w.*\}\);|case .*|default:.*|\w+(?:\.|->)add_\w+\(.*|\"[^\"]*\".*|return \{|\};|[A-Z]\w*,|#.*)$")


def without_raw(text):
    """The text with as many lines; the lines of raw strings are "#", and so are not counted."""
    return RAW.sub(lambda raw: 'R""' + "\n#" * raw[0].count("\n"), text)


def head_of(lines, at):
    """The first line of the declaration that line `at` ends: the one whose brackets are closed there."""
    depth = 0
    for first in range(at, max(at - 30, -1), -1):
        line = re.sub(r'"(?:\\.|[^"\\])*"', '""', lines[first])
        depth += line.count(")") - line.count("(")
        if depth <= 0 and not re.match(r" *[:,)]", lines[first]):
            return first
    return at


def functions_of(text):
    """Returns (first line, name, lines that count) of each function, from the line of its name to its closing brace."""
    lines, found, at = without_raw(text).split("\n"), [], -1
    while at + 1 < len(lines):
        at += 1
        if not re.search(r"\).* \{$", lines[at]):
            continue
        first = head_of(lines, at)
        indent = re.match(" *", lines[first])[0]
        head = " ".join(line.strip() for line in lines[first:at + 1])
        name = re.search(r"(~?\w+|operator\S+)\(", head)
        if len(indent) > 4 or not name or NO_FUNCTION.match(head) or LAMBDA.search(head) or " = " in head[:name.start()]:
            continue
        last = next((k for k in range(at + 1, len(lines)) if lines[k].startswith(indent + "}")), at)
        found.append((first + 1, name[1], sum(not ROW.match(line) for line in lines[first:last + 1])))
        at = last
    return found


# Files with longer functions or more lines, until their part of core is split up; they may not grow.
LATER = {
    "core/driver/commands/check_plugin_command.cc": 42,
    "core/driver/commands/place_command.cc": 43,
    "core/driver/compile.cc": 45,
    "core/tools/place/calibrate.cc": 60,
    "core/tools/place/measure_candidates.cc": 48,
    "core/tools/place/probe.cc": 57,
}


def check_file(path, text):
    count, faults = len(text.splitlines()), []
    if count > MOST_LINES and not path.startswith(ABI):
        count = sum(not ROW.match(line) for line in without_raw(text).splitlines())
    if count > MOST_LINES and not path.startswith(ABI):
        faults.append(f"{path}: {count} lines, and a file has at most {MOST_LINES}: split it")
    elif path.startswith("include/") and count > max(MOST_PUBLIC, LATER.get(path, 0)) and not path.startswith(ABI):
        faults.append(f"{path}: {count} lines, and a public header has at most {MOST_PUBLIC}: split it")
    for first, name, length in functions_of(text):
        if length > max(MOST_FUNCTION, LATER.get(path, 0)):
            faults.append(f"{path}:{first}: {name} has {length} lines, and a function has at most {MOST_FUNCTION}: split it")
    return faults


def check(root):
    files = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".cc", ".c", ".h")]
    return [fault for path in files for fault in check_file(path.relative_to(root).as_posix(), path.read_text())]


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "sizes: files and functions are within their limits")
    sys.exit(bool(found))
