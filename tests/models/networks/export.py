#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the seventeen test networks as ONNX, each with torch's outputs beside it.

    python3 export.py --list                            names, opsets and what each is for
    python3 export.py --small --output-dir build/nets   narrow variants on small images, what CI uses
    python3 export.py --only resnet50 bert_base         two of them, full size, into ./networks
    python3 export.py                                   all of them: 2.5 GB

Writes DIR/NAME/model.onnx and DIR/NAME/test_data_set_0/{input,output}_*.pb, which `byoc verify` and
`byoc test-onnx` read. A network that was written by the same scripts and library versions is left alone.

A network is written when its outputs are worth comparing (checks.py): two random inputs differ by 0.3 of the
largest output; 1 % more of one filter or matrix in any layer shows by more than 1e-4 of it, the tolerance of
comparisons (in each layer of filters, nine in ten do: gradients estimate all of them, and the ninth in ten of
the weakest layers is measured); and f32 and f64 differ by at most 2e-5. Otherwise the exit code is 1 and
nothing is written.

Needs torch >= 1.13, torchvision, onnx (Debian: python3-torch python3-torchvision python3-onnx). Same versions,
same bytes.
"""

import argparse
import hashlib
import shutil
import sys
import time
from pathlib import Path

import onnx
import torch
import torchvision

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from checks import check  # noqa: E402
from onnx_case import write_case  # noqa: E402
from seeding import Target, rescaling  # noqa: E402
from zoo import NETWORKS  # noqa: E402

SEED = 1
CALIBRATION_BATCH = 16


def stamp(network, small):
    """Changes with anything that the files depend on."""
    digest = hashlib.sha256()
    for script in sorted([*HERE.glob("*.py"), *HERE.parent.glob("*.py")]):
        digest.update(script.read_bytes())
    versions = [torch.__version__, torchvision.__version__, onnx.__version__]
    digest.update(repr([network.name, small, versions]).encode())
    return digest.hexdigest()


def calibrated(network, small):
    """(the model with calibrated weights, the layer that is centred or None)."""
    model = network.make(small)
    head = dict(model.named_modules())[network.head] if network.head else None
    batch = network.sample(small, CALIBRATION_BATCH)
    network.recipe(model, batch, network.small_shift if small else network.shift)
    if head is not None:
        with torch.no_grad(), rescaling({head: Target(spread=0.0 if small else network.head_spread)}):
            model.eval()(*batch)
    return model, head


def make(network, small):
    """(the calibrated model, its inputs, the numbers of its checks, what is wrong with it)."""
    torch.manual_seed(SEED)
    model, head = calibrated(network, small)
    inputs, others = network.sample(small, network.batch), network.sample(small, network.batch)
    numbers, wrong = check(model, inputs, others, head)
    return model, inputs, numbers, wrong


def export(network, small, folder):
    """Writes `folder` at once, complete, if the network passes its checks. Returns (numbers, what is wrong)."""
    model, inputs, numbers, wrong = make(network, small)
    if wrong:
        return numbers, wrong
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    write_case(part, model, inputs, network.inputs, network.outputs, network.opset,
               dynamic_axes=network.dynamic_axes)
    (part / "stamp").write_text(stamp(network, small))
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return numbers, []


def is_current(network, small, folder):
    made = folder / "stamp"
    return made.exists() and made.read_text() == stamp(network, small)


def report(network, small, folder):
    """Exports unless it is there, and prints what was done. Returns true without faults."""
    if is_current(network, small, folder):
        print(f"{network.name:16} up to date", flush=True)
        return True
    start = time.time()
    numbers, wrong = export(network, small, folder)
    shown = "  ".join(f"{what} {number:.2g}" for what, number in numbers.items())
    print(f"{network.name:16} opset {network.opset}  {shown}  {time.time() - start:.1f} s", flush=True)
    for problem in wrong:
        print(f"error: {network.name}: {problem}", file=sys.stderr)
    return not wrong


def main():
    names = [network.name for network in NETWORKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the networks and stop")
    parser.add_argument("--small", action="store_true", help="narrow variants on small images")
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=names, default=names, help="just these")
    parser.add_argument("--output-dir", metavar="DIR", type=Path, default=Path("networks"),
                        help="folder to write to (default: ./networks)")
    options = parser.parse_args()
    chosen = [network for network in NETWORKS if network.name in options.only]
    if options.list:
        for network in chosen:
            print(f"{network.name:16} opset {network.opset}  {network.about}")
        return 0
    torch.set_num_threads(1)
    options.output_dir.mkdir(parents=True, exist_ok=True)
    return 0 if all([report(network, options.small, options.output_dir / network.name) for network in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
