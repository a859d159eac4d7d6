#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the blocks of this folder: each one a few layers with weights and torch's outputs.

    python3 make_blocks.py                      write all of them here
    python3 make_blocks.py --only fire --out D  write one of them to D/fire
    python3 make_blocks.py --list               names, opsets and what each is for

Needs torch >= 1.13, torchvision, onnx. Same versions, same bytes.
"""

import argparse
import sys
from pathlib import Path
from typing import Callable, NamedTuple, Tuple

import onnx
import torch
from torch import nn
from torchvision.models.mobilenetv2 import InvertedResidual
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.models.squeezenet import Fire
from torchvision.ops import SqueezeExcitation

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from checks import check  # noqa: E402
from onnx_case import write_case  # noqa: E402
from seeding import CONVS, calibrate_batch_norms, seed_weights, standardise  # noqa: E402
from transformers import EncoderLayer  # noqa: E402

SEED = 1
MAX_BYTES = 100_000


def conv_block(c_in, c_out, kernel=3):
    return nn.Sequential(nn.Conv2d(c_in, c_out, kernel, padding=kernel // 2), nn.ReLU())


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 10))


def bottleneck():
    downsample = nn.Sequential(nn.Conv2d(16, 32, 1, stride=2, bias=False), nn.BatchNorm2d(32))
    return Bottleneck(16, 8, stride=2, downsample=downsample)


class TwoOutputs(nn.Module):
    """A trunk read by two heads, and its own value is one of the outputs."""

    def __init__(self):
        super().__init__()
        self.trunk, self.head = conv_block(8, 16), nn.Linear(16, 10)

    def forward(self, x):
        features = self.trunk(x)
        return features, self.head(features.mean((2, 3)))


class InputAsOutput(nn.Module):
    """Its input is also an output. torch writes an Identity between the two."""

    def __init__(self):
        super().__init__()
        self.trunk = conv_block(8, 8)

    def forward(self, x):
        return self.trunk(x), x


class Diamond(nn.Module):
    """One value read by two convolutions and an add: the branches must join in one convex region or in none."""

    def __init__(self):
        super().__init__()
        self.stem, self.left, self.right = conv_block(8, 8), conv_block(8, 8), conv_block(8, 8, 1)

    def forward(self, x):
        x = self.stem(x)
        return torch.relu(self.left(x) * torch.sigmoid(self.right(x)) + x)


class Block(NamedTuple):
    name: str
    opset: int
    make: Callable[[], nn.Module]
    shape: Tuple[int, ...]
    about: str
    outputs: Tuple[str, ...] = ("y",)
    keep_batch_norm: bool = False
    drop_identities: bool = False


IMAGE = (2, 16, 8, 8)
BLOCKS = [
    Block("resnet_basic", 13, lambda: BasicBlock(16, 16), IMAGE,
          "conv, relu, conv, add, relu; batch norms folded by the exporter"),
    Block("resnet_basic_bn", 13, lambda: BasicBlock(16, 16), IMAGE,
          "the same with batch norms as nodes", keep_batch_norm=True),
    Block("resnet_bottleneck", 14, bottleneck, IMAGE, "stride 2 and a strided 1x1 downsample branch"),
    Block("inverted_residual", 15, lambda: InvertedResidual(16, 16, 1, 4), IMAGE,
          "expand, depthwise, project with relu6 (Clip) and an add"),
    Block("inverted_residual_bn", 13, lambda: InvertedResidual(16, 24, 2, 4), IMAGE,
          "stride 2, no add, batch norms as nodes", keep_batch_norm=True),
    Block("squeeze_excite", 13, lambda: SqueezeExcitation(16, 4), IMAGE,
          "global average pool, two 1x1 convs, sigmoid, broadcast multiply"),
    Block("squeeze_excite_hard", 14, lambda: SqueezeExcitation(16, 4, scale_activation=nn.Hardsigmoid), IMAGE,
          "the same with hard sigmoid"),
    Block("fire", 16, lambda: Fire(16, 8, 16, 16), IMAGE, "squeeze, two expanding convs, concat"),
    Block("mlp", 13, mlp, (4, 64), "three gemms with relu and tanh"),
    Block("transformer_13", 13, lambda: EncoderLayer(32, 4, 64), (2, 10, 32),
          "BERT's layer, layer norm and gelu in pieces"),
    Block("transformer_17", 17, lambda: EncoderLayer(32, 4, 64), (2, 10, 32),
          "BERT's layer, layer norm as one op"),
    Block("two_outputs", 13, TwoOutputs, (2, 8, 8, 8), "an inner value is an output too", ("features", "logits")),
    Block("input_as_output", 13, InputAsOutput, (2, 8, 8, 8), "an input is an output too, through Identity",
          ("y", "same")),
    Block("input_is_output", 13, InputAsOutput, (2, 8, 8, 8), "the same without a node: the output is x",
          ("y", "same"), drop_identities=True),
    Block("diamond", 13, Diamond, (2, 8, 8, 8), "one value read by three nodes that join again"),
]


def drop_identities(path):
    """Drops the Identity nodes that make outputs; each such output becomes the value it copied, by name too."""
    model = onnx.load(str(path))
    identities = [node for node in model.graph.node if node.op_type == "Identity"]
    source = {node.output[0]: node.input[0] for node in identities}
    for node in identities:
        model.graph.node.remove(node)
    for i, output in enumerate(model.graph.output):
        output.name = source.get(output.name, output.name)
        stored = str(path.parent / "test_data_set_0" / f"output_{i}.pb")
        tensor = onnx.load_tensor(stored)
        tensor.name = output.name
        onnx.save_tensor(tensor, stored)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def export(block, out):
    """Writes out/<name>; returns (bytes of model.onnx, what is wrong with it)."""
    torch.manual_seed(SEED)
    model = seed_weights(block.make())
    batch = torch.randn(32, *block.shape[1:])
    calibrate_batch_norms(model, [batch])
    without_norm = [m for m in model.modules() if isinstance(m, CONVS) and m.bias is not None]
    standardise(model, without_norm, batch, mean=1.0, per_channel=False)
    inputs = (torch.randn(block.shape),)
    _, wrong = check(model, inputs, (torch.randn(block.shape),))
    path, _ = write_case(out / block.name, model, inputs, ["x"], block.outputs, block.opset,
                         keep_batch_norm=block.keep_batch_norm)
    if block.drop_identities:
        drop_identities(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        wrong.append(f"{size} bytes, at most {MAX_BYTES}")
    return size, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", choices=[b.name for b in BLOCKS], help="write this one block")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: this one)")
    parser.add_argument("--list", action="store_true", help="list the blocks and stop")
    options = parser.parse_args()
    torch.set_num_threads(1)
    failed = False
    for block in BLOCKS:
        if options.only not in (None, block.name):
            continue
        if options.list:
            print(f"{block.name:22} opset {block.opset}  {block.about}")
            continue
        size, wrong = export(block, options.out)
        ops = sorted({node.op_type for node in onnx.load(str(options.out / block.name / "model.onnx")).graph.node})
        print(f"{block.name:22} {size:6} bytes  {' '.join(ops)}")
        for problem in wrong:
            print(f"  {block.name}: {problem}", file=sys.stderr)
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
