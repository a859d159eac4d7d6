# SPDX-License-Identifier: Apache-2.0
"""Gives a network weights with which its outputs depend on its inputs and on each of its layers.

How a signal gets lost differs: in convolutions, in ReLUs that are never or always active and in gates that
hardly move; in encoders, in attention that averages until all tokens are alike. One recipe for each kind;
checks.py holds the result to its numbers.
"""

import torch
from torch import nn
from torchvision.ops import SqueezeExcitation

from seeding import BATCH_NORMS, CONVS, Target, calibrate_batch_norms, rescaling, seed_weights

BATCHES = 2  # that the statistics of batch norms are averaged over

# Squeeze and excitation, by what makes the gate: the layer that squeezes, and the one that makes the gate's
# input. At mean 0 half of the squeezed values would be cut off, and a gate that hardly moves hides the filters
# that make it; wider ones let rounding grow from block to block. A hard sigmoid is flatter than a smooth one,
# and needs more. Averages over a map hardly vary: channels of equal means would leave nothing but rounding in
# a gate's input.
GATES = {nn.Sigmoid: (Target(mean=2.0, per_channel=False),
                      Target(deviation=1.25, spread=0.5, per_channel=False)),
         nn.Hardsigmoid: (Target(mean=1.5, deviation=0.5, per_channel=False),
                          Target(deviation=4.0, spread=0.5, per_channel=False))}


def hidden_targets(model, target):
    """Layers that no norm follows are rescaled to `target`, as if one did; those of gates to their own."""
    targets = {module: target for module in model.modules()
               if isinstance(module, CONVS + (nn.Linear,)) and module.bias is not None}
    for block in model.modules():
        if isinstance(block, SqueezeExcitation):
            targets[block.fc1], targets[block.fc2] = GATES[type(block.scale_activation)]
    return targets


@torch.no_grad()
def convolutions(model, batch, shift):
    """Norms hold the statistics of `batch`, and `shift` is what they add before a ReLU."""
    seed_weights(model, shift=shift)
    with_norms = any(isinstance(module, BATCH_NORMS) for module in model.modules())
    targets = hidden_targets(model, Target(mean=shift, per_channel=not with_norms))
    return calibrate_batch_norms(model, batch[0].chunk(BATCHES), targets)


@torch.no_grad()
def plain(model, batch, shift):
    """Layer norms and recurrent gates keep signals alive by themselves."""
    seed_weights(model, shift=shift)
    for name, weight in model.named_parameters():
        if name.endswith("class_token"):  # torchvision starts it at zero
            weight.normal_()
    return model


# BERT normalises after each add, so what all tokens share grows from layer to layer until nothing else is
# left. Attention that picks (scores of deviation 4) but adds little, and small biases, keep tokens apart.
ENCODER_GAINS = {"query.weight": 2 ** 0.5, "key.weight": 2 ** 0.5, "value.weight": 0.5, "out.weight": 0.3,
                 "down.weight": 0.5, "bias": 0.25}


@torch.no_grad()
def encoder(model, batch, shift):
    plain(model, batch, shift)
    for name, weight in model.named_parameters():
        for ending, gain in ENCODER_GAINS.items():
            if name.endswith(ending):
                weight.mul_(gain)
    return model
