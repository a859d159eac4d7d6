#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small whole models as ONNX Runtime's tools leave them, with ONNX Runtime's results without optimisation.

make_models.py [--folder FOLDER] [--width N] [--inner N]

bert_*: two layers of BERT: after the optimizer of onnxruntime.transformers, in f32, in f16, with MultiHeadAttention, in
8 bits (QAttention); in 8 bits by quantize_dynamic, then optimised at the level EXTENDED. resnet_*: residual blocks,
quantised in the form QOperator, and then optimised at the level ALL, which moves channels to the end. decoder_*: a text
model with weights of 4 bits, for its prompt, and a word after it with a cache that grows, or has a fixed size.

Needs torch, onnx and onnxruntime (`pip install torch onnx onnxruntime`).
"""
import argparse
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions
from torch import nn

from case import computed, store
from decoder import decoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from transformers import EncoderLayer  # noqa: E402

HEADS, LENGTH, WORDS = 4, 12, 60
LEVELS = onnxruntime.GraphOptimizationLevel


class Bert(nn.Module):
    """Ids, segments and a mask to the last hidden state."""

    def __init__(self, width, inner):
        super().__init__()
        self.words, self.places, self.segments = (nn.Embedding(n, width) for n in (WORDS, LENGTH, 2))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer(width, HEADS, inner) for _ in range(2))
        self.register_buffer("position_ids", torch.arange(LENGTH)[None])

    def forward(self, input_ids, token_type_ids, attention_mask):
        bias = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        x = self.words(input_ids) + self.segments(token_type_ids)
        x = self.norm(x + self.places(self.position_ids[:, :input_ids.shape[1]]))
        for layer in self.layers:
            x = layer(x, bias)
        return x


class Block(nn.Module):
    """A residual block; with a stride, the shortcut is a convolution."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, stride, 1)
        self.second = nn.Conv2d(out, out, 3, 1, 1)
        self.short = nn.Conv2d(channels, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2), Block(width, width, 1),
                                  Block(width, 2 * width, 2), nn.AvgPool2d(2, count_include_pad=False))
        self.gate = nn.Conv2d(2 * width, 2 * width, 1)
        self.last = Block(2 * width, 2 * width, 1)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.last(torch.cat([x * torch.sigmoid(self.gate(x)), nn.functional.leaky_relu(self.gate(x), 0.1)], 1)
                      [:, :2 * self.gate.out_channels].chunk(2, 1)[0])
        return self.head(torch.mean(x, (2, 3)))


class Batches(CalibrationDataReader):
    def __init__(self, batches):
        self.left = iter(batches)

    def get_next(self):
        return next(self.left, None)


def exported(path, model, inputs, open_dims=None):
    for module in model.modules():  # weights that show in the outputs
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(module.weight, std=1.4 / module.weight[0].numel() ** 0.5)
            nn.init.normal_(module.bias, std=0.1)
        if isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight, mean=1.0, std=0.2)
            nn.init.normal_(module.bias, std=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), tuple(inputs.values()), str(path), opset_version=13,
                          input_names=list(inputs), output_names=["y"],
                          dynamic_axes={name: open_dims for name in inputs} if open_dims else None)


