# SPDX-License-Identifier: Apache-2.0
"""Transformer parts written the way the common BERT and GPT-2 implementations write them.

Attention is spelled out (matmul, softmax, matmul), so that exports hold the subgraphs users have.
"""

import math

import torch
from torch import nn


def split_heads(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).permute(0, 2, 1, 3)


def join_heads(x):
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(x.shape[0], x.shape[1], -1)


class EncoderLayer(nn.Module):
    """BERT's layer: attention and feed-forward with erf gelu, each followed by add and layer norm."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def attention(self, x, bias):
        q, k, v = (split_heads(part(x), self.heads) for part in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        return self.out(join_heads(torch.matmul(torch.softmax(scores, dim=-1), v)))

    def forward(self, x, bias=None):
        x = self.norm1(x + self.attention(x, bias))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class BertEncoder(nn.Module):
    """Token ids and attention mask (1: read, 0: padding) to the last hidden state and the pooled first token."""

    def __init__(self, vocabulary, positions, width, heads, hidden, layers):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.types = nn.Embedding(2, width)
        self.register_buffer("position_ids", torch.arange(positions)[None])
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, hidden) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask):
        x = self.words(input_ids) + self.positions(self.position_ids[:, :input_ids.shape[1]])
        x = self.norm(x + self.types(torch.zeros_like(input_ids)))
        bias = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Conv1D(nn.Module):
    """GPT-2's linear layer: the weight is [in, out] and goes through addmm on two-dimensional data."""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width_in, width_out) / width_in ** 0.5)
        self.bias = nn.Parameter(0.1 * torch.randn(width_out))

    def forward(self, x):
        shape = x.shape[:-1] + (self.bias.shape[0],)
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(shape)


def tanh_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class DecoderLayer(nn.Module):
    """GPT-2's layer: layer norm before causal attention and before the feed-forward with tanh gelu."""

    def __init__(self, positions, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = Conv1D(width, 3 * width), Conv1D(width, width)
        self.up, self.down = Conv1D(width, 4 * width), Conv1D(4 * width, width)
        causal = torch.ones(positions, positions, dtype=torch.bool).tril()
        self.register_buffer("causal", causal[None, None])

    def attention(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.attend(x).split(x.shape[-1], dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(v.shape[-1])
        length = x.shape[1]
        lowest = torch.tensor(-1e4, dtype=scores.dtype)
        scores = torch.where(self.causal[:, :, :length, :length], scores, lowest)
        return self.project(join_heads(torch.matmul(torch.softmax(scores, dim=-1), v)))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(tanh_gelu(self.up(self.norm2(x))))


class GptDecoder(nn.Module):
    """Token ids to the logits of the next token at every position; no cache of keys and values."""

    def __init__(self, vocabulary, positions, width, heads, layers):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.layers = nn.ModuleList(DecoderLayer(positions, width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.shape[1])[None]
        x = self.words(input_ids) + self.positions(position_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
