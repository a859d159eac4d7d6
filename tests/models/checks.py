# SPDX-License-Identifier: Apache-2.0
"""Checks that a model's outputs are worth comparing. Each returns a share of the largest |output|."""

import torch
from torch import nn

from onnx_case import run, to_tuple

TOLERANCE = 1e-4      # what comparisons allow, as a share of the largest |output|
MIN_REACTION = 0.3    # two random inputs must differ by this much in every output
MAX_ROUNDING = 2e-5   # f32 against f64: well under the tolerance, as other kernels round differently
CHANGE = 0.01         # of one filter or matrix; it must show in an output by more than the tolerance
SHARE_SEEN = 0.9      # of the filters of each layer that must show
PROBES = 16           # output elements whose gradients estimate the effects, fewer for large models
LARGE = 4_000_000     # weights: from here on there are
PROBES_OF_LARGE = 6
SURE = 3              # an estimate this many times TOLERANCE needs no measurement ...
MIN_MEASURED = 4      # ... but the weakest are measured whatever they promise


def difference(outputs, others):
    """Per output: the largest |a - b| as a share of the largest |a|."""
    return [((a - b).abs().max() / a.abs().max()).item() for a, b in zip(outputs, others)]


def reaction(model, inputs, other_inputs):
    return min(difference(run(model, inputs), run(model, other_inputs)))


def rounding(model, inputs):
    outputs = run(model, inputs)
    wide = run(model.double(), [x.double() if x.is_floating_point() else x for x in inputs])
    model.float()
    return max(difference(wide, outputs))


def matrices(model):
    """(name, weight, whether each row is a filter of its own), for every weight of two or more dimensions."""
    modules = dict(model.named_modules())
    for name, weight in model.named_parameters():
        if weight.dim() >= 2:
            owner = modules[name.rpartition(".")[0]]
            yield name, weight, isinstance(owner, (nn.Conv1d, nn.Conv2d))


def probes(outputs, total):
    """`total` output elements, divided by the largest of their output: half the largest, half at random."""
    chosen = []
    count = total // len(outputs)
    for output in outputs:
        flat = output.flatten() / output.abs().max().detach()
        largest = flat.abs().topk(min(count // 2, flat.numel())).indices
        random = torch.randint(flat.numel(), (count - count // 2,))
        chosen += [flat[i] for i in torch.cat([largest, random])]
    return chosen


def first_order_effects(probe, weights, sizes):
    """What CHANGE of each filter does to `probe`; sizes: how many filters each weight has."""
    gradients = torch.autograd.grad(probe, weights, retain_graph=True, allow_unused=True)
    return [torch.zeros(size) if gradient is None  # this probe does not depend on this weight
            else CHANGE * (gradient * weight).detach().reshape(size, -1).sum(1).abs()
            for gradient, weight, size in zip(gradients, weights, sizes)]


def estimated_effects(model, inputs, head=None):
    """[(name, weight, effects)]: what CHANGE of each filter (or of the matrix) does to the probes, at least.

    First order, from gradients: all filters of all layers at the price of PROBES backward passes. Each
    filter of `head`, where that is a convolution, makes one output alone, and is judged by that one.
    """
    layers = list(matrices(model))
    weights = [weight for _, weight, _ in layers]
    sizes = [len(weight) if rows else 1 for _, weight, rows in layers]
    effects = [torch.zeros(size) for size in sizes]
    outputs = [y for y in to_tuple(model.eval()(*inputs)) if y.requires_grad]  # not an input passed through
    is_large = sum(weight.numel() for weight in weights) >= LARGE
    for probe in probes(outputs, PROBES_OF_LARGE if is_large else PROBES):
        changes = first_order_effects(probe, weights, sizes)
        effects = [torch.maximum(*pair) for pair in zip(effects, changes)]
    if isinstance(head, nn.Conv2d):
        at = next(i for i, weight in enumerate(weights) if weight is head.weight)
        everything = sum((y / y.abs().max().detach()).sum() for y in outputs)
        effects[at] = first_order_effects(everything, [head.weight], [sizes[at]])[0]
    return [(name, weight, effect) for (name, weight, _), effect in zip(layers, effects)]


@torch.no_grad()
def measured_effect(model, inputs, outputs, weight, row):
    """What CHANGE of one filter (row of `weight`, None for all of it) does to the outputs, by running it."""
    part = weight if row is None else weight[row]
    kept = part.clone()
    part.mul_(1 + CHANGE)
    effect = max(difference(outputs, run(model, inputs)))
    part.copy_(kept)
    return effect


def judged(effects):
    """(the effect that a layer is judged by, the row of that filter or None): SHARE_SEEN of its filters exceed it."""
    if len(effects) == 1:
        return effects[0].item(), None
    row = effects.argsort(descending=True)[int(SHARE_SEEN * (len(effects) - 1))].item()
    return effects[row].item(), row


def weakest_layer(model, inputs, head=None):
    """(effect, name) of the layer whose change shows least.

    Estimates are what a few probes show, so the effect on all outputs is larger. They order the layers, and the
    weakest are measured: those not SURE to show, and MIN_MEASURED at least.
    """
    outputs = run(model, inputs)
    layers = [(*judged(effects), name, weight)
              for name, weight, effects in estimated_effects(model, inputs, head)]
    layers.sort(key=lambda layer: layer[0])
    return min((measured_effect(model, inputs, outputs, weight, row), name)
               for k, (estimate, row, name, weight) in enumerate(layers)
               if k < MIN_MEASURED or estimate < SURE * TOLERANCE)


def check(model, inputs, other_inputs, head=None):
    """All checks: ({what: number}, [what is wrong])."""
    effect, layer = weakest_layer(model, inputs, head)
    numbers = {"reaction": reaction(model, inputs, other_inputs), "effect": effect,
               "rounding": rounding(model, inputs)}
    wrong = []
    if not numbers["reaction"] >= MIN_REACTION:  # so written, NaN fails too
        wrong.append(f"two random inputs differ by {numbers['reaction']:.2g} of the largest output, "
                     f"need {MIN_REACTION}")
    if not effect > TOLERANCE:
        wrong.append(f"{CHANGE:.0%} of {layer} changes the outputs by {effect:.2g} of the largest, "
                     f"need {TOLERANCE}")
    if not numbers["rounding"] <= MAX_ROUNDING:
        wrong.append(f"f32 and f64 differ by {numbers['rounding']:.2g} of the largest output, "
                     f"at most {MAX_ROUNDING}")
    return numbers, wrong
