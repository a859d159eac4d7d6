# SPDX-License-Identifier: Apache-2.0
"""A decoder with caches in plain numpy and f64, by the definitions of its operators. It reads nothing of byoc."""
import numpy as np
import onnx
from onnx import numpy_helper

EPSILON = 1e-5                                             # the default of RMSNormalization


class BeyondTheMaximum(Exception):
    """Rows that the caches have no place for. The caches are as before."""


def normalised(x, scale):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * scale


def turned(x, cos, sin):
    """Rotates the halves of each head; x is [heads, T, size], cos and sin are [T, size / 2]."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attended(q, keys, values, start):
    """Returns [heads, T, size]. Query t sees the keys up to row start + t; heads share keys in groups."""
    group = len(q) // len(keys)
    keys, values = keys.repeat(group, axis=0), values.repeat(group, axis=0)
    scores = q @ keys.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    rows = np.arange(keys.shape[1])
    scores = np.where(rows <= start + np.arange(q.shape[1])[:, None], scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ values


class Decoder:
    """The weights of a file of bench/decode/decoder.py, without its graph."""

    def __init__(self, path, layers, heads, kv_heads, length):
        tensors = onnx.load(path).graph.initializer
        self.weights = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in tensors}
        self.layers, self.heads, self.kv_heads, self.length = layers, heads, kv_heads, length
        self.size = self.weights["embedding"].shape[1] // heads

    def product(self, x, name):
        return x @ self.weights[f"{name}_weight"]

    def split(self, x, name, heads):
        return self.product(x, name).reshape(len(x), heads, self.size).transpose(1, 0, 2)


class Context:
    """The caches of one text: [2, layers, kv_heads, length, size], keys first."""

    def __init__(self, decoder):
        self.decoder = decoder
        self.reset()

    def reset(self):
        d = self.decoder
        self.caches = np.zeros((2, d.layers, d.kv_heads, d.length, d.size))

    def run(self, tokens, start):
        """Writes the rows of the tokens at `start`, and returns the logits of the last one."""
        if start < 0 or start + len(tokens) > self.decoder.length:
            raise BeyondTheMaximum
        d, x = self.decoder, self.decoder.weights["embedding"][tokens]
        for k in range(d.layers):
            x = self.layer(k, x, start)
        return normalised(x[-1], d.weights["norm_scale"]) @ d.weights["head"]

    def layer(self, k, x, start):
        d, end = self.decoder, start + len(x)
        w = d.weights
        inside = normalised(x, w[f"layer{k}_norm_scale"])
        cos, sin = w["cos"][start:end], w["sin"][start:end]
        q = turned(d.split(inside, f"layer{k}_q", d.heads), cos, sin)
        self.caches[0, k, :, start:end] = turned(d.split(inside, f"layer{k}_k", d.kv_heads), cos, sin)
        self.caches[1, k, :, start:end] = d.split(inside, f"layer{k}_v", d.kv_heads)
        seen = attended(q, self.caches[0, k, :, :end], self.caches[1, k, :, :end], start)
        x = x + d.product(seen.transpose(1, 0, 2).reshape(len(x), -1), f"layer{k}_o")
        inside = normalised(x, w[f"layer{k}_norm2_scale"])
        gate = d.product(inside, f"layer{k}_gate")
        return x + d.product(gate / (1 + np.exp(-gate)) * d.product(inside, f"layer{k}_up"), f"layer{k}_down")
