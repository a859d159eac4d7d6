#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes enc.onnx: a 4-layer encoder of tokens with a mask, as torch's exporter writes it with open batch and length.

    python3 make_encoder.py [--layers N] [FOLDER]

Inputs: ids [B, T] of 8000 words and mask [B, T] of 1 (read) and 0 (padding), both int64; the output hidden is f32
[B, T, 256]. Its reshapes compute their shapes from those of the inputs. B_T.npz beside it have inputs and torch's output of
some sizes. Needs torch and onnx. Same versions, same bytes.
"""
import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from transformers import BertEncoder  # noqa: E402

WORDS, POSITIONS, WIDTH, HEADS, HIDDEN = 8000, 512, 256, 4, 1024
SIZES = ((1, 1), (1, 128), (2, 17), (3, 64), (4, 128))


class Encoder(BertEncoder):
    """Gives the last hidden state alone."""

    def forward(self, input_ids, attention_mask):
        return super().forward(input_ids, attention_mask)[0]


def inputs(batch, length, seed):
    """Random tokens; each sentence but the first ends before its last token, where it has several."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(WORDS, (batch, length), generator=random)
    lengths = torch.randint(1, length + 1, (batch, 1), generator=random)
    lengths[0] = length
    return ids, (torch.arange(length)[None] < lengths).to(torch.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model = Encoder(WORDS, POSITIONS, WIDTH, HEADS, HIDDEN, args.layers).eval()
    open_axes = {0: "B", 1: "T"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # the tracer warns of shapes that are read
        torch.onnx.export(model, inputs(2, 16, 0), str(args.folder / "enc.onnx"), opset_version=14, input_names=["ids", "mask"],
                          output_names=["hidden"], dynamic_axes={name: open_axes for name in ("ids", "mask", "hidden")})
    for batch, length in SIZES:
        ids, mask = inputs(batch, length, batch * length)
        with torch.no_grad():
            hidden = model(ids, mask)
        np.savez(args.folder / f"{batch}_{length}.npz", ids=ids.numpy(), mask=mask.numpy(), hidden=hidden.numpy())


if __name__ == "__main__":
    main()
