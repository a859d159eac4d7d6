#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small networks and quantises each by ONNX Runtime's tool, with ONNX Runtime's results.

    python3 make_zoo.py --output-dir zoo                       all networks, five forms each
    python3 make_zoo.py --output-dir zoo --only yolo --forms u8 dynamic
    python3 make_zoo.py --stored                               those of the folder stored/, anew

Writes DIR/NAME_FORM/ with model.onnx, float.onnx, input_K.npy and expected_K.npy: the inputs, and what
ONNX Runtime computes without optimisations, in the order of the model's inputs and outputs. The folders
stored/NAME have instead inputs.npy, i8 in steps of 1/32, and per form FORM.onnx, FORM.npy, ONNX Runtime's
results without and with all optimisations, and FORM_spread.npy, the step of the output and ONNX Runtime's
own spread in steps (compare_zoo.py).
"""

import argparse
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

from networks import NETWORKS, build
from runtime import LEVELS, all_results, output_steps, results, spread_of

HERE = Path(__file__).resolve().parent
CALIBRATION = 16
STORED_INPUTS, SPREAD_INPUTS = 6, 32
# A model of each kind of op in each form, within 2 MB.
STORED = {"u8_channels": None, "dynamic": None, "i8": ("mobilenet_v2", "squeezenet", "unet", "wavenet", "yolo")}


class Form(NamedTuple):
    activations: QuantType
    per_channel: bool = False
    is_dynamic: bool = False


FORMS = {
    "u8": Form(QuantType.QUInt8),
    "u8_channels": Form(QuantType.QUInt8, per_channel=True),
    "i8": Form(QuantType.QInt8),
    "i8_channels": Form(QuantType.QInt8, per_channel=True),
    "dynamic": Form(QuantType.QUInt8, is_dynamic=True),
}


class Batches(CalibrationDataReader):
    def __init__(self, batches):
        self.left = iter([{"x": batch.numpy()} for batch in batches])

    def get_next(self):
        return next(self.left, None)


def export(model, sample, path, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns about every shape it reads; shapes are fixed here
        torch.onnx.export(model, (sample,), str(path), opset_version=opset, input_names=["x"],
                          output_names=["y"])


def quantise(plain, out, form, batches):
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        if form.is_dynamic:
            quantize_dynamic(prepared, out, per_channel=form.per_channel, weight_type=QuantType.QInt8)
        else:
            quantize_static(prepared, out, Batches(batches), quant_format=QuantFormat.QDQ,
                            per_channel=form.per_channel, activation_type=form.activations,
                            weight_type=QuantType.QInt8)


def write(network, form, folder):
    """Writes one folder; returns the size of the model in bytes."""
    model, calibration, images = build(network, CALIBRATION)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    export(model, images[0], folder / "float.onnx", network.opset)
    quantise(folder / "float.onnx", folder / "model.onnx", FORMS[form], calibration)
    feeds = {"x": images[0].numpy()}
    np.save(folder / "input_0.npy", feeds["x"])
    for k, value in enumerate(results(folder / "model.onnx", LEVELS[0], 1, [feeds])[0]):
        np.save(folder / f"expected_{k}.npy", value)
    return (folder / "model.onnx").stat().st_size


def store(network, form, folder):
    """Writes the files of one form; returns the size of the model in bytes."""
    model, calibration, images = build(network, CALIBRATION)
    random = np.random.default_rng(3)
    steps = np.clip(np.rint(random.standard_normal((SPREAD_INPUTS, *images.shape[1:])) * 32), -128, 127)
    feeds = [{"x": (image / 32).astype(np.float32)} for image in steps]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{form}.onnx"
    with tempfile.TemporaryDirectory() as temporary:
        plain = Path(temporary) / "float.onnx"
        export(model, images[0], plain, network.opset)
        quantise(plain, path, FORMS[form], calibration)
        same = Path(temporary) / "same.onnx"  # with u8 activations
        quantise(plain, same, FORMS[form.replace("i8", "u8")], calibration)
        paths = [path, same] if form.startswith("i8") else [path]
        runs = all_results(paths, feeds)
        step = output_steps(path, runs[0])
        spread = spread_of(paths, feeds, runs, step)
    np.save(folder / "inputs.npy", steps[:STORED_INPUTS].astype(np.int8))
    stored = [[outputs[0] for outputs in run[:STORED_INPUTS]] for run in (runs[0], runs[-1])]
    np.save(folder / f"{form}.npy", np.array(stored))
    np.save(folder / f"{form}_spread.npy", np.array([step[0], spread], np.float32))
    return path.stat().st_size


def main():
    names = [network.name for network in NETWORKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output-dir", type=Path, default=Path("zoo"))
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--stored", action="store_true", help="write the folders of stored/")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.stored:
        for form, only in STORED.items():
            for network in [n for n in NETWORKS if only is None or n.name in only]:
                size = store(network, form, HERE / "stored" / network.name)
                print(f"{network.name}_{form}: {size} bytes", flush=True)
        return
    for network in NETWORKS:
        for form in args.forms if network.name in args.only else []:
            size = write(network, form, args.output_dir / f"{network.name}_{form}")
            print(f"{network.name}_{form}: {size} bytes", flush=True)


if __name__ == "__main__":
    main()
