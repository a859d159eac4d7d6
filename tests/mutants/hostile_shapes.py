# SPDX-License-Identifier: Apache-2.0
"""Parts of hostile models that hostile_models.py and hostile_kinds.py share."""
from onnx import TensorProto, helper

F, I, B, S, U8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING, TensorProto.UINT8
HUGE, LEAST = (1 << 63) - 1, -(1 << 63)


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    """A field of protobuf with its length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def info(name, shape=(2, 3), dtype=F):
    return helper.make_tensor_value_info(name, dtype, shape)


def tensor(name, values, dtype=I, dims=None):
    return helper.make_tensor(name, dtype, dims if dims is not None else [len(values)], values)


def scalar(name, value):
    return helper.make_tensor(name, F, [], [value])


def node(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "g", inputs, outputs)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, **more):
    made = helper.make_graph(nodes, "g", inputs if inputs is not None else [info("x")],
                             outputs if outputs is not None else [info("y", None)], list(initializers))
    out = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], **more)
    out.ir_version = 8
    return out


def bodies(depth):
    """The bytes of `depth` bodies of If in each other; no library writes or reads so many."""
    def head(number, length):
        return varint(number << 3 | 2) + varint(length)

    leaf = graph([node("Identity", ["x"], ["b"])], [], [info("b", None)]).SerializeToString()
    size, before, after = len(leaf), [], []
    for _ in range(depth):
        attribute = head(1, 11) + b"then_branch" + b"\xa0\x01\x05"     # its name, and that it is a graph
        inner = attribute + head(6, size)
        op = head(1, 1) + b"c" + head(2, 1) + b"b" + head(4, 2) + b"If"
        attributes = head(5, len(inner) + size) + inner
        node_head = head(1, len(op) + len(attributes) + size)
        tail = head(12, 3) + head(1, 1) + b"b"                          # the output of the graph
        before.append(node_head + op + attributes)
        after.append(tail)
        size += len(before[-1]) + len(tail)
    top = model([node("Identity", ["b"])], [info("x"), info("c", (), B)])
    rest = top.graph.SerializeToString()
    top.ClearField("graph")
    return top.SerializeToString() + head(7, size + len(rest)) + b"".join(reversed(before)) + leaf + b"".join(after) + rest
