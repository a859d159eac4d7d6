#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin in Python takes gelu and layer_norm out of an export of BERT.

    bert_test.py SOURCE BUILD
"""
import io
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/models")]

import byoc  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402  the folder's own

LAYERS = 2


def op(name, *args, **more):
    return {"op": name, "args": list(args), **more}


def const(name):
    return {"const": True, "as": name}


# As the exporter writes them: x / sqrt 2, erf, + 1, * x, * 0.5; and a layer norm before opset 17.
GELU = op("multiply", op("multiply", {"any": True, "as": "x"}, op("add", op("erf", op("divide", {"same": "x"}, const("root"))),
                                                                  const("one"))), const("half"))
CENTRED = op("subtract", {"any": True, "as": "x"}, op("mean", {"same": "x"}, attrs={"axes": [-1]}))
LAYER_NORM = op("add", op("multiply", op(
    "divide", {**CENTRED, "as": "centred"},
    op("sqrt", op("add", op("mean", op("power", {"same": "centred"}, const("two"))), const("epsilon")))), const("scale")),
    const("bias"))


def exported(opset):
    """Returns the file of a small BERT, its inputs, and torch's outputs."""
    torch.manual_seed(1)
    net = transformers.BertEncoder(vocabulary=50, positions=16, width=32, heads=4, hidden=64, layers=LAYERS).eval()
    ids = torch.randint(0, 50, (1, 12))
    mask = torch.ones(1, 12, dtype=torch.int64)
    mask[0, 9:] = 0
    data = io.BytesIO()
    torch.onnx.export(net, (ids, mask), data, opset_version=opset, input_names=["ids", "mask"])
    with torch.no_grad():
        wanted = [output.numpy() for output in net(ids, mask)]
    return data.getvalue(), (ids, mask), wanted


class Bert(unittest.TestCase):
    def setUp(self):
        self.broken = False
        self.calls = 0
        plugin = byoc.plugin.Plugin("bert", priority=70)

        def constants(node):
            return {name: node.constants[k] for k, name in node.captured.items() if node.constants[k] is not None}

        def is_gelu(node):
            found = {name: float(value) for name, value in constants(node).items()}
            expected = {"root": math.sqrt(2), "one": 1, "half": 0.5}
            return all(abs(found[name] - value) < 1e-6 for name, value in expected.items()) or f"other constants: {found}"

        @plugin.pattern("gelu", GELU, when=is_gelu)
        def gelu(x, root, one, half):
            self.calls += 1
            if self.broken:
                raise RuntimeError("the prototype is not ready")
            return x * (one + np.vectorize(math.erf, otypes=[np.float32])(x / root)) * half

        @plugin.pattern("spelled_layer_norm", LAYER_NORM, when=lambda node: constants(node)["two"] == 2 or "another power")
        def spelled_layer_norm(x, two, epsilon, scale, bias):
            self.calls += 1
            centred = x - x.mean(axis=-1, keepdims=True)
            return centred / np.sqrt((centred ** two).mean(axis=-1, keepdims=True) + epsilon) * scale + bias

        @plugin.op("layer_norm")
        def layer_norm(x, scale, bias, axis, epsilon, **others):
            self.calls += 1
            axes = tuple(range(axis % x.ndim, x.ndim))
            mean = x.mean(axis=axes, keepdims=True)
            inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)
            return (x - mean) * inverse * scale + bias

        plugin.register()
        self.options = {"compiler": ["bert", "onednn", "llvm"]}

    def check(self, opset, expected):
        model, inputs, wanted = exported(opset)
        explanation = byoc.explain(model, **self.options)
        taken = [row["composite"] or row["op"] for row in explanation["ops"] if row["plugin"] == "bert"]
        counts = {name: taken.count(name) for name in taken}
        self.assertEqual(counts, expected)
        others = {row["plugin"] for row in explanation["ops"]} - {"bert"}
        self.assertTrue(others & {"onednn", "llvm"})
        program = byoc.compile(model, **self.options)
        for output, value in zip(program(*inputs), wanted):
            np.testing.assert_allclose(output.numpy(), value, rtol=1e-4, atol=1e-5)
        self.assertGreaterEqual(self.calls, 3 * LAYERS + 1)
        verified = byoc.verify(model, inputs={"ids": inputs[0], "mask": inputs[1]}, **self.options)
        self.assertTrue(verified.ok, str(verified))
        return program, inputs, wanted

    def test_opset_17(self):
        program, inputs, wanted = self.check(17, {"bert.gelu": 5 * LAYERS, "layer_norm": 2 * LAYERS + 1})
        self.broken = True
        with self.assertRaises(byoc.Error) as caught:
            program(*inputs)
        for words in ("RuntimeError: the prototype is not ready", "bert_test.py", "bert_main"):
            self.assertIn(words, str(caught.exception))
        self.broken = False                                # it is survived
        np.testing.assert_allclose(program(*inputs)[0].numpy(), wanted[0], rtol=1e-4, atol=1e-5)

    def test_opset_14(self):
        """An export that spells gelu and layer_norm out."""
        self.check(14, {"bert.gelu": 5 * LAYERS, "bert.spelled_layer_norm": 9 * (2 * LAYERS + 1)})


if __name__ == "__main__":
    unittest.main()
