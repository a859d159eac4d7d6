#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one encoder layer of BERT-base (width 768, 12 heads, 128 tokens) as FILE. Needs torch and onnx.

usage: bert_layer.py FILE
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "models"))
from transformers import EncoderLayer  # noqa: E402


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    Path(arguments[0]).parent.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    layer = EncoderLayer(768, 12, 3072).eval()
    torch.onnx.export(layer, (torch.randn(1, 128, 768),), arguments[0], opset_version=13,
                      input_names=["x"], output_names=["y"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
