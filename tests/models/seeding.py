# SPDX-License-Identifier: Apache-2.0
"""Seeded weights that make an untrained network react to its input like a trained one.

Fresh weights give outputs that hardly depend on the input, and a test on such outputs passes whatever
the kernels do. Here batch norms hold the statistics of their inputs, layers without one are scaled as
if they had one folded in, and heads are centred: what stays in the output is what depends on the input.
"""

from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
CONVS = (nn.Conv1d, nn.Conv2d)

# A filter's mean response to rectified inputs, in deviations of that response. At 0 a channel of mean
# zero is as likely as any other, and scaling its filter shows nowhere: 5 % of the filters of ResNet-50
# then change no output by 1e-4 of the largest. At 2 it is 0.4 %.
LEAN = 2.0

# The shift of a batch norm that a ReLU follows. At 0 every ReLU amplifies rounding differences: after
# ResNet-50's 49 of them f32 and f64 differ by 1e-4 of the largest output. At 1 it is 1e-5.
SHIFT = 1.0


def fan_in(weight):
    return weight[0].numel()


def signs(count):
    return torch.randint(0, 2, (count,)) * 2.0 - 1.0


@torch.no_grad()
def seed_weights(model, gain=2.0 ** 0.5, shift=SHIFT, embedding_std=1.0):
    """Weights of deviation gain / sqrt(fan_in); norms with scales near 1 and shifts near `shift`."""
    for module in model.modules():
        if isinstance(module, CONVS + (nn.Linear,)):
            std = gain / fan_in(module.weight) ** 0.5
            module.weight.normal_(0, std)
            if isinstance(module, CONVS):
                lean = signs(module.out_channels) * LEAN * std / fan_in(module.weight) ** 0.5
                module.weight.add_(lean.reshape(-1, *[1] * (module.weight.dim() - 1)))
            if module.bias is not None:
                module.bias.normal_(0, 0.1)
        elif isinstance(module, BATCH_NORMS):
            module.weight.uniform_(0.7, 1.3)
            module.bias.normal_(shift, 0.2)
        elif isinstance(module, nn.LayerNorm):
            module.weight.uniform_(0.7, 1.3)
            module.bias.normal_(0, 0.2)
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0, embedding_std)
    return model


class Target(NamedTuple):
    """What a layer's outputs are rescaled to: this mean, and this deviation around it.

    per_channel: in each channel by itself, as a folded batch norm does; otherwise over all of them.
    spread: how much the means of channels differ.
    """

    mean: float = 0.0
    deviation: float = 1.0
    per_channel: bool = True
    spread: float = 0.0


def rescale(layer, output, target):
    """Gives `layer` (a convolution or linear layer with a bias) outputs like `target`; returns them."""
    channel = 1 if isinstance(layer, CONVS) else output.dim() - 1
    rows = output.transpose(0, channel).flatten(1)
    centre = rows.mean(1)
    spread = (rows.std(1) if target.per_channel else rows.std().expand_as(centre)) / target.deviation
    layer.weight.div_(spread.reshape(-1, *[1] * (layer.weight.dim() - 1)))
    mean = torch.full_like(centre, target.mean)
    if target.spread:
        mean.add_(target.spread * torch.randn(len(mean)))
    layer.bias.sub_(centre).div_(spread).add_(mean)
    shape = [-1 if axis == channel else 1 for axis in range(output.dim())]
    return (output - centre.reshape(shape)) / spread.reshape(shape) + mean.reshape(shape)


@contextmanager
def rescaling(targets):
    """While this lasts, every layer of `targets` is rescaled as it runs, so that those after it see the result."""
    hooks = [layer.register_forward_hook(lambda layer, _, output: rescale(layer, output, targets[layer]))
             for layer in targets]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def calibrate_batch_norms(model, batches, targets=None):
    """Running statistics become the average over train-mode batches. Dropout stays off.

    The first batch also rescales the layers of `targets`.
    """
    model.eval()
    norms = [m for m in model.modules() if isinstance(m, BATCH_NORMS)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average of all batches
        norm.train()
    for k, batch in enumerate(batches):
        with rescaling(targets if targets and k == 0 else {}):
            model(batch)
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    return model.eval()


@torch.no_grad()
def standardise(model, layers, batch, mean=0.0, per_channel=True):
    """Rescales `layers`, each as it runs, so that their outputs get deviation 1 and the given mean."""
    with rescaling({layer: Target(mean, per_channel=per_channel) for layer in layers}):
        model.eval()(batch)
    return model
