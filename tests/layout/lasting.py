#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks below ROOT that static variables hold no interned value that an InternArena may free.

The first call of a function may happen under an InternScope, which then owns what its static variables intern, and the
second call would read freed values. lasting_symbol is the way to write them (byoc/ir/intern.h).
"""
import re
import sys
from pathlib import Path

INTERNED = r"(?:Symbol|TypeIds?|Attrs)"
VARIABLE = re.compile(rf"\bstatic\s+(?:thread_local\s+)?(?:const\s+)?(?:std::\w+<[^;=(){{}}]*\b{INTERNED}\b[^;=(){{}}]*>|"
                      rf"{INTERNED})\s*[&*]?\s*\w+\s*(?:\[\w*\]\s*)?([=;{{(][^;]*);?")
DECLARATION = re.compile(r"\([^)\"]*\)\s*(?:const)?\s*(?:\{|$)|\(\s*\)")  # of a function: parameters, no strings


def faults_of(text):
    """Returns the static variables in `text` that a scope may own."""
    found = []
    for match in VARIABLE.finditer(text):
        value = match.group(1)
        if value.startswith("(") and DECLARATION.match(value):
            continue
        if value.count("lasting_symbol(") < max(1, value.count('"') // 2):
            found.append(" ".join(match.group(0).split()))
    return found


PLANTED = {
    'static const Symbol kA = "a";': True,
    'static const Symbol kA = lasting_symbol("a"), kB = "b";': True,
    'static Symbol kA("a");': True,
    "static const TypeId kType = TensorType{DType::kF32, {}};": True,
    "static std::map<Symbol, int> known;": True,
    "static const Attrs* last = nullptr;": True,
    'static const Symbol kA = lasting_symbol("a"), kB = lasting_symbol("b");': False,
    "static Dim symbol(Symbol name, int64_t min = 0);": False,
    "static TypeId type_of(Types types) {": False,
    "static std::vector<TypeId> partners(TypeId known) {": False,
    "static Symbol name();": False,
}


def main(root):
    failed = False
    for text, is_fault in PLANTED.items():
        if bool(faults_of(text)) != is_fault:
            print(f"{'not found' if is_fault else 'found, but right'}: {text}")
            failed = True
    for top in ("include", "core", "plugins"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            for fault in faults_of(path.read_text()):
                print(f"{path.relative_to(root)}: {fault}: an arena may free it; use lasting_symbol")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
