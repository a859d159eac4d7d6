#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of docs/onnxruntime.md: the blocks of Python as one program, and the commands.

    page_test.py SOURCE BUILD

`model.onnx` is the network of digits. What installs packages is not run, and `byoc place` only for its options.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PAGE = SOURCE / "docs/onnxruntime.md"


def blocks(language):
    """The blocks, with as many empty lines before them as the page has, so that tracebacks name its lines."""
    text = PAGE.read_text()
    for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text[:match.start(1)].count("\n") + match.group(1)


def main():
    digits = SOURCE / "tests/models/digits"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("model.onnx").symlink_to(digits / "model.onnx")
        Path("build").symlink_to(BUILD)
        names = {}
        for block in blocks("py"):
            exec(compile(block, PAGE, "exec"), names)
        nodes = json.loads(Path("reasons.json").read_text())["nodes"]
        assert {node["runs_on"] for node in nodes} == {"byoc"}, nodes
        images, expected = np.load(digits / "images.npy").astype("f4"), np.load(digits / "outputs.npy")
        np.testing.assert_allclose(names["session"].run(None, {"image": images[:4]})[0], expected[:4], rtol=1e-4, atol=1e-5)
        assert names["outputs"][0].shape == (4, 10)
        np.testing.assert_allclose(names["compiled"].run(None, {"image": images[:4]})[0], expected[:4], rtol=1e-4, atol=1e-5)
        lines = [line.replace("python3", sys.executable, 1) for block in blocks("bash") for line in block.strip().splitlines()]
        assert any(line.startswith("byoc compile") for line in lines), lines
        script = [re.sub(r"^(byoc place .*?)( -o .*)?$", r"\1 --help", line) for line in lines if not line.startswith("pip ")]
        script = [line.replace("model.onnx", "model.onnx --shape N=1", 1) if line.startswith("byoc compile") else line for line in script]
        environment = {**os.environ, "PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
        environment.pop("ORT_DISABLE_TELEMETRY", None)          # which the commands set
        subprocess.run(["bash", "-euc", "\n".join(script)], check=True, env=environment)
    print("onnxruntime", onnxruntime.__version__, "docs/onnxruntime.md is right")


main()
