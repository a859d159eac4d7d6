# SPDX-License-Identifier: Apache-2.0
"""ONNX's LSTM for onnx2torch, which has none: the op becomes torch.nn.LSTM."""

import torch
from onnx2torch.node_converters.registry import add_converter
from onnx2torch.utils.common import OnnxMapping, OperationConverterResult

TAKEN = {"hidden_size", "direction"}  # other attributes change what is computed


def in_torchs_order(rows):
    """ONNX stacks the gates as input, output, forget, cell; torch as input, forget, cell, output."""
    i, o, f, c = rows.chunk(4)
    return torch.cat([i, f, c, o])


class Lstm(torch.nn.Module):
    def __init__(self, w, r, b):
        super().__init__()
        directions, _, inputs = w.shape
        hidden = r.shape[-1]
        self.lstm = torch.nn.LSTM(inputs, hidden, bidirectional=directions == 2)
        with torch.no_grad():
            for d, suffix in enumerate(["", "_reverse"][:directions]):
                sources = (("weight_ih", w[d]), ("weight_hh", r[d]), ("bias_ih", b[d, :4 * hidden]),
                           ("bias_hh", b[d, 4 * hidden:]))
                for name, source in sources:
                    getattr(self.lstm, f"{name}_l0{suffix}").copy_(in_torchs_order(source))

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        steps, batch, _ = y.shape
        return y.view(steps, batch, h.shape[0], -1).transpose(1, 2), h, c


def convert(node, graph):
    values = list(node.input_values) + [""] * (8 - len(node.input_values))
    x, w, r, b, lengths, h, c, peepholes = values
    if lengths or peepholes or not (b and h and c) or set(node.attributes) - TAKEN:
        raise NotImplementedError(f"LSTM {node.name} with operands or attributes that torch.nn.LSTM does not have")
    if node.attributes.get("direction", "forward") == "reverse":
        raise NotImplementedError(f"LSTM {node.name} runs in reverse alone")
    weights = [graph.initializers[name].to_torch() for name in (w, r, b)]
    mapping = OnnxMapping(inputs=(x, h, c), outputs=tuple(node.output_values))
    return OperationConverterResult(torch_module=Lstm(*weights), onnx_mapping=mapping)


def register():
    for version in (7, 14, 22):
        add_converter("LSTM", version)(convert)
