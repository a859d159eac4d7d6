# SPDX-License-Identifier: Apache-2.0
"""Small networks of the kinds that are quantised most, with weights that react to their input."""

import sys
from functools import partial
from pathlib import Path
from typing import Callable, NamedTuple, Tuple

import torch
from torch import nn
from torchvision import models
from torchvision.models import resnet, swin_transformer

MODELS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MODELS), str(MODELS / "networks")]
import calibrate  # noqa: E402
from seeding import calibrate_batch_norms, seed_weights  # noqa: E402

CLASSES = 10


class NarrowResNet(resnet.ResNet):
    """A ResNet whose stages have a share of the channels."""

    def __init__(self, *args, narrower, **kwargs):
        self.narrower = narrower
        super().__init__(*args, **kwargs)
        self.fc = nn.Linear(512 // narrower, CLASSES)

    def _make_layer(self, block, planes, *args, **kwargs):
        return super()._make_layer(block, planes // self.narrower, *args, **kwargs)


def mobilenet_v2():
    settings = [[1, 8, 1, 1], [6, 8, 2, 2], [6, 16, 2, 2], [6, 16, 1, 1], [6, 24, 2, 2]]
    model = models.MobileNetV2(num_classes=CLASSES, width_mult=0.5, inverted_residual_setting=settings)
    channels = model.features[-1][0].in_channels
    model.features[-1] = type(model.features[-1])(channels, 64, kernel_size=1, norm_layer=nn.BatchNorm2d,
                                                  activation_layer=nn.ReLU6)
    model.classifier[1] = nn.Linear(64, CLASSES)
    return model


def squeezenet():
    model = models.SqueezeNet("1_1", num_classes=CLASSES)

    def narrow(conv):
        wide_in, wide_out = conv is model.features[0], conv is model.classifier[1]
        return nn.Conv2d(3 if wide_in else conv.in_channels // 8, CLASSES if wide_out else conv.out_channels // 8,
                         conv.kernel_size, conv.stride, conv.padding)

    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Conv2d):
                setattr(module, name, narrow(child))
    return model


class Swin(nn.Module):
    """Patches, two blocks of windows (the second shifted), merged patches, a head."""

    def __init__(self, width=16, heads=2, window=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.norm = nn.LayerNorm(width)
        block = partial(swin_transformer.SwinTransformerBlock, width, heads, [window, window], mlp_ratio=2.0)
        self.plain, self.shifted = block(shift_size=[0, 0]), block(shift_size=[window // 2, window // 2])
        self.merge = swin_transformer.PatchMerging(width)
        self.last = nn.LayerNorm(2 * width)
        self.head = nn.Linear(2 * width, CLASSES)

    def forward(self, x):
        x = self.norm(self.patches(x).permute(0, 2, 3, 1))
        x = self.last(self.merge(self.shifted(self.plain(x))))
        return self.head(x.mean((1, 2)))


def conv_bn(c, o, kernel=3, stride=1, activation=nn.ReLU):
    return nn.Sequential(nn.Conv2d(c, o, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(o), activation())


class UNet(nn.Module):
    """Two levels down and up: transposed convolution, then interpolation; a mask per pixel."""

    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Sequential(conv_bn(3, width), conv_bn(width, width))
        self.second = nn.Sequential(conv_bn(width, 2 * width), conv_bn(2 * width, 2 * width))
        self.bottom = conv_bn(2 * width, 4 * width)
        self.up = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.joined = conv_bn(4 * width, width)
        self.wider = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.last = conv_bn(2 * width, width)
        self.mask = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        first = self.first(x)
        second = self.second(nn.functional.max_pool2d(first, 2))
        x = self.up(self.bottom(nn.functional.max_pool2d(second, 2)))
        x = self.joined(torch.cat([x, second], 1))
        x = self.last(torch.cat([self.wider(x), first], 1))
        return torch.sigmoid(self.mask(x))


class WaveNet(nn.Module):
    """Gated convolutions over a signal, dilated by 1, 2, 4 and 8, with residuals and skips."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2 ** k) for k in range(4))
        self.residuals = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, 8, 1))

    def forward(self, x):
        x, total = self.first(x), 0
        for k, (gate, residual, skip) in enumerate(zip(self.gates, self.residuals, self.skips)):
            a, b = gate(nn.functional.pad(x, (2 ** k, 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(y)
            x = x + residual(y)
        return self.last(total)


class Csp(nn.Module):
    """Half of the channels through a bottleneck, all joined again."""

    def __init__(self, c):
        super().__init__()
        self.one, self.two = conv_bn(c, c // 2, 1, activation=nn.SiLU), conv_bn(c, c // 2, 1, activation=nn.SiLU)
        self.inner = nn.Sequential(conv_bn(c // 2, c // 2, 1, activation=nn.SiLU),
                                   conv_bn(c // 2, c // 2, activation=nn.SiLU))
        self.join = conv_bn(c, c, 1, activation=nn.SiLU)

    def forward(self, x):
        y = self.one(x)
        return self.join(torch.cat([y + self.inner(y), self.two(x)], 1))


class Yolo(nn.Module):
    """A detector of one anchor per cell on two grids: boxes from the sigmoids of a split head."""

    def __init__(self, width=8):
        super().__init__()
        conv = partial(conv_bn, activation=nn.SiLU)
        self.stem = nn.Sequential(conv(3, width, stride=2), conv(width, 2 * width, stride=2), Csp(2 * width))
        self.deep = nn.Sequential(conv(2 * width, 4 * width, stride=2), Csp(4 * width))
        self.pools = nn.ModuleList(nn.MaxPool2d(3, 1, 1) for _ in range(3))
        self.pooled = conv(16 * width, 4 * width, 1)
        self.up = nn.Sequential(conv(4 * width, 2 * width, 1), nn.Upsample(scale_factor=2))
        self.joined = conv(4 * width, 2 * width)
        self.heads = nn.ModuleList(nn.Conv2d(c, 5 + 3, 1) for c in (2 * width, 4 * width))

    def boxes(self, y, stride):
        y = torch.sigmoid(y).permute(0, 2, 3, 1)
        n, h, w, _ = y.shape
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        place, size, scores = y.split((2, 2, 4), 3)
        place = (place * 2 - 0.5 + torch.stack([columns, rows], 2).float()) * stride
        return torch.cat([place, (size * 2) ** 2 * stride, scores], 3).reshape(n, h * w, 8)

    def forward(self, x):
        fine = self.stem(x)
        coarse = maps = self.deep(fine)
        for pool in self.pools:
            maps = pool(maps)
            coarse = torch.cat([coarse, maps], 1)
        coarse = self.pooled(coarse)
        fine = self.joined(torch.cat([self.up(coarse), fine], 1))
        return torch.cat([self.boxes(self.heads[0](fine), 4.0), self.boxes(self.heads[1](coarse), 8.0)], 1)


@torch.no_grad()
def with_norms(model, batch, shift):
    """Norms hold the statistics of the batch; layers without one keep their seeded weights."""
    seed_weights(model, shift=shift)
    return calibrate_batch_norms(model, batch[0].chunk(2))


class Network(NamedTuple):
    name: str
    make: Callable[[], nn.Module]
    shape: Tuple[int, ...]  # of one input
    about: str
    recipe: Callable = calibrate.convolutions
    opset: int = 13


NETWORKS = [
    Network("mobilenet_v2", mobilenet_v2, (3, 32, 32), "depthwise convolutions, relu6"),
    Network("resnet18", lambda: NarrowResNet(resnet.BasicBlock, [2, 2, 2, 2], narrower=16), (3, 32, 32),
            "residual blocks"),
    Network("squeezenet", squeezenet, (3, 48, 48), "fire modules, concats, pools that round up"),
    Network("swin", Swin, (3, 32, 32), "windows of attention, shifted by slices and concats", calibrate.plain, 17),
    Network("unet", UNet, (3, 24, 24), "transposed convolution, interpolation, joined levels", with_norms),
    Network("wavenet", WaveNet, (1, 48), "dilated convolutions of a signal, gates, skips", calibrate.plain),
    Network("yolo", Yolo, (3, 32, 32), "split stages, pools, boxes", with_norms),
]


def build(network, images):
    """(the model, `images` batches of one input for calibration, others for comparison)."""
    torch.manual_seed(1)
    model = network.make().eval()
    network.recipe(model, (torch.randn(32, *network.shape),), 1.0)
    return model.eval(), torch.randn(images, 1, *network.shape), torch.randn(images, 1, *network.shape)
