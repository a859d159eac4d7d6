// SPDX-License-Identifier: Apache-2.0
#pragma once
// What computes share: an op's results as tensor expressions (te/tensor.h). 16-bit floats are
// loaded, computed with as f32, and cast back; integers wrap around in their own type.
#include <span>

#include "byoc/te/tensor.h"
#include "core/op/kernel/util.h"

namespace byoc::op {

using te::Expr;
using te::Exprs;
using te::Tensor;
using Tensors = std::vector<Tensor>;
using Inputs = std::span<const Tensor>;
using ExprFn = std::function<Expr(Expr)>;
using ExprFn2 = std::function<Expr(Expr, Expr)>;

/// f32 for the two 16-bit floats, else the type itself.
DType computing_dtype(DType dtype);
/// `x` in the type it is computed in.
Expr widened(Expr x);
/// By the rules of cast: floats saturate to integers, NaN gives 0; f64 becomes a 16-bit float by
/// way of f32.
Expr converted_to(DType dtype, Expr x);
/// A constant that `dtype` holds exactly: `value` as static_cast makes it.
Expr literal(DType dtype, double value);
/// The same, cut and clamped to the range of an integer type.
Expr saturated_literal(DType dtype, double value);
Expr zero(DType dtype);
/// A constant of x's type.
Expr like(const Expr& x, double value);

Expr is_nan(Expr x);  // false for integers
/// Whether all hold; true for none.
Expr all_of(std::span<const Expr> conditions);
/// 0 <= index < extent.
Expr is_within(const Expr& index, int64_t extent);
Expr clamped(Expr index, int64_t low, int64_t high);
/// The greater of two numbers, NaN if one of them is; the first of equals.
Expr greatest_of(const Expr& a, const Expr& b);
Expr least_of(const Expr& a, const Expr& b);
/// ln(1 + x) and e^x - 1, to a few units in the last place also near 0.
Expr log_1p(const Expr& x);
Expr exp_m1(const Expr& x);

/// f for op tables: `applied(te::UnaryOp::kExp)`.
ExprFn applied(te::UnaryOp op);
ExprFn2 applied(te::BinaryOp op);

/// Extents of a tensor of static shape.
Ints extents(const Tensor& tensor);
Exprs as_exprs(const Ints& numbers);
/// Row-major position, and the indices that have it.
Expr flat_index(const Exprs& indices, const Ints& extents);
Exprs unflattened(const Expr& flat, const Ints& extents);
/// The indices into `from` of the element that stands at `at` in the same elements as `to`. Dims
/// that both shapes share are passed through.
Exprs reshaped_index(const Exprs& at, const Ints& to, const Ints& from);
/// Loops over all `extents` around body(indices).
te::Stmt nested_loops(const Ints& extents, const std::function<te::Stmt(const Exprs&)>& body);
/// One number that statements may change.
struct Scalar {
  Tensor place;
  Scalar(std::string name, DType dtype) : place(std::move(name), dtype, {Expr(1)}) {}
  Expr get() const { return place(0); }
  te::Stmt set(Expr value) const { return te::make_store(place, {0}, std::move(value)); }
  /// `body` in which the number lives.
  te::Stmt in(te::Stmt body) const {
    return te::make_alloc(place, te::Scope::kStack, std::move(body));
  }
};

/// The indices of `x` broadcast to a tensor that is read at `at`.
Exprs broadcast_index(const Tensor& x, const Exprs& at);

/// Combiners that NaN wins, whatever the order.
te::Combiner greatest_combiner(DType dtype);
te::Combiner least_combiner(DType dtype);
/// Of a value and its position: the extreme one, the least position of equals (or the last one).
te::Combiner arg_combiner(DType dtype, bool greatest, bool last);
/// The position in that combiner's identity: behind all others, or before.
int64_t no_position(bool last);

/// `term` summed in `dtype`'s computing type (or folded by `combiner` of that type).
Tensor sum_over(te::Builder& builder, std::string name, Exprs shape, Exprs over, DType dtype,
                const std::function<Expr(const Exprs&, const Exprs&)>& term);
/// `x` as `dtype`, element by element; `x` itself when it has the type.
Tensor stored_as(te::Builder& builder, std::string name, DType dtype, Tensor x);

/// y = f(x), f of the type that elements are computed in.
ComputeFn map_compute(std::string name, std::function<ExprFn(const Attrs&)> make);
/// y = f(a, b) with broadcasting.
ComputeFn broadcast_compute(std::string name, std::function<ExprFn2(const Attrs&)> make);
/// y[i] = x[index(i)]: `make` reads shapes and attributes once.
using IndexFn = std::function<Exprs(const Exprs&)>;
ComputeFn move_compute(
    std::string name,
    std::function<Result<IndexFn>(Types in, const TensorType& out, const Attrs&)> make);

/// f without attributes, as `make`.
inline auto always(ExprFn f) {
  return [f = std::move(f)](const Attrs&) { return f; };
}
inline auto always(ExprFn2 f) {
  return [f = std::move(f)](const Attrs&) { return f; };
}

inline Result<Tensors> one(Tensor tensor) { return Tensors{std::move(tensor)}; }

}  // namespace byoc::op
