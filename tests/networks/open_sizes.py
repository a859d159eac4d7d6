#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a small network with open sizes, compiles it once, and compares runs at several sizes with torch's outputs.

    open_sizes.py BYOC NETWORK COMPILER FOLDER       a row of NETWORKS
    open_sizes.py --list

The artifact is made by `byoc compile --shape N=1..4 ...`, and `byoc run` gets each size's inputs. An output may differ
from torch's by 1e-4 of the largest.
"""
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, NamedTuple, Tuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

MODELS = Path(__file__).resolve().parent.parent / "models"
sys.path[:0] = [str(MODELS / "networks"), str(MODELS)]
from export import calibrated  # noqa: E402
from onnx_case import run, write_case  # noqa: E402
from zoo import NETWORKS as ZOO  # noqa: E402

SEED = 1
LIMIT = 1e-4


class Pyramid(nn.Module):
    """A detector's features: a stem, three stages at strides 4, 8 and 16, the larger maps added to the enlarged smaller
    ones, and a head with boxes and scores for every cell of each map."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.ModuleList([nn.Sequential(nn.Conv2d(c, 2 * c, 3, s, 1), nn.ReLU(), nn.Conv2d(2 * c, 2 * c, 3, 1, 1),
                                                   nn.ReLU()) for c, s in ((16, 1), (32, 2), (64, 2))])
        self.sides = nn.ModuleList([nn.Conv2d(c, 24, 1) for c in (32, 64, 128)])
        self.head = nn.Conv2d(24, 5, 3, 1, 1)

    def forward(self, x):
        maps, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        out, above = [], None
        for side, features in reversed(list(zip(self.sides, maps))):
            here = side(features)
            if above is not None:
                here = here + functional.interpolate(above, size=here.shape[2:], mode="nearest")
            above = here
            cells = self.head(here)
            out.append(cells.reshape(cells.shape[0], 5, cells.shape[2] * cells.shape[3]).permute(0, 2, 1))
        return torch.cat(out, 1)


class Row(NamedTuple):
    axes: Dict[str, Dict[int, str]]  # of inputs and outputs, in order
    bounds: Dict[str, Tuple[int, int]]
    sizes: Tuple[Dict[str, int], ...]
    sample: Callable[[Dict[str, int]], Tuple[torch.Tensor, ...]]
    opset: int


def image(size):
    return (torch.randn(size["N"], 3, size["H"], size["W"]),)


def tokens(size):
    return (torch.randint(1000, (size["N"], size["T"])),)


def masked_tokens(size):
    mask = torch.ones(size["N"], size["T"], dtype=torch.int64)
    mask[::2, size["T"] - size["T"] // 4:] = 0
    return (*tokens(size), mask)


IMAGE_AXES = {"x": {0: "N", 2: "H", 3: "W"}, "logits": {0: "N"}}
IMAGE_BOUNDS = {"N": (1, 4), "H": (33, 96), "W": (33, 128)}
IMAGES = ({"N": 1, "H": 64, "W": 64}, {"N": 4, "H": 33, "W": 75}, {"N": 2, "H": 96, "W": 128})
TEXT_BOUNDS = {"N": (1, 4), "T": (1, 48)}
TEXTS = ({"N": 1, "T": 16}, {"N": 3, "T": 1}, {"N": 4, "T": 48}, {"N": 2, "T": 37})

NETWORKS = {
    "resnet50": Row(IMAGE_AXES, IMAGE_BOUNDS, IMAGES, image, 13),
    "mobilenet_v2": Row(IMAGE_AXES, IMAGE_BOUNDS, IMAGES, image, 14),
    "pyramid": Row({"x": {0: "N", 2: "H", 3: "W"}, "cells": {0: "N", 1: "K"}}, IMAGE_BOUNDS, IMAGES, image, 13),
    "bert_base": Row({"ids": {0: "N", 1: "T"}, "mask": {0: "N", 1: "T"}, "hidden": {0: "N", 1: "T"}, "pooled": {0: "N"}},
                     TEXT_BOUNDS, TEXTS, masked_tokens, 13),
    "gpt2": Row({"ids": {0: "N", 1: "T"}, "logits": {0: "N", 1: "T"}}, TEXT_BOUNDS, TEXTS, tokens, 17),
    "lstm": Row({"x": {0: "N", 1: "T"}, "logits": {0: "N", 1: "T"}}, TEXT_BOUNDS, TEXTS,
                lambda size: (torch.randn(size["N"], size["T"], 16),), 15),
}


def make(name):
    torch.manual_seed(SEED)
    if name == "pyramid":
        return Pyramid()
    return calibrated(next(one for one in ZOO if one.name == name), True)[0]


def compile_once(byoc, model, row, compiler, artifact):
    command = [byoc, "compile", str(model), "--compiler", compiler, "--output", str(artifact)]
    for name, (least, most) in row.bounds.items():
        command += ["--shape", f"{name}={least}..{most}"]
    subprocess.run(command, check=True)


def run_compiled(byoc, artifact, names, inputs, folder):
    command = [byoc, "run", str(artifact), "--output-dir", str(folder)]
    folder.mkdir(exist_ok=True)
    for name, tensor in zip(names, inputs):
        file = folder / f"in_{name}.npy"
        np.save(file, tensor.numpy())
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def wrong_outputs(row, names, folder, expected):
    for name, right in zip(names, expected):
        got, right = np.load(folder / f"{name}.npy"), right.numpy()
        if got.shape != right.shape:
            yield f"{name} is {list(got.shape)}, torch has {list(right.shape)}"
            continue
        difference = float(np.abs(got - right).max() / np.abs(right).max())
        print(f"  {name} {list(got.shape)}: {difference:.1e} of the largest", flush=True)
        if not difference <= LIMIT:
            yield f"{name} differs by {difference:.1e} of the largest"


def main():
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(NETWORKS))
    byoc, name, compiler, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    torch.set_num_threads(1)
    row, model = NETWORKS[name], make(name)
    outputs = len(run(model, row.sample(row.sizes[0])))
    names = list(row.axes)
    inputs, outputs = names[:-outputs], names[-outputs:]
    path, _ = write_case(folder, model, row.sample(row.sizes[0]), inputs, outputs, row.opset, dynamic_axes=row.axes)
    artifact = folder / f"{compiler.replace(',', '_')}.byoc"
    compile_once(byoc, path, row, compiler, artifact)
    wrong = []
    for k, size in enumerate(row.sizes):
        print(f"{name} {size}", flush=True)
        tensors = row.sample(size)
        results = folder / f"{compiler.replace(',', '_')}_{k}"
        run_compiled(byoc, artifact, inputs, tensors, results)
        wrong += [f"{size}: {what}" for what in wrong_outputs(row, outputs, results, run(model, tensors))]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
