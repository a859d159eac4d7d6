# SPDX-License-Identifier: Apache-2.0
"""Runtimes that read files of their own: MNN and ncnn. Models are converted by the converters of their packages.

Both are held to f32: MNN by its precision "high", ncnn without f16 and bf16, whose weights stay f32 as well.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from inputs import DTYPES, make_inputs


def tool(name):
    """Returns a program beside this Python, or the one that the search path has."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def convert(command, made):
    """Runs a converter. Raises with its last line when the file is not there afterwards."""
    try:
        done = subprocess.run(command, cwd=Path(made).parent, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"{command[0]} does not start: {error}") from None
    if done.returncode == 0 and Path(made).exists():
        return
    lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
    raise RuntimeError(f"{Path(command[0]).name} does not convert the model: {lines[-1]}")


def wanted_of(model):
    """Returns (name, dims, dtype) of each input of an ONNX file, and the names of its outputs."""
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    given = {weight.name for weight in graph.initializer}
    wanted = [(i.name, [d.dim_value or None for d in i.type.tensor_type.shape.dim],
               DTYPES[i.type.tensor_type.elem_type])
              for i in graph.input if i.name not in given]
    return wanted, [output.name for output in graph.output]


class Mnn:
    """The memory of inputs is reused by the run: each run copies them first, which its time includes."""

    def __init__(self, model, threads, _):
        import MNN
        self.mnn = MNN
        self.version = MNN.version() if callable(getattr(MNN, "version", None)) else "?"
        wanted, self.names = wanted_of(model)
        self.inputs = make_inputs(wanted, model)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.mnn"
            convert([tool("mnnconvert"), "-f", "ONNX", "--modelFile", str(Path(model).resolve()), "--MNNModel",
                     str(file), "--bizCode", "byoc"], file)
            self.net = MNN.Interpreter(str(file))
        self.session = self.net.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
        places = self.net.getSessionInputAll(self.session)
        for name, value in self.inputs.items():
            self.net.resizeTensor(places[name], value.shape)
        self.net.resizeSession(self.session)
        places = self.net.getSessionInputAll(self.session)
        self.copies = [(places[name], self.host_tensor(value)) for name, value in self.inputs.items()]

    def host_tensor(self, value):
        is_float = numpy.issubdtype(value.dtype, numpy.floating)
        kind = self.mnn.Halide_Type_Float if is_float else self.mnn.Halide_Type_Int
        value = numpy.ascontiguousarray(value, numpy.float32 if is_float else numpy.int32)
        return self.mnn.Tensor(value.shape, kind, value, self.mnn.Tensor_DimensionType_Caffe)

    def once(self):
        for place, value in self.copies:
            place.copyFrom(value)
        self.net.runSession(self.session)

    def outputs(self):
        found = self.net.getSessionOutputAll(self.session)
        out = []
        for name in self.names:
            shape = found[name].getShape()
            host = self.mnn.Tensor(shape, found[name].getDataType(), numpy.zeros(shape, numpy.float32),
                                   self.mnn.Tensor_DimensionType_Caffe)
            found[name].copyToHostTensor(host)
            out.append(numpy.array(host.getNumpyData()).reshape(shape))
        return out


class Ncnn:
    """Its converter removes the first dim of inputs and outputs, which is the batch of one."""

    def __init__(self, model, threads, _):
        import ncnn
        self.ncnn, self.version = ncnn, ncnn.__version__
        wanted, names = wanted_of(model)
        self.inputs, self.count = make_inputs(wanted, model), len(names)
        shapes = ",".join("[" + ",".join(map(str, value.shape)) + "]" + self.kind(value) for value in self.inputs.values())
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = False
        options.use_bf16_storage = False
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "model.onnx").symlink_to(Path(model).resolve())
            made = Path(folder) / "model.ncnn.param"
            convert([tool("pnnx"), "model.onnx", "fp16=0", f"inputshape={shapes}"], made)
            failed = self.net.load_param(str(made)) or self.net.load_model(str(made.with_suffix(".bin")))
        if failed:
            raise RuntimeError("ncnn does not load the model that pnnx has converted")
        self.values = [numpy.ascontiguousarray(value, None if value.dtype == numpy.float32 else numpy.int32)
                       for value in self.inputs.values()]

    @staticmethod
    def kind(value):
        return {"f": "f32"}.get(value.dtype.kind, "i64" if value.dtype.itemsize == 8 else "i32")

    def once(self):
        run = self.net.create_extractor()
        for k, value in enumerate(self.values):
            run.input(f"in{k}", self.ncnn.Mat(value, batch_index=0))
        results = []
        for k in range(self.count):
            code, result = run.extract(f"out{k}")
            if code != 0:
                raise RuntimeError(f"ncnn ends with {code}")
            results.append(result)
        self.results = results

    def outputs(self):
        return [numpy.array(result.numpy(batch_index=0)) for result in self.results]
