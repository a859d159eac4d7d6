# SPDX-License-Identifier: Apache-2.0
"""One block of each of the seventeen networks of tests/models/networks. Channels and images are those of a layer of the
network; sequences and hidden sizes of transformers are smaller. Of two mobile networks there is a second block, of a
large image, whose convolutions are one kernel. Each function returns a graph and its result."""
from graphs import Graph


def resnet18():
    g = Graph(x=(1, 64, 28, 28))
    y = g.conv(g.conv("x", 64, 3), 64, 3, then=None)
    return g, g.op("relu", g.op("add", y, "x"))


def resnet50():
    g = Graph(x=(1, 256, 14, 14))
    y = g.conv(g.conv(g.conv("x", 64), 64, 3), 256, then=None)
    return g, g.op("relu", g.op("add", y, "x"))


def vgg16():
    g = Graph(x=(1, 64, 28, 28))
    return g, g.pool(g.conv(g.conv("x", 128, 3), 128, 3), "max_pool", 2, 2, 0)


def mobilenet_v2():
    g = Graph(x=(1, 24, 28, 28))
    y = g.conv(g.conv("x", 144, then="clip"), 144, 3, group=144, then="clip")
    return g, g.op("add", g.conv(y, 24, then=None), "x")


def mobilenet_v2_large():
    g = Graph(x=(1, 24, 56, 56))
    y = g.conv(g.conv("x", 144, then="clip"), 144, 3, group=144, then="clip")
    return g, g.op("add", g.conv(y, 24, then=None), "x")


def mobilenet_v3():
    g = Graph(x=(1, 40, 14, 14))
    y = g.conv(g.conv("x", 120, then="hard_swish"), 120, 5, group=120, then="hard_swish")
    y = g.conv(g.excite(y, 32, "relu", "hard_sigmoid"), 40, then=None)
    return g, g.op("add", y, "x")


def efficientnet_b0():
    g = Graph(x=(1, 40, 14, 14))
    y = g.conv(g.conv("x", 240, then="swish"), 240, 5, group=240, then="swish")
    y = g.conv(g.excite(y, 10, "swish", "sigmoid"), 40, then=None)
    return g, g.op("add", y, "x")


def efficientnet_b0_large():
    g = Graph(x=(1, 16, 112, 112))
    y = g.conv(g.conv("x", 96, then="swish"), 96, 3, stride=2, group=96, then="swish")
    return g, g.conv(g.excite(y, 4, "swish", "sigmoid"), 24, then=None)


def shufflenet_v2():
    g = Graph(x=(1, 116, 28, 28))
    left = g.op("slice", "x", result=(1, 58, 28, 28), axes=[1], starts=[0], ends=[58])
    right = g.op("slice", "x", result=(1, 58, 28, 28), axes=[1], starts=[58], ends=[116])
    right = g.conv(g.conv(g.conv(right, 58), 58, 3, group=58, then=None), 58)
    y = g.reshape(g.concat(left, right), 1, 2, 58, 28, 28)
    return g, g.reshape(g.transpose(y, 0, 2, 1, 3, 4), 1, 116, 28, 28)


def squeezenet():
    g = Graph(x=(1, 128, 27, 27))
    y = g.conv("x", 16)
    return g, g.concat(g.conv(y, 64), g.conv(y, 64, 3))


def googlenet():
    g = Graph(x=(1, 192, 14, 14))
    pooled = g.pool("x", "max_pool", 3, 1, 1)
    return g, g.concat(g.conv("x", 64), g.conv(g.conv("x", 96), 128, 3), g.conv(g.conv("x", 16), 32, 3),
                       g.conv(pooled, 32))


def inception_v3():
    g = Graph(x=(1, 128, 17, 17))
    y = g.conv(g.conv(g.conv("x", 64), 64, (1, 7)), 96, (7, 1))
    return g, g.concat(y, g.conv("x", 96), g.conv(g.pool("x", "average_pool", 3, 1, 1), 96))


def densenet121():
    g = Graph(x=(1, 64, 28, 28))
    y = "x"
    for _ in range(2):
        scaled = g.op("add", g.op("multiply", y, g.constant(g.shapes[y][1], 1, 1)),
                      g.constant(g.shapes[y][1], 1, 1))
        y = g.concat(y, g.conv(g.conv(g.op("relu", scaled), 128), 32, 3, then=None))
    return g, y


def norm(g, x):
    hidden = g.shapes[x][-1]
    return g.op("layer_norm", x, g.constant(hidden), g.constant(hidden))


def attention(g, x, heads, mask=None):
    n, t, hidden = g.shapes[x]

    def head(then):
        return g.transpose(g.reshape(g.dense(x, hidden), n, t, heads, hidden // heads), *then)

    scores = g.product(head((0, 2, 1, 3)), head((0, 2, 3, 1)))
    scores = g.op("multiply", scores, g.constant())
    if mask:
        scores = g.op("add", scores, mask)
    y = g.product(g.op("softmax", scores), head((0, 2, 1, 3)))
    return g.dense(g.reshape(g.transpose(y, 0, 2, 1, 3), n, t, hidden), hidden)


def gelu(g, x, **attrs):
    return g.op("gelu", x, **attrs)


def bert_base():
    g = Graph(x=(1, 32, 192), mask=(1, 1, 1, 32))
    y = norm(g, g.op("add", attention(g, "x", 3, "mask"), "x"))
    return g, norm(g, g.op("add", g.dense(gelu(g, g.dense(y, 768)), 192), y))


def gpt2():
    g = Graph(x=(1, 16, 192), mask=(1, 1, 16, 16))
    y = g.op("add", attention(g, norm(g, "x"), 3, "mask"), "x")
    return g, g.op("add", g.dense(gelu(g, g.dense(norm(g, y), 768), approximate="tanh"), 192), y)


def vit_b_16():
    g = Graph(x=(1, 197, 192))
    y = g.op("add", attention(g, norm(g, "x"), 3), "x")
    return g, g.op("add", g.dense(gelu(g, g.dense(norm(g, y), 768)), 192), y)


def lstm():
    time, batch, width, hidden = 8, 1, 80, 128
    g = Graph(x=(time, batch, width))
    w, r, b = g.constant(1, 4 * hidden, width), g.constant(1, 4 * hidden, hidden), g.constant(1, 8 * hidden)
    g.multiply_adds += time * batch * 4 * hidden * (width + hidden)
    return g, g.op("lstm", "x", w, r, b, result=(time, 1, batch, hidden))


def mlp(rows):
    g = Graph(x=(rows, 784))
    return g, g.dense(g.dense(g.dense("x", 512, "relu"), 256, "relu"), 10)


def mlp_b1():
    return mlp(1)


def mlp_b64():
    return mlp(64)


BLOCKS = [resnet18, resnet50, vgg16, mobilenet_v2, mobilenet_v2_large, mobilenet_v3, efficientnet_b0,
          efficientnet_b0_large, shufflenet_v2, squeezenet, googlenet, inception_v3, densenet121, bert_base, gpt2,
          vit_b_16, lstm, mlp_b1, mlp_b64]
