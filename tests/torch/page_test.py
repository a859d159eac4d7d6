#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of Python of docs/torch.md in order, with those that need torch.compile.

    page_test.py SOURCE BUILD
"""
import os
import re
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "python"))


def main():
    page, names, count = SOURCE / "docs/torch.md", {}, 0
    os.chdir(tempfile.mkdtemp())
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    text = page.read_text()
    for match in re.finditer(r"^```python( torch\.compile)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        block = "\n" * text[:match.start(2)].count("\n") + match[2]
        exec(compile(block, str(page), "exec"), names)
        count += bool(match[1])
    assert count, f"{page} has no block for torch.compile"
    print("the blocks ran")


main()
