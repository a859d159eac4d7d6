// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declarations of micro-kernels.
#include "dags.h"

namespace byoc::te {

/// Returns c[m, n] += a[m, k] * b[k, n]. Variables as extents match any extent. With
/// `is_dense`, b and c are dense along n.
inline TensorIntrin multiply_tile(std::string name, Expr m, Expr n, Expr k, bool is_dense) {
  Builder builder;
  Tensor a = builder.placeholder("a", DType::kF32, {m, k});
  Tensor b = builder.placeholder("b", DType::kF32, {k, n});
  Tensor c = builder.reduce(
      "c", {m, n}, {k}, sum_of(DType::kF32),
      [&](const Indices& i, const Indices& r) { return a(i[0], r[0]) * b(r[0], i[1]); });
  constexpr int64_t kAny = TensorIntrin::kAnyStride;
  TensorIntrin out{std::move(name), builder.finish("multiply", {a, b}, {c}), {}};
  if (is_dense) out.strides = {{kAny, kAny}, {kAny, 1}, {kAny, 1}};
  return out;
}
inline TensorIntrin tile_4x8() { return multiply_tile("tile_4x8", 4, 8, Var("k"), true); }
inline TensorIntrin tile_of_any() {
  return multiply_tile("tile_of_any", Var("m"), Var("n"), Var("k"), false);
}

/// Returns c += sum of a[k] * b[k].
inline TensorIntrin dot() {
  Builder builder;
  Var k("k");
  Tensor a = builder.placeholder("a", DType::kF32, {k}),
         b = builder.placeholder("b", DType::kF32, {k});
  Tensor c = builder.reduce("c", {}, {k}, sum_of(DType::kF32),
                            [&](const Indices&, const Indices& r) { return a(r[0]) * b(r[0]); });
  return {"dot", builder.finish("dot", {a, b}, {c}), {}};
}

/// Returns c[n] = max(a[n], 0).
inline TensorIntrin clamp() {
  Builder builder;
  Var n("n");
  Tensor a = builder.placeholder("a", DType::kF32, {n});
  Tensor c = builder.compute("c", {n}, [&](const Indices& i) { return max(a(i[0]), f32(0)); });
  return {"clamp", builder.finish("clamp", {a}, {c}), {}};
}

/// Returns c[m, n] = a[n, m] + 1, like an instruction that transposes.
inline TensorIntrin next_transposed() {
  Builder builder;
  Var m("m"), n("n");
  Tensor a = builder.placeholder("a", DType::kF32, {n, m});
  Tensor c = builder.compute("c", {m, n}, [&](const Indices& i) { return a(i[1], i[0]) + f32(1); });
  return {"next_transposed", builder.finish("next", {a}, {c}), {}};
}

/// Returns c = the maximum of c and all a[k].
inline TensorIntrin greatest() {
  Builder builder;
  Var k("k");
  Tensor a = builder.placeholder("a", DType::kF32, {k});
  Tensor c = builder.reduce("c", {}, {k}, max_of(DType::kF32),
                            [&](const Indices&, const Indices& r) { return a(r[0]); });
  return {"greatest", builder.finish("greatest", {a}, {c}), {}};
}

}  // namespace byoc::te
