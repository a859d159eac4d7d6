# SPDX-License-Identifier: Apache-2.0
"""Other runtimes with one interface: a model is loaded with its inputs, run once, and gives its outputs.

All compute in f32, on the number of threads that they are given.
"""

import json
from pathlib import Path

import numpy

from converted import Mnn, Ncnn, wanted_of
from inputs import make_inputs


class OnnxRuntime:
    DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
              "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}

    def __init__(self, model, threads, profile):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_profiling = profile is not None
        if profile:
            options.profile_file_prefix = profile
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        wanted = [(i.name, i.shape, self.DTYPES[i.type]) for i in self.session.get_inputs()]
        self.inputs = make_inputs(wanted, model)
        self.binding = self.session.io_binding()
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def once(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()

    def layers(self):
        events = json.loads(Path(self.session.end_profiling()).read_text())
        sums, counts = {}, {}
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                key = (event["name"][:-len("_kernel_time")], event["args"].get("op_name", ""))
                sums[key] = sums.get(key, 0) + event["dur"]
                counts[key] = counts.get(key, 0) + 1
        rows = [{"name": name, "op": op, "us": sums[name, op] / counts[name, op]} for name, op in sums]
        return sorted(rows, key=lambda row: -row["us"])


class OpenVino:
    """Open sizes are those of the inputs, and the hint is latency, with one stream."""

    def __init__(self, model, threads, _):
        import openvino
        self.version = openvino.__version__.split("-")[0]
        core = openvino.Core()
        graph = core.read_model(model)
        wanted = [(i.any_name, [d.get_length() if d.is_static else None for d in i.partial_shape],
                   i.element_type.to_dtype()) for i in graph.inputs]
        self.inputs = make_inputs(wanted, model)
        graph.reshape({name: list(value.shape) for name, value in self.inputs.items()})
        compiled = core.compile_model(graph, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads),
            "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": "NO"})
        self.request = compiled.create_infer_request()
        for name, value in self.inputs.items():
            self.request.set_tensor(name, openvino.Tensor(value))

    def once(self):
        self.request.infer()

    def outputs(self):
        return [numpy.array(tensor.data) for tensor in self.request.output_tensors]


class PyTorch:
    """PyTorch runs op by op what onnx2torch makes of the model."""

    def __init__(self, model, threads, _):
        import onnx
        import onnx2torch
        import torch
        import torch_lstm
        torch_lstm.register()
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.version = torch.__version__.split("+")[0]
        self.torch = torch
        self.module = onnx2torch.convert(onnx.load(model)).eval()
        self.inputs = make_inputs(wanted_of(model)[0], model)
        self.arguments = [torch.from_numpy(value) for value in self.inputs.values()]

    def once(self):
        with self.torch.inference_mode():
            self.result = self.module(*self.arguments)

    def outputs(self):
        results = [self.result] if self.torch.is_tensor(self.result) else self.result
        return [result.numpy() for result in results]


class Inductor(PyTorch):
    """PyTorch's compiler, with the weights as constants, on what onnx2torch makes of the model."""

    def __init__(self, model, threads, profile):
        super().__init__(model, threads, profile)
        import torch._inductor.config
        torch._inductor.config.freezing = True
        self.torch.set_float32_matmul_precision("highest")
        self.module = self.torch.compile(self.module, backend="inductor")

    def once(self):
        with self.torch.no_grad():  # freezing requires it
            self.result = self.module(*self.arguments)


RUNTIMES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "mnn": Mnn, "ncnn": Ncnn, "pytorch": PyTorch,
            "inductor": Inductor}
