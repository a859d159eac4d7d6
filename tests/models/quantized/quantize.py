#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantises a network of one image to 8 bits by ONNX Runtime's tool.

    python3 quantize.py networks/resnet50/model.onnx resnet50_int8.onnx

u8 for activations, i8 with a scale per channel for weights: what ONNX Runtime's documentation
recommends for CPUs with VNNI. Those without need --reduce-range, as its products of u8 and i8
saturate there; byoc's are exact everywhere.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

FORMATS = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}
TYPES = {"u8": QuantType.QUInt8, "i8": QuantType.QInt8}


class Images(CalibrationDataReader):
    """Images of the distribution that the networks' statistics were computed of."""

    def __init__(self, value, count):
        shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        random = np.random.default_rng(0)
        self.batches = iter([{value.name: random.standard_normal(shape).astype(np.float32)}
                             for _ in range(count)])

    def get_next(self):
        return next(self.batches, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the float network")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--images", type=int, default=16, help="number of images for calibration")
    parser.add_argument("--format", choices=FORMATS, default="qdq")
    parser.add_argument("--activations", choices=TYPES, default="u8")
    parser.add_argument("--per-tensor", action="store_true", help="one scale per weight")
    parser.add_argument("--reduce-range", action="store_true", help="weights of 7 bits")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folded = Path(folder) / "folded.onnx"  # batch norms are part of the weights
        quant_pre_process(args.model, folded, skip_symbolic_shape=True)
        images = Images(onnx.load(folded).graph.input[0], args.images)
        quantize_static(folded, args.out, images, quant_format=FORMATS[args.format],
                        per_channel=not args.per_tensor, reduce_range=args.reduce_range,
                        activation_type=TYPES[args.activations], weight_type=QuantType.QInt8)
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
