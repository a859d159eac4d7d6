#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantises the digits CNN to 8 bits and writes model_int8.onnx and what ONNX Runtime computes with it.

model_dynamic.onnx finds the scales of activations in each run: ConvInteger and MatMulInteger.

    python3 quantize.py              write here (seconds)
    python3 quantize.py --out DIR    write somewhere else

Needs onnxruntime >= 1.17, onnx, numpy. Same versions, same bytes.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

HERE = Path(__file__).resolve().parent
CALIBRATION_COUNT = 100  # of the held-out images, from the end; the accuracy is that of the others


class Images(CalibrationDataReader):
    def __init__(self, images):
        self.batches = iter([{"image": image[None]} for image in images])

    def get_next(self):
        return next(self.batches, None)


def run(path, images):
    onnx.checker.check_model(onnx.load(path))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"image": images})[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: this one)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    images, labels = np.load(HERE / "images.npy"), np.load(HERE / "labels.npy")
    path = out / "model_int8.onnx"
    with tempfile.TemporaryDirectory() as folder:
        folded = Path(folder) / "folded.onnx"  # batch norms are part of the weights
        quant_pre_process(HERE / "model.onnx", folded, skip_symbolic_shape=True)
        # u8 for activations, i8 with a scale per channel for weights. The softmax stays float.
        quantize_static(folded, path, Images(images[-CALIBRATION_COUNT:]), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        op_types_to_quantize=["Conv", "Relu", "Gemm", "Add", "MaxPool", "GlobalAveragePool"])
        dynamic = out / "model_dynamic.onnx"
        quantize_dynamic(folded, dynamic, per_channel=True, weight_type=QuantType.QInt8,
                         op_types_to_quantize=["Conv", "Gemm", "MatMul"])
    test, right = images[:-CALIBRATION_COUNT], labels[:-CALIBRATION_COUNT]
    outputs = run(path, test)
    np.save(out / "outputs_int8.npy", outputs)
    np.save(out / "outputs_dynamic.npy", run(dynamic, test))
    correct = int((outputs.argmax(axis=1) == right).sum())
    expected = {"accuracy": round(correct / len(right), 6), "correct": correct, "count": len(right)}
    (out / "expected_int8.json").write_text(json.dumps(expected, indent=2) + "\n")
    print(f"{correct} of {len(right)} right ({expected['accuracy']:.4f}), {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
