# SPDX-License-Identifier: Apache-2.0
"""Tests that checks.py refuses the models it is there to refuse."""

import sys
import unittest
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import check  # noqa: E402


class Branches(nn.Module):
    """A linear layer and a second one that counts for `share`, and what is added to and taken off the sum again."""

    def __init__(self, share=1.0, constant=0.0, offset=0.0):
        super().__init__()
        self.wide, self.faint = nn.Linear(8, 8), nn.Linear(8, 8)
        self.share, self.constant, self.offset = share, constant, offset

    def forward(self, x):
        y = self.wide(x) + self.share * self.faint(x) + self.constant
        return (y + self.offset) - self.offset


def problems(model):
    torch.manual_seed(0)
    for layer in (model.wide, model.faint):
        nn.init.normal_(layer.weight)
    return check(model, (torch.randn(1, 8),), (torch.randn(1, 8),))[1]


class Checks(unittest.TestCase):
    def test_accepts_a_model_that_reacts_to_inputs_and_layers(self):
        self.assertEqual(problems(Branches()), [])

    def test_refuses_outputs_that_hardly_depend_on_the_input(self):
        self.assertRegex(problems(Branches(constant=100.0))[0], "^two random inputs differ by")

    def test_names_a_layer_that_hardly_shows(self):
        self.assertRegex(problems(Branches(share=1e-4))[0], "^1% of faint.weight changes the outputs by")

    def test_refuses_outputs_that_are_mostly_rounding(self):
        self.assertRegex(problems(Branches(offset=1e5))[0], "^f32 and f64 differ by")


if __name__ == "__main__":
    unittest.main()
