#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backend of torch.compile, compared with torch without compiling.

    backend_test.py SOURCE BUILD [TEST...]

Run by hand with a torch of the Python index; README.md has how.
"""
import copy
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402

import byoc  # noqa: E402
import byoc.torch  # noqa: E402
from byoc.torch import _backend  # noqa: E402


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


class Backend(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        counters.clear()

    def compiled(self, function, **more):
        return torch.compile(function, backend="byoc", **more)

    def same(self, got, expected):
        got, expected = leaves(got), leaves(expected)
        self.assertEqual(len(got), len(expected))
        for one, wanted in zip(got, expected):
            if isinstance(wanted, torch.Tensor):
                self.assertEqual((one.shape, one.dtype), (wanted.shape, wanted.dtype))
                if wanted.is_floating_point():
                    torch.testing.assert_close(one, wanted, rtol=0, atol=1e-5 * max(1e-6, wanted.abs().max().item()))
                else:
                    self.assertTrue(torch.equal(one, wanted))
            else:
                self.assertEqual(one, wanted)

    def check(self, function, *args, **more):
        """Runs a function compiled and not, on copies of the arguments; compares results and what became of the arguments."""
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with torch.no_grad():
            expected = copy.deepcopy(function)(*theirs)
            got = self.compiled(function, **more)(*ours)
        self.same(got, expected)
        self.same(ours, theirs)
        return got, ours

    def reasons(self):
        return [row["reason"] for graph in byoc.torch.explain()["graphs"] for part in graph["parts"]
                for row in part.get("reasons", [])]

    def nodes(self):
        graphs = byoc.torch.explain()["graphs"]
        return sum(graph["nodes_of_byoc"] for graph in graphs), sum(graph["nodes_of_torch"] for graph in graphs)

    # ---- weights and sizes ----

    def test_weights_are_constants(self):
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()
        self.check(net, torch.randn(3, 4))
        graph, = _backend.graphs()
        self.assertEqual(len(graph.parts[0].program.inputs), 1)
        self.assertEqual(self.nodes()[1], 0)
        self.assertIn("nodes by byoc", str(byoc.torch.explain()))

    def test_open_sizes_are_one_compile(self):
        def function(x, y):
            return (x + y).reshape(x.shape[0] * 2, -1), x.shape[0]

        fast = self.compiled(function)
        for n in (2, 3, 5, 64, 300):                       # the last is above the first bounds
            x, y = torch.randn(n, 4), torch.randn(n, 4)
            self.same(fast(x, y), function(x, y))
        self.assertEqual(counters["stats"]["unique_graphs"], 2)   # of one size, then of every size
        torch._dynamo.reset()
        counters.clear()
        fast = self.compiled(function, dynamic=True)
        for n in (2, 3):
            x, y = torch.randn(n, 4), torch.randn(n, 4)
            self.same(fast(x, y), function(x, y))
        self.assertEqual(counters["stats"]["unique_graphs"], 1)

    def test_changed_weights(self):
        net, x = nn.Linear(4, 3), torch.randn(2, 4)
        fast = self.compiled(net)
        with torch.no_grad():
            self.same(fast(x), net(x))
            for change in (lambda: net.weight.mul_(2), lambda: net.weight.data.add_(1), lambda: net.bias.numpy().fill(3),
                           lambda: net.load_state_dict(nn.Linear(4, 3).state_dict()),
                           lambda: setattr(net.weight, "data", torch.ones(3, 4)),
                           lambda: setattr(net, "weight", nn.Parameter(torch.full((3, 4), 0.5)))):
                for _ in range(9):                         # more than QUICK_CALLS
                    self.same(fast(x), net(x))
                change()
                self.same(fast(x), net(x))
        self.assertEqual(byoc.torch.explain()["graphs"][0]["weights_as_inputs"], [])

    def test_weights_that_change_at_each_call_become_inputs(self):
        net, x = nn.Linear(4, 3), torch.randn(2, 4)
        fast = self.compiled(net)
        with torch.no_grad():
            for _ in range(8):
                self.same(fast(x), net(x))
                net.weight.mul_(1.5)
        row, = byoc.torch.explain()["graphs"]
        self.assertEqual(len(row["weights_as_inputs"]), 1)
        self.assertLessEqual(row["compiles"], 5)
        self.assertIn("too often", str(byoc.torch.explain()))

    def test_other_modules_of_a_class(self):
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 4)

            def forward(self, x):
                return self.inner(x).relu()

        layers, x = [Layer() for _ in range(3)], torch.randn(2, 4)
        fast = [self.compiled(layer) for layer in layers]
        with torch.no_grad():
            for _ in range(3):
                for one, layer in zip(fast, layers):
                    self.same(one(x), layer(x))
        self.assertLessEqual(sum(graph["compiles"] for graph in byoc.torch.explain()["graphs"]), 3)

    def test_state_in_attributes(self):
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.state = nn.Linear(3, 3), torch.zeros(2, 3)

            def forward(self, x):
                self.state = torch.tanh(self.layer(x) + self.state)
                return self.state

        cell, x = Cell(), torch.randn(2, 3)
        other = copy.deepcopy(cell)
        fast = self.compiled(cell)
        with torch.no_grad():
            for _ in range(5):
                self.same(fast(x), other(x))
        self.assertLessEqual(sum(graph["compiles"] for graph in byoc.torch.explain()["graphs"]), 2)

    # ---- memory ----

    def test_inputs_changed_in_place(self):
        def function(x, y):
            z = x * 2
            x.add_(1)
            y[0] = 7
            return z + x, y.sum()

        self.check(function, torch.randn(3, 4), torch.randn(3))
        self.assertTrue(any("in place" in reason for reason in self.reasons()), self.reasons())

    def test_buffers_changed_in_place(self):
        class Cache(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("keys", torch.zeros(4, 3))
                self.layer = nn.Linear(3, 3)

            def forward(self, x, at):
                self.keys[at] = self.layer(x)
                return torch.softmax(self.keys @ x, 0)

        module = Cache()
        other, fast = copy.deepcopy(module), self.compiled(module)
        with torch.no_grad():
            for k in range(4):
                x = torch.randn(3)
                self.same(fast(x, torch.tensor(k)), other(x, torch.tensor(k)))
                self.same(module.keys, other.keys)
        self.assertLessEqual(sum(graph["compiles"] for graph in byoc.torch.explain()["graphs"]), 1)

    def test_batch_norm_in_training(self):
        norm = nn.BatchNorm1d(3)
        other = copy.deepcopy(norm)
        fast, x = self.compiled(norm), torch.randn(5, 3)
        with torch.no_grad():
            for _ in range(3):
                self.same(fast(x), other(x))
        self.same(dict(norm.named_buffers()), dict(other.named_buffers()))

    def test_results_that_are_memory_of_inputs(self):
        def function(x):
            return x.view(-1), x + 1, x

        (view, _, same), (x,) = self.check(function, torch.randn(3, 4))
        self.assertEqual(view.data_ptr(), x.data_ptr())
        self.assertIs(same, x)
        view.zero_()
        self.assertEqual(x.abs().max().item(), 0)

    def test_results_that_share_memory(self):
        def function(x):
            y = x * 2
            return y, y[0], y.t()

        (y, row, turned), _ = self.check(function, torch.randn(3, 4))
        row.fill_(5)
        self.assertTrue((y[0] == 5).all() and (turned[:, 0] == 5).all())

    def test_values_changed_in_place_between_parts(self):
        def function(x):
            y = x * 2
            row = y[0]
            z = torch.fft.fft(y).real                      # which has no ONNX form that byoc reads
            y.add_(1)
            return row + z[0], torch.relu(y)

        self.check(function, torch.randn(3, 4))

        def early(x):
            y = x.sin()
            y.mul_(3)
            y[:, 0] = 0
            return y.cos()

        self.check(early, torch.randn(3, 4))

    # ---- what stays with torch ----

    def test_refused_parts(self):
        net = nn.Linear(4, 4)

        def function(x):
            return net(torch.linalg.eigvals(net(x)).abs()).relu()

        self.check(function, torch.randn(4, 4))
        ours, theirs = self.nodes()
        self.assertGreaterEqual(ours, 3)
        self.assertTrue(any("eigvals" in reason for reason in self.reasons()), self.reasons())
        self.assertIn("eigvals", str(byoc.torch.explain()))
        self.assertLessEqual(theirs, 2)

    def test_ops_without_a_form_in_onnx(self):
        net = nn.Linear(4, 4)

        def function(x):
            return torch.special.bessel_j0(net(x).relu()) @ net(x)

        self.check(function, torch.randn(4, 4))
        self.assertEqual(self.nodes()[1], 1, byoc.torch.explain())
        self.assertTrue(any("bessel_j0" in reason for reason in self.reasons()), self.reasons())

    def test_graph_breaks(self):
        def function(x):
            y = torch.relu(x) + 1
            torch._dynamo.graph_break()
            return y * 2

        self.check(function, torch.randn(3))
        explained = byoc.torch.explain()
        self.assertEqual(len(explained["graphs"]), 2)
        self.assertTrue(explained["breaks"])
        self.assertIn("graph_break", str(explained))
        torch._dynamo.reset()
        self.assertEqual(byoc.torch.explain()["graphs"], [])

    def test_random_numbers(self):
        def function(x):
            return torch.nn.functional.dropout(x + 1, 0.5, True) * 2

        fast, x = self.compiled(function), torch.ones(1000)
        torch.manual_seed(3)
        got = fast(x)
        torch.manual_seed(3)
        self.same(got, function(x))
        self.assertTrue(any("random" in reason for reason in self.reasons()))

    def test_autocast(self):
        net = nn.Linear(8, 8)

        def function(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = net(x)
            return y.float() + 1

        self.check(function, torch.randn(2, 8))
        self.assertTrue(any("autocast" in reason for reason in self.reasons()))

    def test_numbers_as_arguments(self):
        def function(x, n, scale):
            return x.repeat(n, 1) * scale + n

        fast = self.compiled(function)
        for n, scale in ((1, 0.5), (2, 1.5), (3, 2.5), (5, 3.5)):
            x = torch.randn(2, 3)
            self.same(fast(x, n, scale), function(x, n, scale))

    def test_numbers_of_modules(self):
        """With dynamic=True, Dynamo passes the epsilon of a normalisation as an input."""
        norm = nn.BatchNorm1d(3).eval()
        self.check(norm, torch.randn(4, 3), dynamic=True)
        self.assertEqual(self.nodes(), (1, 0), byoc.torch.explain())

    def test_sizes_that_depend_on_values(self):
        def function(x):
            return x[x > 0].sum() + x.max()

        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
            self.check(function, torch.randn(10))

    def test_types(self):
        def function(x, k, mask, h):
            return torch.where(mask, x[k], x.sum()), (k + 1) // 2, ~mask, x.double() * 2, h + 1

        self.check(function, torch.randn(4), torch.tensor([0, 3, 1]), torch.tensor([True, False, True]),
                   torch.randn(3).bfloat16())

    def test_no_ops_and_no_tensors(self):
        self.check(lambda x: x, torch.randn(2))
        self.check(lambda x: torch.arange(5) + 1, torch.randn(2))
        self.check(lambda x: {"a": (x + 1, None), "b": 3}, torch.randn(2))

    def test_complex_tensors(self):
        self.check(lambda x: torch.view_as_real(torch.polar(x.abs(), x)) * 2, torch.randn(3))

    # ---- errors ----

    def error(self, function):
        with self.assertRaises(Exception) as caught:
            function()
        return str(caught.exception)

    def test_training(self):
        net, x = nn.Linear(3, 2), torch.randn(4, 3)
        text = self.error(lambda: self.compiled(net)(x))
        for words in ("a result needs gradients", "torch.inference_mode()", "requires_grad_(False)"):
            self.assertIn(words, text)
        torch._dynamo.reset()
        fast = self.compiled(net)
        with torch.inference_mode():
            self.same(fast(x), net(x))
        with torch.no_grad():
            self.same(fast(x), net(x))
        self.assertIn("a result needs gradients", self.error(lambda: fast(x)))
        frozen = copy.deepcopy(net).requires_grad_(False)
        self.same(self.compiled(frozen)(x), frozen(x))
        self.assertIn("a result needs gradients", self.error(lambda: self.compiled(lambda x: x * 2)(x.requires_grad_())))

    def test_no_grad_inside(self):
        net = nn.Linear(3, 3)

        def function(x):
            with torch.no_grad():
                y = net(x)
            return y * 2

        x = torch.randn(2, 3)
        got = self.compiled(function)(x)
        self.same(got, function(x))
        self.assertFalse(got.requires_grad)
        self.assertTrue(torch.is_grad_enabled())

    def test_options(self):
        x = torch.randn(2, 3)
        self.same(self.compiled(torch.relu, options={"compiler": "llvm", "threads": 1})(x), torch.relu(x))
        part = byoc.torch.explain()["graphs"][0]["parts"][0]
        self.assertEqual([row["plugin"] for row in part["plugins"]], ["llvm"])
        self.assertIn("options of the backend are not shapes", self.error(
            lambda: self.compiled(torch.relu, options={"shapes": {"N": 1}})(x)))
        self.assertIn("options of the backend are not speed", self.error(lambda: self.compiled(torch.tanh, options={"speed": 9})(x)))
        self.assertIn('has no mode "max-autotune"', self.error(lambda: self.compiled(torch.sin, mode="max-autotune")(x)))
        self.assertIn("nonsense", self.error(lambda: self.compiled(torch.cos, options={"compiler": "nonsense"})(x)))

    def test_threads(self):
        net, x = nn.Sequential(nn.Linear(16, 16), nn.ReLU()), torch.randn(4, 16)
        fast = self.compiled(net)
        with torch.no_grad():
            expected, faults = net(x), []
            fast(x)

            def work():
                try:
                    with torch.no_grad():
                        for _ in range(50):
                            self.same(fast(x), expected)
                except BaseException as fault:
                    faults.append(fault)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(faults, [])

    def test_found_by_name(self):
        self.assertIn("byoc", torch._dynamo.list_backends())

    def test_found_by_the_entry_point(self):
        """As where a package is installed: Dynamo loads the backend by its name, before or after it is imported."""
        folder = Path(tempfile.mkdtemp())
        info = folder / "byoc-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: byoc\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text("[torch_dynamo_backends]\nbyoc = byoc.torch:backend\n")
        for first in ("import torch", "import byoc.torch"):
            text = (f"{first}\nfrom torch._dynamo.backends.registry import lookup_backend\nfound = lookup_backend('byoc')\n"
                    "import byoc.torch\nassert found is byoc.torch.backend is lookup_backend('byoc')")
            subprocess.run([sys.executable, "-c", text], check=True,
                           env={**os.environ, "PYTHONPATH": f"{folder}:{SOURCE / 'python'}"})


if __name__ == "__main__":
    unittest.main()
