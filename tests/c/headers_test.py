#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the headers of the C API and of plugins in each language that may include them, without warnings.

    headers_test.py SOURCE C_COMPILER CXX_COMPILER
"""
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, C, CXX = sys.argv[1:]
HEADERS = ["byoc/c/byoc.h", "byoc/c/devices.h", "byoc/c/states.h", "byoc/c/tools.h", "byoc/plugin/abi.h"]
LANGUAGES = [(C, "c", "c99"), (C, "c", "gnu99"), (C, "c", "c11"), (C, "c", "c17"), (CXX, "c++", "c++11"), (CXX, "c++", "c++20")]
# A struct with padding at its end, which abi.h has a check for: it must not compile.
PADDED = 'typedef struct padded { void* p; char c; } padded;\nBYOC_ASSERT_NO_TAIL(padded, c);\n'


def compile_text(text, compiler, language, standard):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return subprocess.run([compiler, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror",
                               "-fsyntax-only", f"-I{Path(SOURCE) / 'include'}", file.name], text=True, capture_output=True)


def main():
    faults = []
    for how in LANGUAGES:
        for header in HEADERS:
            done = compile_text(f'#include "{header}"\ntypedef int not_empty;\n', *how)
            if done.returncode != 0:
                faults.append(f"{header} as {how[2]}:\n{done.stderr}")
        if compile_text(f'#include "byoc/plugin/abi.h"\n{PADDED}', *how).returncode == 0:
            faults.append(f"{how[2]}: abi.h does not see padding")
    print("\n".join(faults) or f"{len(HEADERS)} headers in {len(LANGUAGES)} languages")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
