# SPDX-License-Identifier: Apache-2.0
"""The table of networks: how each is made, at which opset it is exported, and what goes in."""

from typing import Callable, Dict, NamedTuple, Tuple

import torch
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck

import calibrate
import topologies as t


def normal(shape, small_shape):
    """Normal numbers: (small, count) -> that many inputs of the full or the small shape."""
    return lambda small, count: (torch.randn(count, *(small_shape if small else shape)),)


def image(size=224, small_size=64):
    return normal((3, size, size), (3, small_size, small_size))


def tokens(vocabulary, length, with_mask=False):
    """Token ids, and for every second sequence padding in its last quarter."""

    def sample(small, count):
        n = 16 if small else length
        ids = torch.randint(1000 if small else vocabulary, (count, n))
        mask = torch.ones(count, n, dtype=torch.int64)
        mask[::2, n - n // 4:] = 0
        return (ids, mask) if with_mask else (ids,)

    return sample


class Network(NamedTuple):
    name: str
    opset: int
    make: Callable[[bool], nn.Module]  # small -> model
    sample: Callable[[bool, int], Tuple[torch.Tensor, ...]]  # small, count -> that many random inputs
    head: str  # the layer that is centred; "" where there is none
    about: str
    batch: int = 1
    inputs: Tuple[str, ...] = ("x",)
    outputs: Tuple[str, ...] = ("logits",)
    dynamic_axes: Dict[str, Dict[int, str]] = {}  # dimensions that have a name instead of an extent
    recipe: Callable = calibrate.convolutions
    # The shift that norms add before a ReLU, see seeding.py. Small variants get more: their last maps have four cells,
    # and at 1 a filter in six is cut off in all of them.
    shift: float = 1.0
    small_shift: float = 2.0
    # The difference of the full network's mean outputs, in deviations of one output. It makes the largest
    # output larger, and what rounding does a smaller share of it.
    head_spread: float = 0.0


NETWORKS = [
    Network("resnet18", 13, lambda small: t.make_resnet(BasicBlock, [2, 2, 2, 2], small), image(), "fc",
            "residual blocks of two 3x3 convolutions"),
    Network("resnet50", 13, lambda small: t.make_resnet(Bottleneck, [3, 4, 6, 3], small), image(), "fc",
            "residual bottlenecks", head_spread=1.5),
    Network("mobilenet_v2", 14, t.make_mobilenet_v2, image(), "classifier.1", "depthwise convolutions, relu6"),
    Network("mobilenet_v3", 15, t.make_mobilenet_v3, image(), "classifier.3",
            "squeeze and excitation, hard swish, hard sigmoid", shift=1.4),
    Network("squeezenet", 13, t.make_squeezenet, image(), "classifier.1",
            "fire modules, pools that round up; version 1.1"),
    Network("densenet121", 14, t.make_densenet, image(), "classifier", "every layer reads all before it in its block"),
    Network("efficientnet_b0", 16, t.make_efficientnet, image(), "classifier.1", "squeeze and excitation, swish",
            shift=2.0, small_shift=1.75),
    Network("shufflenet_v2", 15, t.make_shufflenet, image(), "fc", "channels split and shuffled"),
    Network("googlenet", 17, t.make_googlenet, image(), "fc", "branches of four kinds; input channels rescaled"),
    Network("inception_v3", 16, t.make_inception_v3, image(299, 128), "fc",
            "1x7 and 7x1 convolutions, average pools; small at 128x128, the least is 75", small_shift=1.5),
    Network("vgg16", 17, t.make_vgg, image(), "classifier.6", "plain convolutions, 138 million weights",
            shift=0.5, small_shift=1.0, head_spread=3.0),
    Network("vit_b_16", 14, t.make_vit, image(), "heads.head", "patches through twelve encoder layers; any batch",
            dynamic_axes={"x": {0: "N"}, "logits": {0: "N"}}, recipe=calibrate.plain),
    Network("bert_base", 13, t.make_bert, tokens(30522, 128, with_mask=True), "",
            "twelve encoder layers with a padding mask; any batch and length", inputs=("input_ids", "attention_mask"),
            outputs=("hidden", "pooled"), recipe=calibrate.encoder,
            dynamic_axes={"input_ids": {0: "N", 1: "T"}, "attention_mask": {0: "N", 1: "T"},
                          "hidden": {0: "N", 1: "T"}, "pooled": {0: "N"}}),
    Network("gpt2", 17, t.make_gpt, tokens(50257, 32), "", "twelve causal decoder layers; any batch and length",
            inputs=("input_ids",), dynamic_axes={"input_ids": {0: "N", 1: "T"}, "logits": {0: "N", 1: "T"}},
            recipe=calibrate.plain),
    Network("lstm", 15, t.make_lstm, normal((100, 80), (12, 16)), "head",
            "two bidirectional layers, a label for every step; any batch", batch=2,
            dynamic_axes={"x": {0: "N"}, "logits": {0: "N"}}, recipe=calibrate.plain),
    Network("mlp_b1", 13, t.make_mlp, normal((784,), (64,)), "6", "four matrices, one row"),
    Network("mlp_b64", 16, t.make_mlp, normal((784,), (64,)), "6", "the same, 64 rows", batch=64),
]
