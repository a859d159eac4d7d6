#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles modules of torch by byoc.from_torch; torch's own results are the expected ones.

    torch_test.py SOURCE BUILD

Exits with 77 where torch is not installed. The backend of torch.compile needs a newer torch than machines have: tests/torch.
"""
import gc
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
sys.path.insert(0, str(SOURCE / "python"))

import byoc  # noqa: E402

if "torch" in sys.modules or "byoc.torch" in sys.modules:
    sys.exit("byoc imports torch by itself")
try:
    import torch
    from torch import nn
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(77)

HAS_DIMS = hasattr(torch, "export") and hasattr(torch.export, "Dim")
IMAGES = ["onednn", "llvm"]


class Net(nn.Module):
    """Convolution, batch normalisation with statistics, a residual written in place."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 5)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        y += y.mean(dim=(2, 3), keepdim=True)
        return self.last(y.mean(dim=(2, 3)))


class Pairs(nn.Module):
    """Dicts and tuples in and out, a number and a None among them."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, batch, scale=2.0, *, bias=None):
        y = self.layer(batch["x"]) * scale + batch["pair"][1]
        if bias is not None:
            y = y + bias
        return {"y": y, "parts": (y.sum(dim=1), [batch["pair"][0] - y, None]), "scale": scale}


def close(test, got, expected):
    got, expected = np.asarray(got), expected.detach().numpy()
    test.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * max(1e-6, np.abs(expected).max()))


class FromTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def error(self, slug, function):
        with self.assertRaises(byoc.Error) as caught:
            function()
        self.assertEqual(caught.exception.slug, slug, str(caught.exception))
        return caught.exception

    def test_values_of_a_network(self):
        net, x = Net().eval(), torch.randn(2, 3, 9, 7)
        for compiler in (IMAGES, "llvm", "json"):
            program = byoc.from_torch(net, (x,), compiler=compiler)
            close(self, program(x), net(x))
            again = torch.randn(2, 3, 9, 7)
            close(self, program(again), net(again))

    def test_tensors_of_numpy_and_torch(self):
        net, x = Net().eval(), torch.randn(1, 3, 8, 8)
        program = byoc.from_torch(net, x, compiler=IMAGES)
        self.assertIsInstance(program, byoc.Program)
        self.assertIsInstance(program(x), torch.Tensor)
        self.assertIsInstance(program(x.numpy()), np.ndarray)
        np.testing.assert_array_equal(program(x.numpy()), program(x).numpy())
        channels_last = x.contiguous(memory_format=torch.channels_last)
        np.testing.assert_array_equal(program(channels_last).numpy(), program(x).numpy())
        self.assertEqual([one.name for one in program.inputs], ["x"])
        self.assertEqual([one.name for one in program.outputs], ["output"])
        np.testing.assert_array_equal(program.run({"x": x.numpy()})["output"], program(x.numpy()))

    def test_structure(self):
        module = Pairs().eval()
        batch = {"x": torch.randn(3, 4), "pair": (torch.randn(3, 4), torch.randn(4))}
        bias = torch.randn(3, 1)
        program = byoc.from_torch(module, (batch,), {"bias": bias}, compiler="llvm")
        self.assertEqual(sorted(one.name for one in program.inputs), ["batch.pair.0", "batch.pair.1", "batch.x", "bias"])
        got, expected = program(batch, bias=bias), module(batch, bias=bias)
        self.assertEqual((set(got), type(got["parts"]), type(got["parts"][1])), ({"y", "parts", "scale"}, tuple, list))
        self.assertEqual((got["parts"][1][1], got["scale"]), (None, 2.0))
        close(self, got["y"], expected["y"])
        close(self, got["parts"][0], expected["parts"][0])
        close(self, got["parts"][1][0], expected["parts"][1][0])
        by_name = program(batch=batch, bias=bias)
        close(self, by_name["y"], expected["y"])
        self.error("input-count", lambda: program(batch))
        self.error("input-count", lambda: program({"x": batch["x"]}, bias=bias))
        self.error("input-count", lambda: program(batch, 2.5, bias=bias))
        with_scale = byoc.from_torch(module, (batch, 3.0), compiler="llvm")
        close(self, with_scale(batch, 3.0)["y"], module(batch, 3.0)["y"])
        self.assertIn("3.0", str(self.error("input-value", lambda: with_scale(batch, 2.5))))

    def test_open_sizes(self):
        net = Net().eval()
        program = byoc.from_torch(net, torch.randn(2, 3, 8, 8), dynamic_shapes={"x": {0: "N"}}, shapes={"N": "1..16"},
                                  compiler="llvm")
        for n in (1, 2, 7, 16):
            x = torch.randn(n, 3, 8, 8)
            close(self, program(x), net(x))
        self.error("input-size", lambda: program(torch.randn(17, 3, 8, 8)))
        fixed = byoc.from_torch(net, torch.randn(2, 3, 8, 8), dynamic_shapes=({0: "N"},), shapes=[{"N": 2}, {"N": 4}],
                                compiler="llvm")
        self.assertEqual(fixed.sizes, ["N=2", "N=4"])
        x = torch.randn(4, 3, 8, 8)
        close(self, fixed(x), net(x))
        every = byoc.from_torch(net, torch.randn(2, 3, 8, 8), dynamic_shapes={"x": {0: "N"}}, compiler="llvm")
        for n in (1, 17):
            x = torch.randn(n, 3, 8, 8)
            close(self, every(x), net(x))

    @unittest.skipUnless(HAS_DIMS, "torch has no torch.export.Dim")
    def test_bounds_of_dims(self):
        net = Net().eval()
        program = byoc.from_torch(net, torch.randn(2, 3, 8, 8), dynamic_shapes={"x": {0: torch.export.Dim("N", max=16)}},
                                  compiler="llvm")
        for n in (1, 16):
            x = torch.randn(n, 3, 8, 8)
            close(self, program(x), net(x))
        self.error("input-size", lambda: program(torch.randn(17, 3, 8, 8)))

    def test_types_and_repeated_results(self):
        class Many(nn.Module):
            def forward(self, x, k):
                return x, k + 1, x > 0, x

        x, k = torch.randn(3), torch.tensor([1, 2, 3])
        program = byoc.from_torch(Many().eval(), (x, k), compiler="json")
        got = program(x, k)
        self.assertIsInstance(got, tuple)
        for one, expected in zip(got, Many()(x, k)):
            np.testing.assert_array_equal(one.numpy(), expected.numpy())
            self.assertEqual(one.dtype, expected.dtype)

    def test_an_input_that_is_not_used(self):
        class Second(nn.Module):
            def forward(self, a, b):
                return b * 2

        program = byoc.from_torch(Second().eval(), (torch.zeros(2), torch.ones(3)), compiler="json")
        np.testing.assert_array_equal(program(torch.zeros(2), torch.ones(3)).numpy(), [2, 2, 2])

    def test_weights_are_copied(self):
        net, x = Net().eval(), torch.randn(1, 3, 8, 8)
        program = byoc.from_torch(net, x, compiler="llvm")
        before = program(x).numpy()
        with torch.no_grad():
            net.last.weight.mul_(2)
        np.testing.assert_array_equal(program(x).numpy(), before)

    def test_tools_know_the_model(self):
        program = byoc.from_torch(Net().eval(), torch.randn(1, 3, 8, 8), compiler="llvm")
        self.assertTrue(program.explain()["ops"])
        self.assertTrue(program.verify().ok)
        folder = Path(program._model).parent
        self.assertTrue(folder.exists())
        del program
        gc.collect()
        self.assertFalse(folder.exists())

    def test_errors(self):
        x = torch.randn(1, 3, 8, 8)
        self.assertIn("module.eval()", self.error("torch-training", lambda: byoc.from_torch(Net(), x)).help)
        self.error("usage", lambda: byoc.from_torch(lambda x: x, x))
        net = Net().eval()
        self.error("usage", lambda: byoc.from_torch(Pairs().eval(), ({},)))
        self.error("input-count", lambda: byoc.from_torch(net, (x, x)))
        for shapes in ({"y": {0: "N"}}, {"x": {4: "N"}}, {"x": "N"}, {"x": {0: 1.5}}, ({0: "N"}, {0: "N"})):
            with self.subTest(shapes):
                self.error("usage", lambda: byoc.from_torch(net, x, dynamic_shapes=shapes))

        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(3))

            def forward(self, x):
                self.count += 1
                return x + self.count

        self.assertIn("count", str(self.error("torch-writes", lambda: byoc.from_torch(Counts().eval(), torch.zeros(3)))))

        class Text(nn.Module):
            def forward(self, x):
                return object()

        self.error("torch-output", lambda: byoc.from_torch(Text().eval(), torch.zeros(3)))

        class NoOnnx(nn.Module):
            def forward(self, x):
                return torch.linalg.eigvals(x)

        self.assertIn("torch.compile", self.error("torch-export", lambda: byoc.from_torch(NoOnnx().eval(), torch.eye(3))).help)

    def test_torch_is_imported_when_used(self):
        text = ("import sys, byoc, byoc_runtime; assert 'torch' not in sys.modules; byoc.compile; "
                "assert 'torch' not in sys.modules and 'byoc.torch' not in sys.modules")
        subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        blocked = "import sys; sys.modules['torch'] = None\nimport byoc\ntry:\n byoc.from_torch(None)\nexcept byoc.Error as e:\n print(e.slug, e.help)"
        done = subprocess.run([sys.executable, "-c", blocked], check=True, text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual(done.stdout.strip(), "no-torch pip install torch")


if __name__ == "__main__":
    unittest.main()
