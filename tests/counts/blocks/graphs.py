# SPDX-License-Identifier: Apache-2.0
"""Functions as text for byoc, with the number of their multiply-adds worked out from the shapes."""


class Graph:
    """Writes a function, one value a line. Weights have one value for all elements, another one in each constant."""

    def __init__(self, **inputs):
        self.shapes = {name: tuple(shape) for name, shape in inputs.items()}
        self.head = ", ".join(f"%{name}: f32{list(shape)}".replace(" ", "") for name, shape in inputs.items())
        self.lines, self.constants, self.multiply_adds = [], 0, 0

    def add_line(self, text, shape):
        name = f"v{len(self.lines)}"
        self.lines.append(f"    %{name} = {text}")
        self.shapes[name] = tuple(shape)
        return name

    def op(self, op, *args, result=None, **attrs):
        text = ", ".join(f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
                         for key, value in attrs.items())
        names = ", ".join("%" + a for a in args)
        return self.add_line(f"{op}({names})" + (f" {{{text}}}" if text else ""), result or self.shapes[args[0]])

    def constant(self, *shape):
        self.constants += 1
        return self.add_line(f"const({0.01 / self.constants:.6f}) : f32{list(shape)}".replace(" ", ""), shape)

    def conv(self, x, o, kernel=1, stride=1, group=1, then="relu", pads=None):
        n, c, h, w = self.shapes[x]
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = pads or [kh // 2, kw // 2, kh // 2, kw // 2]
        oh, ow = (h + pads[0] + pads[2] - kh) // stride + 1, (w + pads[1] + pads[3] - kw) // stride + 1
        self.multiply_adds += n * o * oh * ow * (c // group) * kh * kw
        y = self.op("conv2d", x, self.constant(o, c // group, kh, kw), result=(n, o, oh, ow), pads=pads,
                    strides=[stride, stride], group=group)
        return self.activate(self.op("add", y, self.constant(o, 1, 1)), then)

    def activate(self, x, then):
        if then == "clip":
            return self.op("clip", x, min=0.0, max=6.0)
        if then == "swish":
            return self.op("multiply", x, self.op("sigmoid", x))
        return self.op(then, x) if then else x

    def dense(self, x, o, then=None):
        *rows, k = self.shapes[x]
        count = 1
        for extent in rows:
            count *= extent
        self.multiply_adds += count * k * o
        y = self.op("matmul", x, self.constant(k, o), result=(*rows, o))
        return self.activate(self.op("add", y, self.constant(o)), then)

    def product(self, a, b):
        *rows, m, k = self.shapes[a]
        n = self.shapes[b][-1]
        count = m * k * n
        for extent in rows:
            count *= extent
        self.multiply_adds += count
        return self.op("matmul", a, b, result=(*rows, m, n))

    def pool(self, x, op, kernel, stride, pad):
        n, c, h, w = self.shapes[x]
        oh, ow = ((extent + 2 * pad - kernel) // stride + 1 for extent in (h, w))
        return self.op(op, x, result=(n, c, oh, ow), kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=[pad] * 4)

    def concat(self, *parts):
        n, _, h, w = self.shapes[parts[0]]
        return self.op("concat", *parts, result=(n, sum(self.shapes[p][1] for p in parts), h, w), axis=1)

    def excite(self, x, squeezed, inner, gate):
        n, c, _, _ = self.shapes[x]
        y = self.op("global_average_pool", x, result=(n, c, 1, 1))
        y = self.conv(self.conv(y, squeezed, then=inner), c, then=None)
        return self.op("multiply", x, self.op(gate, y))

    def reshape(self, x, *shape):
        return self.op("reshape", x, result=shape, shape=list(shape))

    def transpose(self, x, *perm):
        shape = self.shapes[x]
        return self.op("transpose", x, result=[shape[k] for k in perm], perm=list(perm))

    def text(self, result):
        return f"module {{\n  fn main({self.head}) {{\n" + "\n".join(self.lines) + f"\n    return %{result}\n  }}\n}}\n"
