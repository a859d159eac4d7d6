# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model, the same in every process: those stored beside it, else seeded numbers."""

from pathlib import Path

import numpy

DTYPES = {1: numpy.float32, 2: numpy.uint8, 3: numpy.int8, 6: numpy.int32, 7: numpy.int64, 9: numpy.bool_,
          10: numpy.float16, 11: numpy.float64}  # by ONNX's numbers


def fields(data):
    """Yields (number, value) of each field of a protobuf message; values are numbers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def unpack(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def read_pb(path):
    """Reads an ONNX TensorProto: dims 1, data type 2, name 8, raw data 9; ONNX's test data has raw data."""
    dims, name, raw, dtype = [], "", None, None
    for number, value in fields(path.read_bytes()):
        if number == 1:
            dims += [value] if isinstance(value, int) else [v for v in unpack(value)]
        elif number == 2:
            dtype = DTYPES[value]
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    return name, None if raw is None else numpy.frombuffer(raw, dtype).reshape(dims)


def make_inputs(wanted, model):
    """Returns {name: array} for `wanted`, (name, dims, dtype) each, where dims that are not numbers are 1."""
    stored = {}
    for path in sorted((Path(model).parent / "test_data_set_0").glob("input_*.pb")):
        name, value = read_pb(path)
        if value is not None:
            stored[name] = value
    random = numpy.random.default_rng(0)
    out = {}
    for name, dims, dtype in wanted:
        if name in stored:
            out[name] = numpy.array(stored[name])  # torch takes arrays that can be written
            continue
        dims = [d if isinstance(d, int) else 1 for d in dims]
        is_float = numpy.issubdtype(dtype, numpy.floating)
        out[name] = (random.standard_normal(dims) if is_float else numpy.zeros(dims)).astype(dtype)
    return out
