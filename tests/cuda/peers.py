# SPDX-License-Identifier: Apache-2.0
"""Times a network by ONNX Runtime's CUDA provider, and products and networks by torch, eager and as a CUDA graph: what
byoc's times are compared with.

usage: peers.py [MODEL.onnx]. Peers that are absent, or have no device, are named and skipped.
"""
import statistics
import sys
import time


def median_ms(run, wait):
    for _ in range(5):
        run()
    wait()
    times = []
    for _ in range(30):
        begin = time.perf_counter()
        run()
        wait()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def onnxruntime(path):
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as error:
        return print(f"skipped: {error}")
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        return print("skipped: this onnxruntime has no CUDA provider")
    session = ort.InferenceSession(path, providers=["CUDAExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}
    inputs = {one.name: np.ones([d if isinstance(d, int) else 1 for d in one.shape], types[one.type])
              for one in session.get_inputs()}
    print(f"ONNX Runtime {ort.__version__}: {median_ms(lambda: session.run(None, inputs), lambda: None):.3f} ms")


def graph_of(torch, run):
    """Returns a function that replays what `run` does on the device."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def networks(torch):
    """Returns (name, module, shape of the input) for the networks that this Python has."""
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, activation="gelu")
    out = [("encoder of 12 layers, 128 tokens", torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), (128, 768))]
    try:
        import torchvision
        out.append(("ResNet-50", torchvision.models.resnet50(), (3, 224, 224)))
    except ImportError as error:
        print(f"skipped: {error}")
    return out


def torch_networks(torch):
    for name, module, shape in networks(torch):
        for dtype in (torch.float32, torch.float16):
            module = module.to("cuda", dtype).eval()
            for batch in (1, 32):
                x = torch.rand(batch, *shape, device="cuda", dtype=dtype)
                with torch.inference_mode():
                    eager = median_ms(lambda: module(x), torch.cuda.synchronize)
                    graph = median_ms(graph_of(torch, lambda: module(x)), torch.cuda.synchronize)
                print(f"torch {torch.__version__}: {name}, {dtype}, batch {batch}: {eager:.3f} ms eager, {graph:.3f} ms graph")


def torch_times():
    try:
        import torch
    except ImportError as error:
        return print(f"skipped: {error}")
    if not torch.cuda.is_available():
        return print("skipped: torch has no device")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    for dtype in (torch.float32, torch.float16):
        for size in (256, 1024, 4096):
            a, b = (torch.rand(size, size, device="cuda", dtype=dtype) for _ in range(2))
            ms = median_ms(lambda: torch.matmul(a, b), torch.cuda.synchronize)
            print(f"torch {torch.__version__}: {dtype} {size}^3: {ms:.3f} ms")
    torch_networks(torch)


if __name__ == "__main__":
    onnxruntime(sys.argv[1]) if len(sys.argv) > 1 else torch_times()
