// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small Dags for the tests of schedules: reductions, shared stages, windows and reshapes.
#include "byoc/te/tensor.h"

namespace byoc::te {

inline Expr f32(double value) { return constant(DType::kF32, value); }

/// Returns relu(x [m, k] x w [k, n] + bias [n]).
inline Dag matmul_bias_relu(int64_t m, int64_t k, int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, k}), w = b.placeholder("w", DType::kF32, {k, n});
  Tensor bias = b.placeholder("bias", DType::kF32, {n});
  Tensor y =
      b.reduce("matmul", {m, n}, {k}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(r[0], i[1]); });
  Tensor sum = b.compute("add", {m, n}, [&](const Indices& i) { return y(i) + bias(i[1]); });
  Tensor out = b.compute("relu", {m, n}, [&](const Indices& i) { return max(sum(i), f32(0)); });
  return b.finish("matmul_bias_relu", {x, w, bias}, {out});
}

/// Returns exp(-|x|) * 2 + x, with one stage per operation.
inline Dag chain(int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {n});
  Tensor a = b.compute("a", {n}, [&](const Indices& i) { return unary(UnaryOp::kAbs, x(i)); });
  Tensor e = b.compute("e", {n}, [&](const Indices& i) { return -a(i); });
  Tensor t = b.compute("t", {n}, [&](const Indices& i) { return e(i) * f32(2) + x(i); });
  return b.finish("chain", {x}, {t});
}

/// Returns a Dag [m, n] -> [n, m] in which one stage has two readers whose results are
/// combined and transposed.
inline Dag diamond(int64_t m, int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, n});
  Tensor top = b.compute("top", {m, n}, [&](const Indices& i) { return x(i) + f32(1); });
  Tensor left = b.compute("left", {m, n}, [&](const Indices& i) { return top(i) * f32(3); });
  Tensor right = b.compute("right", {n, m}, [&](const Indices& i) { return -top(i[1], i[0]); });
  Tensor out =
      b.compute("out", {n, m}, [&](const Indices& i) { return left(i[1], i[0]) - right(i); });
  return b.finish("diamond", {x}, {out});
}

/// Returns relu of a 3x3 convolution of [c, h, w] with [o, c, 3, 3], padded by one.
inline Dag conv_relu(int64_t c, int64_t h, int64_t w, int64_t o) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {c, h, w});
  Tensor weight = b.placeholder("weight", DType::kF32, {o, c, 3, 3});
  Tensor pad = b.compute("pad", {c, h + 2, w + 2}, [&](const Indices& i) {
    Expr is_inside = i[1] >= 1 && i[1] < h + 1 && i[2] >= 1 && i[2] < w + 1;
    return select(is_inside, x(i[0], i[1] - 1, i[2] - 1), f32(0));
  });
  Tensor y = b.reduce("conv", {o, h, w}, {c, 3, 3}, sum_of(DType::kF32),
                      [&](const Indices& i, const Indices& r) {
                        return pad(r[0], i[1] + r[1], i[2] + r[2]) * weight(i[0], r[0], r[1], r[2]);
                      });
  Tensor out = b.compute("relu", {o, h, w}, [&](const Indices& i) { return max(y(i), f32(0)); });
  return b.finish("conv_relu", {x, weight}, {out});
}

/// Returns a softmax along the last axis of [m, n]. Squares replace the exponentials, so that
/// all results are exact.
inline Dag softmax_like(int64_t m, int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, n});
  Tensor top = b.reduce("max", {m}, {n}, max_of(DType::kF32),
                        [&](const Indices& i, const Indices& r) { return x(i[0], r[0]); });
  Tensor e = b.compute("exp", {m, n}, [&](const Indices& i) {
    Expr d = x(i) - top(i[0]);
    return d * d + f32(1);
  });
  Tensor sum = b.reduce("sum", {m}, {n}, sum_of(DType::kF32),
                        [&](const Indices& i, const Indices& r) { return e(i[0], r[0]); });
  Tensor out = b.compute("div", {m, n}, [&](const Indices& i) { return e(i) / sum(i[0]); });
  return b.finish("softmax_like", {x}, {out});
}

/// Returns the value and the index of the first largest element of each row of [m, n].
inline Dag argmax(int64_t m, int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, n});
  Var value("value", DType::kF32), at("at"), other("other", DType::kF32), place("place");
  Expr is_better = other > value || (Expr(other) == Expr(value) && place < at);
  Combiner combiner{{value, at},
                    {other, place},
                    {f32(-1e30), int_constant(DType::kI64, INT64_MAX)},
                    {select(is_better, other, value), select(is_better, place, at)}};
  std::vector<Tensor> y =
      b.reduce_all("argmax", {m}, {n}, combiner, [&](const Indices& i, const Indices& r) {
        return Exprs{x(i[0], r[0]), r[0]};
      });
  return b.finish("argmax", {x}, {y[0], y[1]});
}

/// Returns two consecutive matrix products: (x [m, k] x w [k, n]) x v [n, p].
inline Dag two_matmuls(int64_t m, int64_t k, int64_t n, int64_t p) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, k}), w = b.placeholder("w", DType::kF32, {k, n});
  Tensor v = b.placeholder("v", DType::kF32, {n, p});
  Tensor y =
      b.reduce("first", {m, n}, {k}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(r[0], i[1]); });
  Tensor z =
      b.reduce("second", {m, p}, {n}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return y(i[0], r[0]) * v(r[0], i[1]); });
  return b.finish("two_matmuls", {x, w, v}, {z});
}

/// Returns elementwise stages with reshapes [m, n] -> [m * n] -> [n, m] between them, so that
/// indices have divisions.
inline Dag reshapes(int64_t m, int64_t n) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {m, n});
  Tensor a = b.compute("a", {m, n}, [&](const Indices& i) { return x(i) + f32(1); });
  Tensor flat = b.compute("flat", {m * n}, [&](const Indices& i) {
    return a(floor_div(i[0], n), floor_mod(i[0], n)) * f32(2);
  });
  Tensor out = b.compute("out", {n, m}, [&](const Indices& i) { return -flat(i[0] * m + i[1]); });
  return b.finish("reshapes", {x}, {out});
}

}  // namespace byoc::te
