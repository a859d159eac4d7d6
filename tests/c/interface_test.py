#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C API with the one that was recorded: what programs were linked with has to stay as it is.

    interface_test.py SOURCE C_COMPILER [--write]

interface.txt has the declarations of include/byoc/c and of byoc/plugin/abi.h, without comments. Both interfaces are
compiled to a library of empty functions with debug information, which abidiff compares: functions, the layout of structs
and values of enums. Macros are compared as text. Additions have to be recorded by --write; it refuses to record that a
function is gone or has another declaration, which needs another soname.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, COMPILER = Path(sys.argv[1]), sys.argv[2]
RECORD = SOURCE / "tests/c/interface.txt"
HEADERS = ("plugin/abi.h", "c/byoc.h", "c/devices.h", "c/states.h", "c/tools.h")
GROWING = {"BYOC_ABI_MINOR", "BYOC_C_API_MINOR"}
INCLUDES = "#include <dlpack/dlpack.h>\n#include <stddef.h>\n#include <stdint.h>\n"
FUNCTION = re.compile(r"^BYOC_(?:RUNTIME_)?API [^;]*?\b(byoc_\w+)\([^;]*\);", re.MULTILINE)


def for_c(text):
    """The lines that a compiler of C reads, without comments, include lines and guards."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    lines, skipped = [], [False]                            # skipped: of each #if that is open
    for line in text.splitlines():
        word = line.split(" ")[0]
        if word in ("#ifdef", "#ifndef"):
            skipped.append(line == "#ifdef __cplusplus")
        elif word == "#else":
            skipped[-1] = not skipped[-1]
        elif word == "#endif":
            skipped.pop()
        elif not any(skipped) and line.strip() and word != "#include" and not re.fullmatch(r"#define \w+_H", line):
            lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def interface_of(source):
    return "".join(for_c((source / "include/byoc" / header).read_text()) for header in HEADERS)


def functions_of(interface):
    return {match[1]: " ".join(match[0].split()) for match in FUNCTION.finditer(interface)}


def macros_of(interface):
    """Macros that are numbers or texts."""
    return dict(re.findall(r"^#define (BYOC_\w+) ([0-9\"(][^\\\n]*)$", interface, re.MULTILINE))


def library_of(interface, folder, name):
    """Compiles the interface with an empty body for each function."""
    source = folder / f"{name}.c"
    source.write_text(INCLUDES + FUNCTION.sub(lambda match: match[0][:-1] + " { __builtin_trap(); }", interface))
    library = folder / name / "libbyoc.so"
    library.parent.mkdir(exist_ok=True)
    done = subprocess.run([COMPILER, "-std=gnu99", "-g", "-O0", "-shared", "-fPIC", source, "-o", library], text=True,
                          capture_output=True)
    return library, done.stderr


def faults_of(recorded, current):
    """The differences, as a list of texts."""
    faults = []
    old, new = functions_of(recorded), functions_of(current)
    faults += [f"{name} is gone: programs call it" for name in sorted(set(old) - set(new))]
    faults += [f"{name} is not recorded: run interface_test.py --write" for name in sorted(set(new) - set(old))]
    faults += [f"{name} is in another library, or has another declaration:\n  {old[name]}\n  {new[name]}"
               for name in sorted(set(old) & set(new)) if old[name] != new[name]]
    old, new = macros_of(recorded), macros_of(current)
    for name, value in old.items():
        if name in GROWING and int(new.get(name, 0)) >= int(value):
            continue
        if new.get(name) != value:
            faults.append(f"{name} is {new.get(name, 'gone')}, and was {value}")
    with tempfile.TemporaryDirectory() as folder:
        libraries = [library_of(text, Path(folder), name) for text, name in ((recorded, "old"), (current, "new"))]
        faults += [f"the interface does not compile:\n{errors}" for _, errors in libraries if errors]
        if not faults:
            done = subprocess.run(["abidiff", "--no-added-syms", libraries[0][0], libraries[1][0]], text=True, capture_output=True)
            if done.returncode != 0:
                faults.append(f"{done.stdout}{done.stderr}members at the end of a struct that has its size are an addition: "
                              "record them by interface_test.py --write")
    return faults


def planted(current):
    """Interfaces with a fault each, as (what, text)."""
    def other(old, new):
        assert current.count(old) >= 1, f"the interface has no {old}"
        return current.replace(old, new, 1)
    yield "a function less", re.sub(r"BYOC_RUNTIME_API byoc_error\* byoc_run\([^;]*;", "", current)
    yield "a function more", current + "BYOC_API void byoc_added(void);\n"
    yield "another parameter", other("byoc_session_input_count(const byoc_session* session)",
                                     "byoc_session_input_count(byoc_session* session)")
    yield "another library", other("BYOC_RUNTIME_API const char* byoc_version", "BYOC_API const char* byoc_version")
    yield "members in another order", other("  size_t size;\n  byoc_canceller* cancel;", "  byoc_canceller* cancel;\n  size_t size;")
    yield "a member of another type", other("  int32_t ndim;", "  int64_t ndim;")
    yield "a callback of another type", other("const char* what, uint64_t done", "const char* what, uint32_t done")
    yield "another value of an enum", re.sub(r"(\bBYOC_NOT_FOUND) = \d+", r"\1 = 77", current)
    yield "another flag", re.sub(r"(#define BYOC_EXT_MUST_UNDERSTAND) .*", r"\1 1u", current)
    yield "a smaller minor", re.sub(r"(#define BYOC_C_API_MINOR) .*", r"\1 0", current)


def write(current):
    """Records the interface, except one that programs could not be run with."""
    old, new = functions_of(RECORD.read_text()) if RECORD.exists() else {}, functions_of(current)
    gone = sorted(name for name, declaration in old.items() if new.get(name) != declaration)
    if gone:
        sys.exit(f"{', '.join(gone)}: gone or declared otherwise; a library without them needs another soname")
    RECORD.write_text(current)


def main():
    current = interface_of(SOURCE)
    if "--write" in sys.argv:
        return write(current)
    faults = faults_of(RECORD.read_text(), current)
    for what, text in planted(current):
        assert text != current, f"the plant `{what}` changes nothing"
        found = faults_of(current, text)
        if not found or "does not compile" in found[0]:
            faults.append(f"the test does not see {what}: {found}")
    print("\n".join(faults) or f"{len(functions_of(current))} functions as they were recorded")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
