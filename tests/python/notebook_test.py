#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes docs/notebook.ipynb and looks at what its cells show.

    notebook_test.py SOURCE BUILD FOLDER

Writes the executed notebook and a page of it into FOLDER.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE, BUILD, FOLDER = (Path(word).resolve() for word in sys.argv[1:4])
# The kinds of output and words of each cell of code, in order.
EXPECTED = [
    (None, []), ("text/html", ["image", "float32", "probabilities"]), ("text/plain", ["of 100 are right"]),
    ("text/html", ["<svg", "onednn_main_0"]), ("text/html", ["onednn", "/Softmax"]), ("text/html", ["right, against"]),
    ("text/html", ["onednn", "ms"]), ("text/html", ["<svg", "notebook"]), ("text/html", ["right, against"]),
    ("text/html", ["notebook", "llvm"]),
]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "BYOC_PREFIX": str(BUILD), "HOME": str(FOLDER),
                   "XDG_CACHE_HOME": str(FOLDER / "cache"), "JUPYTER_PLATFORM_DIRS": "1"}
    for form, more in (("notebook", ["--execute"]), ("html", [])):
        source = SOURCE / "docs/notebook.ipynb" if more else FOLDER / "executed.ipynb"
        done = subprocess.run(["jupyter-nbconvert", "--to", form, *more, "--output-dir", FOLDER, "--output", "executed", source],
                              text=True, capture_output=True, env=environment)
        if done.returncode != 0:
            sys.exit(done.stderr)
    cells = [cell for cell in json.loads((FOLDER / "executed.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == len(EXPECTED), len(cells)
    for cell, (kind, words) in zip(cells, EXPECTED):
        code = "".join(cell["source"])
        shown = [output["data"] for output in cell["outputs"] if "data" in output]
        errors = [output for output in cell["outputs"] if output["output_type"] in ("error", "stream")]
        assert not errors, (code, errors)
        assert bool(shown) == (kind is not None), code
        if kind is not None:
            assert kind in shown[0], (code, list(shown[0]))
            text = "".join(shown[0][kind])
            missing = [word for word in words if word not in text]
            assert not missing, (code, missing, text[:500])
    right = int("".join(cells[2]["outputs"][0]["data"]["text/plain"]).strip("'").split()[0])
    assert right >= 95, right
    print(f"{len(cells)} cells, {right} of 100 digits")


main()
