#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits CNN and writes everything in this folder but the text files.

    python3 train.py              retrain and write here (under a minute on one core)
    python3 train.py --out DIR    write somewhere else

Needs torch >= 1.13, scikit-learn, onnx, numpy. Same versions, same bytes.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from onnx_case import write_case  # noqa: E402

SEED = 20
TEST_COUNT = 360
EPOCHS = 40
BATCH = 64
OPSET = 13


class ConvBlock(nn.Sequential):
    def __init__(self, c_in, c_out):
        super().__init__(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
                         nn.BatchNorm2d(c_out), nn.ReLU())


class Digits(nn.Module):
    """Six convolutions (one strided), a residual add, a max pool, a global average pool, gemm, softmax."""

    def __init__(self):
        super().__init__()
        self.stem = ConvBlock(1, 16)
        self.block = ConvBlock(16, 16)
        self.conv = nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2)
        self.wide = ConvBlock(16, 32)
        self.down = nn.Conv2d(32, 32, 3, stride=2, padding=1)  # has a bias and no batch norm
        self.top = ConvBlock(32, 32)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(32, 10)

    def logits(self, x):
        x = self.stem(x)
        x = self.pool(torch.relu(x + self.norm(self.conv(self.block(x)))))
        x = self.top(torch.relu(self.down(self.wide(x))))
        return self.head(torch.flatten(self.average(x), 1))

    def forward(self, x):
        return torch.softmax(self.logits(x), dim=1)


def load():
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)  # pixels 0..16 -> [0, 1]
    return train_test_split(images, digits.target.astype(np.int64), test_size=TEST_COUNT,
                            stratify=digits.target, random_state=SEED)


def train(images, labels):
    model = Digits()
    # Label smoothing keeps the stored probabilities away from 0 and 1, where they would hide errors.
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    batches = -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=EPOCHS * batches)
    for _ in range(EPOCHS):
        for index in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss(model.logits(images[index]), labels[index]).backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: this one)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    train_images, test_images, train_labels, test_labels = load()
    model = train(torch.from_numpy(train_images), torch.from_numpy(train_labels))
    with torch.no_grad():
        outputs = model(torch.from_numpy(test_images)).numpy()
    correct = int((outputs.argmax(axis=1) == test_labels).sum())

    path, _ = write_case(out, model, (torch.from_numpy(test_images[:8]),), ["image"], ["probabilities"],
                         OPSET, dynamic_axes={"image": {0: "N"}, "probabilities": {0: "N"}}, keep_batch_norm=True)
    np.save(out / "images.npy", test_images)
    np.save(out / "labels.npy", test_labels)
    np.save(out / "outputs.npy", outputs)
    expected = {"accuracy": round(correct / len(test_labels), 6), "correct": correct, "count": len(test_labels)}
    (out / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")
    print(f"{correct} of {len(test_labels)} right ({expected['accuracy']:.4f}), {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
