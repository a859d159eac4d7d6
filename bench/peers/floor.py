# SPDX-License-Identifier: Apache-2.0
"""The floor of a network: the least time that the best known sums would take at the machine's peaks.

Multiplications are those of Winograd's convolutions, whose tiles have up to six results along a dim (a stride of two
is two convolutions of every second pixel), and of one level of Strassen's products, seven of eight where each extent
has 64 or more; all others are counted as they are defined. Weights are read once from memory, tables of which a run
reads rows are not. The floor is the longer of the two times. As a program: floor.py MODEL DIMS, where DIMS is a JSON
object of the inputs' dims, prints them as JSON.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

MOST_RESULTS = 6    # of a tile along a dim
LEAST_EXTENT = 64   # of a product by Strassen's scheme


def along(results, taps, stride):
    """Returns the multiplications of one row of results, by the tiles that take the fewest."""
    def phase(n):
        return min(math.ceil(results / m) * (m + n - 1) for m in range(1, MOST_RESULTS + 1)) if n else 0
    if stride > 2:
        return results * taps
    return sum(phase(len(range(first, taps, stride))) for first in range(stride))


def product(m, n, k):
    whole = m * n * k
    return whole * 7 / 8 if min(m, n, k) >= LEAST_EXTENT else whole


def convolution(results, weights, strides, groups):
    """results: [n, o, spatial...]; weights: [o, c / groups, taps...]."""
    n, o, *spatial = results
    channels, taps = weights[1], weights[2:]
    direct = n * o * math.prod(spatial) * channels * math.prod(taps)
    if groups > 1 or all(tap == 1 for tap in taps):
        return product(n * math.prod(spatial), o, channels) if groups == 1 else direct
    tiles = math.prod(along(r, t, s) for r, t, s in zip(spatial, taps, strides))
    return min(direct, n * o * channels * tiles)


def matmul(left, right):
    m = left[-2] if len(left) > 1 else 1
    batch = math.prod(left[:-2])
    if len(right) == 2:
        m, batch = m * batch, 1  # rows of all matrices
    return max(batch, math.prod(right[:-2])) * product(m, right[-1], left[-1])


def node_multiplications(node, shape_of):
    """Returns those of a node of an ONNX graph; 0 for ops without products. Raises KeyError for unknown shapes."""
    attrs = {a.name: a for a in node.attribute}
    if node.op_type == "Conv":
        weights = shape_of[node.input[1]]
        strides = list(attrs["strides"].ints) if "strides" in attrs else [1] * (len(weights) - 2)
        return convolution(shape_of[node.output[0]], weights, strides, attrs["group"].i if "group" in attrs else 1)
    if node.op_type == "MatMul":
        return matmul(shape_of[node.input[0]], shape_of[node.input[1]])
    if node.op_type == "Gemm":
        m, n = shape_of[node.output[0]]
        left = shape_of[node.input[0]]
        return product(m, n, left[0] if "transA" in attrs and attrs["transA"].i else left[1])
    if node.op_type in ("LSTM", "GRU", "RNN"):
        length, batch, inputs = shape_of[node.input[0]]
        directions, gates, hidden = shape_of[node.input[2]]
        return directions * (product(length * batch, gates, inputs) + length * batch * gates * hidden)
    return 0


def count(model, dims):
    """Returns the multiplications of a run, the bytes of weights that it reads, and how many ops have no shapes."""
    import numpy
    import onnx
    from inputs import DTYPES
    graph = onnx.load(model)
    weights = {w.name: w for w in graph.graph.initializer}
    shapes = {name: list(w.dims) for name, w in weights.items()}
    for given in graph.graph.input:
        for dim, extent in zip(given.type.tensor_type.shape.dim, dims.get(given.name, ())):
            dim.dim_value = extent
    by_rows = {node.input[0] for node in graph.graph.node if node.op_type == "Gather"}
    read = {name for node in graph.graph.node if node.op_type != "Gather" for name in node.input}
    bytes_read = sum(math.prod(w.dims) * numpy.dtype(DTYPES[w.data_type]).itemsize
                     for name, w in weights.items() if name in read or name not in by_rows)
    for weight in weights.values():  # inference reads the small ones, which may be shapes
        if math.prod(weight.dims) > 1024:
            weight.ClearField("raw_data")
            weight.ClearField("float_data")
    inferred = onnx.shape_inference.infer_shapes(graph, data_prop=True).graph
    for value in [*inferred.value_info, *inferred.input, *inferred.output]:
        extents = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.HasField("shape") and all(extents):
            shapes.setdefault(value.name, extents)
    multiplications, unknown = 0, 0
    for node in inferred.node:
        try:
            multiplications += node_multiplications(node, shapes)
        except KeyError:
            unknown += 1
    return {"multiplications": multiplications, "weight_bytes": bytes_read, "unknown": unknown}


def floor_of(counted, speed, threads):
    """Adds the times in ns to what `count` has returned, at the peaks of `byoc doctor --json`'s "speed"."""
    def rate(rates):
        return rates["one"] if threads == 1 else min(rates["all"], threads * rates["one"])
    compute = 2 * counted["multiplications"] / rate(speed["f32_gop_per_s"])
    memory = counted["weight_bytes"] / rate(speed["levels"][-1]["read_gb_per_s"])
    return {**counted, "compute_ns": compute, "memory_ns": memory, "ns": max(compute, memory)}


def speed_of(build):
    """Returns the machine's speed as byoc measures it, or None."""
    done = subprocess.run([str(Path(build) / "bin" / "byoc"), "doctor", "--json"], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["speed"]
    except (ValueError, KeyError):
        return None


def counted_by(pythons, model, dims):
    """Counts in the first of these Pythons that has onnx; None where none has, or where ops have no shapes."""
    for python in pythons:
        done = subprocess.run([python, __file__, str(model), json.dumps(dims)], capture_output=True, text=True)
        if done.returncode == 0:
            counted = json.loads(done.stdout)
            return counted if counted["unknown"] == 0 else None
    return None


if __name__ == "__main__":
    print(json.dumps(count(sys.argv[1], json.loads(sys.argv[2]))))
