#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of Python of a page, in order, as one program.

    docs_test.py SOURCE BUILD PAGE...

`model.onnx` is the network of digits; `net.byoc` and `x` are an artifact and an input of it, for pages that begin with them.
"""
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "python"))


def blocks(page):
    """Returns the blocks with as many empty lines before them as the page has, so that tracebacks name its lines."""
    text = page.read_text()
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text[:match.start(1)].count("\n") + match.group(1)


def main():
    import byoc
    import numpy as np

    count = 0
    for name in sys.argv[3:]:
        page = SOURCE / name
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            os.chdir(folder)
            shutil.copy(SOURCE / "tests/models/digits/model.onnx", "model.onnx")
            shutil.copy("model.onnx", "net.onnx")
            byoc.compile("model.onnx", shapes={"N": 1}, compiler="llvm").save("net.byoc")
            names = {"x": np.zeros((1, 1, 8, 8), np.float32)}
            found = list(blocks(page))
            assert found, f"{page} has no block of Python"
            for block in found:
                exec(compile(block, str(page), "exec"), names)
            count += len(found)
            os.chdir("/")
    print(f"{count} blocks ran")


main()
