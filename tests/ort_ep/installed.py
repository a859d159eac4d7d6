#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a network in ONNX Runtime by the installed package onnxruntime_ep_byoc.

    installed.py DIGITS        DIGITS: the folder tests/models/digits
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_byoc as ep


def main():
    digits = Path(sys.argv[1])
    assert ep.get_ep_names() == [ep.get_ep_name()]
    files = [path.name for path in Path(ep.__file__).parent.iterdir() if path.suffix == ".so"]
    assert files == ["libbyoc_ort_ep.so"], files                # nothing of ONNX Runtime
    ort.register_execution_provider_library(ep.get_ep_name(), ep.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == ep.get_ep_name()]
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices, {"compiler": "llvm", "explain": "explain.json"})
    session = ort.InferenceSession(str(digits / "model.onnx"), options, enable_fallback=False)
    images, outputs = np.load(digits / "images.npy").astype("f4"), np.load(digits / "outputs.npy")
    for count in (1, 5):
        np.testing.assert_allclose(session.run(None, {"image": images[:count]})[0], outputs[:count], rtol=1e-4, atol=1e-5)
    assert {node["runs_on"] for node in json.loads(Path("explain.json").read_text())["nodes"]} == {"byoc"}
    print("right in onnxruntime", ort.__version__, "by", ep.get_library_path())


main()
