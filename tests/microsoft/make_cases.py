#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of this folder: ONNX Runtime's own operators, one node each, with ONNX Runtime's results without
graph optimisation.

make_cases.py [--folder FOLDER] [OPERATOR...]

Needs onnx and onnxruntime (`pip install onnx onnxruntime`); the versions that made the files here: onnx 1.23.2,
onnxruntime 1.32.0.
"""
import argparse
from pathlib import Path

import attention_cases
import float_cases
import quantized_cases
from case import Writer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=Path(__file__).parent / "cases")
    parser.add_argument("operators", nargs="*", help="of all: those alone")
    given = parser.parse_args()
    write = Writer(given.folder, given.operators)
    for families in (float_cases, quantized_cases, attention_cases):
        families.write_all(write)
    for op, count in sorted(write.counts.items()):
        print(f"{op:34} {count}")
    print(f"{sum(write.counts.values())} cases of {len(write.counts)} operators")


if __name__ == "__main__":
    main()
