# SPDX-License-Identifier: Apache-2.0
"""One case: a model of one node, inputs, and what ONNX Runtime computes for them without graph optimisation."""
import shutil
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"


class Random:
    """Numbers that depend only on the case's name."""

    def __init__(self, name):
        self.generator = np.random.default_rng(zlib.crc32(name.encode()))

    def f32(self, *shape, scale=1.0, shift=0.0):
        return (self.generator.standard_normal(shape) * scale + shift).astype(np.float32)

    def f16(self, *shape, scale=1.0):
        return self.f32(*shape, scale=scale).astype(np.float16)

    def u8(self, *shape, low=0, high=256):
        return self.generator.integers(low, high, shape).astype(np.uint8)

    def i8(self, *shape, low=-128, high=128):
        return self.generator.integers(low, high, shape).astype(np.int8)

    def i32(self, *shape, low=0, high=10):
        return self.generator.integers(low, high, shape).astype(np.int32)

    def positive(self, *shape, low=0.005, high=0.02):
        return self.generator.uniform(low, high, shape).astype(np.float32)


def f32(value):
    return np.array(value, np.float32)


def u8(value):
    return np.array(value, np.uint8)


def i8(value):
    return np.array(value, np.int8)


class Writer:
    """Writes cases below a folder: OPERATOR/NAME/model.onnx and test_data_set_0."""

    def __init__(self, folder, only=()):
        self.folder, self.only, self.counts = Path(folder), only, {}

    def __call__(self, op, name, inputs, attrs=None, outputs=1, domain=DOMAIN, opset=17, fixed=()):
        """`inputs`: {name: array}, None for an omitted one; those in `fixed` are constants of the model.
        `outputs`: their number, or names, "" for one that is left out; qk is f32 by declaration."""
        if self.only and op not in self.only:
            return
        outputs = [f"y{k}" for k in range(outputs)] if isinstance(outputs, int) else outputs
        model, fed = self.model(op, inputs, attrs or {}, outputs, domain, opset, fixed)
        results = computed(self.nchw_model(inputs, attrs) if op == "NhwcConv" else model, fed)
        case = self.folder / op / name
        shutil.rmtree(case, ignore_errors=True)
        (case / "test_data_set_0").mkdir(parents=True)
        onnx.save(model, case / "model.onnx")
        store(case, "input", fed)
        store(case, "output", dict(zip([output for output in outputs if output], results)))
        check_results(op, name, results)
        self.counts[op] = self.counts.get(op, 0) + 1

    @staticmethod
    def model(op, inputs, attrs, outputs, domain, opset, fixed):
        names = [name if array is not None else "" for name, array in inputs.items()]
        given = {name: array for name, array in inputs.items() if array is not None}
        node = helper.make_node(op, names, outputs, name="node", domain=domain, **attrs)
        graph = helper.make_graph(
            [node], op,
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in given.items() if name not in fixed],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) if output == "qk" else
             helper.make_empty_tensor_value_info(output) for output in outputs if output],
            [numpy_helper.from_array(array, name) for name, array in given.items() if name in fixed])
        model = helper.make_model(graph, ir_version=8, producer_name="", opset_imports=[
            helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)])
        return model, {name: array for name, array in given.items() if name not in fixed}


    @staticmethod
    def nchw_model(inputs, attrs):
        """Returns what NhwcConv is, which ONNX Runtime has no kernel of for this kind of processor."""
        spatial = list(range(1, inputs["x"].ndim - 1))
        last = inputs["x"].ndim - 1
        nodes = [helper.make_node("Transpose", ["x"], ["c"], perm=[0, last, *spatial]),
                 helper.make_node("Conv", ["c", *list(inputs)[1:]], ["d"], **attrs),
                 helper.make_node("Transpose", ["d"], ["y0"], perm=[0, *[d + 1 for d in spatial], 1])]
        graph = helper.make_graph(
            nodes, "nchw", [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs["x"].shape)],
            [helper.make_empty_tensor_value_info("y0")],
            [numpy_helper.from_array(inputs[name], name) for name in list(inputs)[1:]])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def computed(model, fed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, fed)


def store(case, kind, arrays):
    for k, (name, array) in enumerate(arrays.items()):
        (case / "test_data_set_0" / f"{kind}_{k}.pb").write_bytes(
            numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def check_results(op, name, results):
    """Refuses results that a wrong kernel could have, too."""
    for result in results:
        numbers = np.asarray(result, dtype=np.float64).ravel()
        assert np.all(np.isfinite(numbers)), f"{op} {name}: not finite"
        if result.dtype in (np.uint8, np.int8) and numbers.size > 8:
            ends = np.iinfo(result.dtype)
            assert np.mean((numbers == ends.min) | (numbers == ends.max)) < 0.4, f"{op} {name}: saturated"
            assert len(np.unique(numbers)) > 4, f"{op} {name}: few integers"
