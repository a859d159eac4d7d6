#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a page with commands, and expects run_page.py to name it; and faults in commands of
prose, which options.py must name."""
import sys
import tempfile
from pathlib import Path

import options
import run_page

PAGE = """# A page

```text words
one
two
```

```sh
cat words
echo three
```

```text
one
...
th...e
```

```sh fails
cat nothing
```

```console
$ head -n 1 words
one
```

```sh
echo '{"a": 1,' && echo ' "b": [2]}'
```

```json printed
{"a":1,"b":[2]}
```

```ir printed
"b": [2]}
```

```c from include/byoc/plugin/abi.h
typedef struct byoc_bytes {
...
} byoc_bytes;
```

```sh
./check --docs   # is checked, and not run
cmake -S . -B build -G Ninja -DBYOC_BENCH=OFF
ctest --test-dir build -R layout.rooms
```
"""
FAULTS = [  # what is replaced, by what, and what must be printed
    ("cat words", "cat wards", "8: exit code 1 of:\ncat wards"),
    ("two\n", "two\nfour\n", None),
    ("th...e", "th...o", "13: the page has:"),
    ("...\nth", "th", "13: the page has:"),
    ("cat nothing", "cat words", "19: exit code 0 of:\ncat words"),
    ("$ head -n 1 words\none", "$ head -n 1 words\ntwo", "24: the page has:\ntwo\nprinted was:\none"),
    ('"b":[2]}', '"b":[3]}', "32: the page has:"),
    ('\n"b": [2]}\n', '\n"b": [3]}\n', "36: the page has:"),
    ("byoc_bytes {\n", "byoc_bytes {\nint more;\n", "has no such line: int more;"),
    ("```console", "```", "23: a block without a language"),
    ("# A page\n", "# A page\n\n    ./demo\n", "3: a command outside of a block"),
    ("--docs ", "--dots ", "./check --help has no option --dots"),
    ("BYOC_BENCH", "BYOC_PENCH", "the build has no variable BYOC_PENCH"),
    ("layout.rooms", "layout.room_s", "no test has the name layout.room_s"),
    ("rooms\n```", "rooms\n", "46: a block without an end"),
]


IN_PROSE = [  # code, and what is wrong with it, with a `byoc` whose help has the option --level
    ("byoc --level 2", ""),
    ("byoc opt MODEL --level 2", ""),
    ("byoc opt MODEL --lever 2", "the help has no option --lever"),
    ("byoc optimise", "error[unknown-command]"),
    ("byoc-run MODEL", "the build has no program byoc-run"),
    ("./check --nothing", "the help has no option --nothing"),
    ("./check --docs", ""),
    ("BYOC_LOG=debug", ""),
]
BYOC = """#!/bin/sh
case $1 in opt|--help) echo "  --level LEVEL" ;; *) echo "error[unknown-command]: $1" ;; esac
"""


def prose_faults(folder):
    """The entries of IN_PROSE for which options.py reports something else."""
    program = folder / "bin/byoc"
    program.parent.mkdir()
    program.write_text(BYOC)
    program.chmod(0o755)
    found = [(code, expected, options.code_fault(run_page.TREE, str(folder), code) or "")
             for code, expected in IN_PROSE]
    return [entry for entry in found if entry[1] not in entry[2] or bool(entry[1]) != bool(entry[2])]


def fault_of(page, folder):
    """What run_page reports on the page, with a build that has one variable; "" when it is right."""
    (folder / "build/bin").mkdir(parents=True)
    (folder / "build/CMakeCache.txt").write_text("BYOC_BENCH:BOOL=ON\n")
    (folder / "build/tests").mkdir()
    (folder / "build/tests/CTestTestfile.cmake").write_text("add_test([=[layout.rooms]=] \"python3\" \"rooms.py\")\n")
    (folder / "page.md").write_text(page)
    try:
        run_page.run_page(folder / "page.md", folder / "run", None, str(folder / "build"))
    except run_page.Fault as fault:
        return str(fault)
    return ""


def main():
    missed = 0
    for old, new, expected in [("", "", None)] + FAULTS:
        assert old in PAGE, old
        with tempfile.TemporaryDirectory() as folder:
            found = fault_of(PAGE.replace(old, new, 1) if old else PAGE, Path(folder))
        is_right = expected in found if expected else not found
        missed += not is_right
        name = f"{old!r} -> {new!r}"
        print(name if is_right else f"MISSED {name}: expected {expected!r}, found {found!r}")
    with tempfile.TemporaryDirectory() as folder:
        for entry in prose_faults(Path(folder)):
            missed += 1
            print("MISSED", entry)
    return missed


if __name__ == "__main__":
    count = main()
    print(f"{len(FAULTS) + len(IN_PROSE)} changes, {count} missed")
    sys.exit(bool(count))