def optimised(source, path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def fused(source, path, given, half=False, multi_head=False):
    options = FusionOptions("bert")
    options.use_multi_head_attention = multi_head
    model = optimizer.optimize_model(str(source), "bert", num_heads=HEADS, hidden_size=given.width, opt_level=0,
                                     optimization_options=options)
    if half:
        model.convert_float_to_float16()
    model.save_model_to_file(str(path))


def berts(given, work, write):
    torch.manual_seed(1)
    numbers = np.random.default_rng(1)
    mask = np.ones((2, LENGTH), np.int64)
    mask[1, 8:] = 0
    feeds = {"input_ids": numbers.integers(0, WORDS, (2, LENGTH)),
             "token_type_ids": numbers.integers(0, 2, (2, LENGTH)), "attention_mask": mask}
    exported(work / "bert.onnx", Bert(given.width, given.inner),
             {name: torch.tensor(array.tolist()) for name, array in feeds.items()}, {0: "n", 1: "s"})
    for name, how in (("fused", {}), ("fused_f16", {"half": True}), ("multi_head", {"multi_head": True})):
        fused(work / "bert.onnx", work / f"{name}.onnx", given, **how)
        write(f"bert_{name}", work / f"{name}.onnx", feeds)
    quantize_dynamic(work / "fused.onnx", work / "attention.onnx", weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    write("bert_attention_in_8_bits", work / "attention.onnx", feeds)
    for name, kind in (("dynamic", QuantType.QInt8), ("dynamic_u8", QuantType.QUInt8)):
        quantize_dynamic(work / "bert.onnx", work / "integers.onnx", weight_type=kind)
        optimised(work / "integers.onnx", work / f"{name}.onnx", LEVELS.ORT_ENABLE_EXTENDED)
        write(f"bert_{name}", work / f"{name}.onnx", feeds)


def resnets(given, work, write):
    torch.manual_seed(2)
    numbers = np.random.default_rng(2)
    x = numbers.standard_normal((1, 3, 16, 16)).astype(np.float32)
    exported(work / "resnet.onnx", ResNet(given.channels), {"x": torch.tensor(x.tolist())})
    quant_pre_process(str(work / "resnet.onnx"), str(work / "ready.onnx"), skip_symbolic_shape=True)
    batches = [{"x": numbers.standard_normal(x.shape).astype(np.float32)} for _ in range(8)]
    for name, kind, per_channel in (("u8", QuantType.QUInt8, False), ("channels", QuantType.QUInt8, True),
                                    ("i8", QuantType.QInt8, True)):
        quantize_static(work / "ready.onnx", work / f"{name}.onnx", Batches(batches),
                        quant_format=QuantFormat.QOperator, activation_type=kind, weight_type=QuantType.QInt8,
                        per_channel=per_channel)
        write(f"resnet_{name}", work / f"{name}.onnx", {"x": x})
    quantize_static(work / "ready.onnx", work / "qdq.onnx", Batches(batches), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
    optimised(work / "qdq.onnx", work / "last.onnx", LEVELS.ORT_ENABLE_ALL)
    write("resnet_channels_last", work / "last.onnx", {"x": x})


def decoders(work, write):
    for name, how in (("prompt", (6, 0, 12)), ("joined", (1, 5, 5)), ("fixed", (1, 5, 12))):
        model, feeds = decoder(2, *how)
        onnx.save(model, work / "decoder.onnx")
        write(f"decoder_{name}", work / "decoder.onnx", feeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "models")
    parser.add_argument("--width", type=int, default=32, help="of BERT")
    parser.add_argument("--inner", type=int, default=64, help="of its feed-forward part")
    parser.add_argument("--channels", type=int, default=8, help="of the residual network")
    given = parser.parse_args()

    def write(name, source, feeds):
        folder = given.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "test_data_set_0").mkdir(parents=True)
        model = onnx.load(source)
        types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
        for value in model.graph.input:  # the optimizer recognises positions by open sizes
            for dim, extent in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape):
                dim.dim_value = extent
        fed = {key: array.astype(onnx.helper.tensor_dtype_to_np_dtype(types[key])) for key, array in feeds.items()}
        onnx.save(model, folder / "model.onnx")
        store(folder, "input", fed)
        store(folder, "output", dict(zip([value.name for value in model.graph.output], computed(model, fed))))
        own = sorted({node.op_type for node in model.graph.node if node.domain})
        print(f"{name:26} {(folder / 'model.onnx').stat().st_size:8} bytes: {' '.join(own)}")

    with tempfile.TemporaryDirectory() as work:
        decoders(Path(work), write)
        berts(given, Path(work), write)
        resnets(given, Path(work), write)


if __name__ == "__main__":
    main()
