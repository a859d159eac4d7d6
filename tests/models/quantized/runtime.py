# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with its optimisations and threads chosen: how far it is from itself."""

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

LEVELS = ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
THREADS = (1, 2)
MOVED = 3  # inputs whose elements are moved by one unit in the last place, per input


def session(path, level, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_" + level)
    # Without it, products of u8 and i8 saturate in 16 bits on processors with AVX2 and no VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def results(path, level, threads, feeds):
    """The outputs for each of the inputs; None where ONNX Runtime refuses the model.

    1.32 fails to optimise some models whose weights are shared when products must be exact.
    """
    try:
        opened = session(path, level, threads)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return None
    return [opened.run(None, feed) for feed in feeds]


def all_results(paths, feeds):
    """The outputs for each input, by every level and number of threads that takes the model.

    Several paths: models that compute the same, as one with u8 and one with i8 activations do.
    """
    runs = [results(path, level, threads, feeds) for path in paths for level in LEVELS for threads in THREADS]
    return [run for run in runs if run is not None]


def output_steps(path, right):
    """The step of each output."""
    model = onnx.load(path)
    numbers = {t.name: t for t in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    steps = []
    for k, output in enumerate(model.graph.output):
        node = makers.get(output.name)
        if node is not None and node.op_type == "DequantizeLinear" and node.input[1] in numbers:
            steps.append(float(numpy_helper.to_array(numbers[node.input[1]]).max()))
        else:
            values = np.concatenate([outputs[k].ravel() for outputs in right])
            steps.append(float(values.max() - values.min()) / 255)
    return steps


def apart(a, b, steps):
    """(the largest difference in steps, the number of elements that differ by half a step and more)."""
    off = [np.abs(x.astype(np.float64) - y) / step for x, y, step in zip(a, b, steps)]
    return max(o.max() for o in off), sum(int((o >= 0.5).sum()) for o in off)


def moved(feed, seed):
    """The input with each element one unit in the last place higher, lower, or as it is."""
    random = np.random.default_rng(seed)
    return {name: np.nextafter(x, x + random.integers(-1, 2, x.shape).astype(x.dtype)) for name, x in feed.items()}


def spread_of(paths, feeds, runs, steps):
    """The largest difference of two results for one input, in steps.

    Results for inputs that differ in the last place count, too: a value next to a tie becomes another
    integer by whatever rounds otherwise, and ONNX Runtime's levels share most of their arithmetic.
    """
    others = [results(path, level, 1, [moved(feed, seed) for feed in feeds])
              for path in paths for level in (LEVELS[0], LEVELS[-1]) for seed in range(MOVED)]
    runs = runs + [other for other in others if other is not None]
    return max(apart(a[k], b[k], steps)[0] for a in runs for b in runs for k in range(len(feeds)))
