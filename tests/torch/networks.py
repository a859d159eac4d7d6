# SPDX-License-Identifier: Apache-2.0
"""Definitions of networks with random weights: ResNet-18, MobileNetV3, ViT, BERT layers, an LSTM, GPT-2."""
import torch
from torch import nn
from torch.nn import functional as F


def convolution(n_in, n_out, size, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(n_in, n_out, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(n_out)]
    return nn.Sequential(*layers, *([act(inplace=True)] if act else []))


class Residual(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.body = nn.Sequential(convolution(n_in, n_out, 3, stride), convolution(n_out, n_out, 3, act=None))
        self.short = convolution(n_in, n_out, 1, stride, act=None) if stride != 1 or n_in != n_out else nn.Identity()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.body(x)
        y += self.short(x)
        return self.act(y)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, n_in = [], 64
        for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Residual(n_in, n_out, stride), Residual(n_out, n_out, 1)]
            n_in = n_out
        self.stem, self.pool = convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)
        self.blocks, self.last = nn.Sequential(*blocks), nn.Linear(512, 1000)

    def forward(self, x):
        return self.last(torch.flatten(F.adaptive_avg_pool2d(self.blocks(self.pool(self.stem(x))), 1), 1))


class Squeeze(nn.Module):
    def __init__(self, n):
        super().__init__()
        inner = max(8, n // 4 // 8 * 8)
        self.down, self.up = nn.Conv2d(n, inner, 1), nn.Conv2d(inner, n, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    def __init__(self, n_in, size, n_mid, n_out, squeeze, act, stride):
        super().__init__()
        layers = [convolution(n_in, n_mid, 1, act=act)] if n_mid != n_in else []
        layers += [convolution(n_mid, n_mid, size, stride, n_mid, act)] + ([Squeeze(n_mid)] if squeeze else [])
        self.body = nn.Sequential(*layers, convolution(n_mid, n_out, 1, act=None))
        self.adds = stride == 1 and n_in == n_out

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobileNetV3(nn.Module):
    """The large one."""

    ROWS = ((3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
            (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
            (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1))

    def __init__(self):
        super().__init__()
        blocks, n_in = [convolution(3, 16, 3, 2, act=nn.Hardswish)], 16
        for size, n_mid, n_out, squeeze, hard, stride in self.ROWS:
            blocks.append(Inverted(n_in, size, n_mid, n_out, squeeze, nn.Hardswish if hard else nn.ReLU, stride))
            n_in = n_out
        self.body = nn.Sequential(*blocks, convolution(160, 960, 1, act=nn.Hardswish))
        self.last = nn.Sequential(nn.Linear(960, 1280), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x):
        return self.last(self.body(x).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal

    def forward(self, x, mask=None):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Layer(nn.Module):
    """A layer of a transformer, which normalises before or after."""

    def __init__(self, width, heads, first, causal=False, approximate="none"):
        super().__init__()
        self.attention, self.first = Attention(width, heads, causal), first
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        if self.first:
            x = x + self.attention(self.one(x), mask)
            return x + self.mlp(self.two(x))
        x = self.one(x + self.attention(x, mask))
        return self.two(x + self.mlp(x))


class ViT(nn.Module):
    def __init__(self, width=192, heads=3, depth=12, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.layers = nn.ModuleList(Layer(width, heads, True) for _ in range(depth))
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(y.shape[0], -1, -1), y], 1) + self.places
        for layer in self.layers:
            y = layer(y)
        return self.last(self.norm(y)[:, 0])


class BertLayers(nn.Module):
    def __init__(self, width=768, heads=12, depth=4, words=30522):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, False) for _ in range(depth))

    def forward(self, ids, mask):
        y = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)))
        for layer in self.layers:
            y = layer(y, mask[:, None, None, :] != 0)
        return y


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.last(y[:, -1]), h, c


class Gpt2(nn.Module):
    """GPT-2 of 124 million parameters, whose last product has the words' weights."""

    def __init__(self, width=768, heads=12, depth=12, words=50257):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.layers = nn.ModuleList(Layer(width, heads, True, True, "tanh") for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids):
        y = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            y = layer(y)
        return self.norm(y) @ self.words.weight.t()


def images(n):
    return (torch.randn(n, 3, 224, 224),)


def ids(n, length, words):
    return torch.randint(words, (n, length))


def masked(n):
    mask = torch.ones(n, 64, dtype=torch.long)
    mask[0, 50:] = 0
    return ids(n, 64, 30522), mask


# A network and a function that makes the inputs of a batch.
NETWORKS = {
    "resnet18": (ResNet18, images),
    "mobilenet_v3": (MobileNetV3, images),
    "vit": (ViT, images),
    "bert": (BertLayers, masked),
    "lstm": (Lstm, lambda n: (torch.randn(n, 20, 64),)),
    "gpt2": (Gpt2, lambda n: (ids(n, 32, 50257),)),
}


def settle(module):
    """Gives batch normalisations statistics that are not those of a new module."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.1, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    return module.eval()
