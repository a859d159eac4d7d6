# SPDX-License-Identifier: Apache-2.0
"""A text model as exporters of such models write it: weights of 4 bits in blocks, grouped attention with a cache."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from case import DOMAIN, Random
from float_cases import packed

WIDTH, INNER, WORDS, SIZE, HEADS, GROUPS, BLOCK, MOST = 32, 48, 40, 16, 2, 1, 16, 24


class Decoder:
    """Builds the graph node by node; the names of values are those of their nodes."""

    def __init__(self, layers):
        self.random, self.nodes, self.weights, self.outputs = Random("decoder"), [], [], []
        self.fixed("words", self.random.f32(WORDS, WIDTH))
        turns = np.arange(MOST)[:, None] / 10.0 ** np.arange(0, 1, 2 / SIZE)[None]
        self.fixed("cos", np.cos(turns).astype(np.float32))
        self.fixed("sin", np.sin(turns).astype(np.float32))
        self.lengths()
        x = self.node("embed", "Gather", ["words", "input_ids"], domain="")[0]
        y = self.node("norm", "SimplifiedLayerNormalization", [x, self.scale("norm.scale")], domain="",
                      epsilon=1e-6, axis=-1)[0]
        for k in range(layers):
            x, y = self.layer(f"layer{k}", x, y)
        self.outputs.append(self.product("logits", y, WIDTH, WORDS))

    def fixed(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def scale(self, name):
        return self.fixed(name, self.random.f32(WIDTH, scale=0.2, shift=1.0))

    def node(self, name, op, inputs, outputs=1, domain=DOMAIN, **attrs):
        results = [name] + [f"{name}.{k}" for k in range(1, outputs)]
        self.nodes.append(helper.make_node(op, inputs, results, name=name, domain=domain, **attrs))
        return results

    def lengths(self):
        """The lengths that attention reads, from the mask."""
        self.fixed("one", np.array([1], np.int64))
        self.fixed("at_one", np.array(1, np.int64))
        self.node("count", "ReduceSum", ["attention_mask", "one"], domain="", keepdims=0)
        self.node("last", "Sub", ["count", "one"], domain="")
        self.node("seqlens", "Cast", ["last"], domain="", to=TensorProto.INT32)
        self.node("extents", "Shape", ["attention_mask"], domain="")
        self.node("extent", "Gather", ["extents", "at_one"], domain="", axis=0)
        self.node("total", "Cast", ["extent"], domain="", to=TensorProto.INT32)

    def product(self, name, x, k, n):
        count = -(-k // BLOCK)
        inputs = [x, self.fixed(f"{name}.b", packed(self.random.u8(n, count, BLOCK, high=16), 4)),
                  self.fixed(f"{name}.scales", self.random.positive(n, count, low=0.02, high=0.06)),
                  self.fixed(f"{name}.zeros", packed(self.random.u8(n, count, low=6, high=11), 4))]
        return self.node(name, "MatMulNBits", inputs, K=k, N=n, bits=4, block_size=BLOCK, accuracy_level=1)[0]

    def layer(self, name, x, y):
        qkv = self.product(f"{name}.qkv", y, WIDTH, (HEADS + 2 * GROUPS) * SIZE)
        attended = self.node(f"{name}.attention", "GroupQueryAttention",
                             [qkv, "", "", f"{name}.past_key", f"{name}.past_value", "seqlens", "total", "cos", "sin"],
                             3, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        self.outputs += attended[1:]
        out = self.product(f"{name}.out", attended[0], HEADS * SIZE, WIDTH)
        y, _, _, x = self.node(f"{name}.norm1", "SkipSimplifiedLayerNormalization",
                               [x, out, self.scale(f"{name}.scale1")], 4, epsilon=1e-6)
        gate = self.product(f"{name}.gate", y, WIDTH, INNER)
        up = self.product(f"{name}.up", y, WIDTH, INNER)
        curve = self.node(f"{name}.sigmoid", "Sigmoid", [gate], domain="")[0]
        swish = self.node(f"{name}.swish", "Mul", [gate, curve], domain="")[0]
        inner = self.node(f"{name}.inner", "Mul", [swish, up], domain="")[0]
        down = self.product(f"{name}.down", inner, INNER, WIDTH)
        y, _, _, x = self.node(f"{name}.norm2", "SkipSimplifiedLayerNormalization",
                               [x, down, self.scale(f"{name}.scale2")], 4, epsilon=1e-6)
        return x, y


def decoder(layers, length, past, cache):
    """Returns the model for `length` new words after `past`, with a cache of `cache` positions, and its inputs."""
    built = Decoder(layers)
    r = Random("decoder inputs")
    feeds = {"input_ids": r.i32(1, length, high=WORDS).astype(np.int64),
             "attention_mask": np.ones((1, past + length), np.int64)}
    for k in range(layers):
        for part in ("key", "value"):
            before = r.f32(1, GROUPS, cache, SIZE)
            before[:, :, past:] = 0
            feeds[f"layer{k}.past_{part}"] = before
    for node in built.nodes:  # outputs without readers are left out
        if node.op_type == "SkipSimplifiedLayerNormalization":
            node.output[1] = node.output[2] = ""
    graph = helper.make_graph(
        built.nodes, "decoder",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in built.outputs], built.weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]), feeds
