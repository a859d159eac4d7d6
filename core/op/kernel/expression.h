// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of computes: an op's results as tensor expressions (te/tensor.h). 16-bit floats are
// loaded, computed with as f32, and cast back; integers wrap around in their own type.
#include <span>

#include "byoc/ir/dim.h"
#include "byoc/te/copy.h"
#include "byoc/te/simplify.h"
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

/// Returns f32 for the two 16-bit floats, else the type itself.
DType computing_dtype(DType dtype);
/// Returns `x` in the type it is computed in.
Expr widened(Expr x);
/// Converts by the rules of cast: floats saturate to integers, NaN gives 0; f64 becomes a 16-bit
/// float by way of f32.
Expr converted_to(DType dtype, Expr x);
/// Returns a constant that `dtype` holds exactly: `value` as static_cast makes it.
Expr literal(DType dtype, double value);
/// Returns the same, cut and clamped to the range of an integer type.
Expr saturated_literal(DType dtype, double value);
Expr zero(DType dtype);
inline Expr f64(double value) { return te::constant(DType::kF64, value); }
/// Returns a constant of x's type.
Expr like(const Expr& x, double value);

Expr is_nan(Expr x);  // false for integers
/// Returns true when all are true, and when there are none.
Expr all_of(std::span<const Expr> conditions);
/// Returns 0 <= index < extent.
Expr is_within(const Expr& index, const Expr& extent);
Expr clamped(Expr index, int64_t low, int64_t high);
/// Returns the greater of two numbers, NaN if one of them is; the first of equals.
Expr greatest_of(const Expr& a, const Expr& b);
Expr least_of(const Expr& a, const Expr& b);
/// Return ln(1 + x) and e^x - 1, to a few units in the last place also near 0.
Expr log_1p(const Expr& x);
Expr exp_m1(const Expr& x);

/// Returns f for op tables: `applied(te::UnaryOp::kExp)`.
ExprFn applied(te::UnaryOp op);
ExprFn2 applied(te::BinaryOp op);

/// Returns the extents of a tensor of static shape.
Ints extents(const Tensor& tensor);
/// Returns the type of a tensor, whose extents may be expressions of sizes.
TensorType type_of(const Tensor& tensor);
/// Returns an error for a compute that needs the number of an open dim.
Status needs_number(std::string_view op, Dim dim);
Exprs as_exprs(const Ints& numbers);
/// Convert between a row-major position and the indices that have it.
Expr flat_index(const Exprs& indices, const Ints& extents);
Exprs unflattened(const Expr& flat, const Ints& extents);
Exprs unflattened(const Expr& flat, const Shape& dims);  // which may be open
/// Returns the indices into `from` of the element that is at `at` in the same elements as `to`.
/// Dims that both shapes share are passed through.
Exprs reshaped_index(const Exprs& at, const Ints& to, const Ints& from);
/// Returns the same for shapes with open dims. Errors: kUnimplemented where the dims that hold the
/// same elements are not found.
Result<std::function<Exprs(const Exprs&)>> reshaped_by(const Shape& to, const Shape& from);
/// Makes loops over all `extents` around body(indices).
te::Stmt nested_loops(const Ints& extents, const std::function<te::Stmt(const Exprs&)>& body);
te::Stmt loops_over(const Exprs& extents, const std::function<te::Stmt(const Exprs&)>& body);
/// One number that statements may change.
struct Scalar {
  Tensor place;
  Scalar(std::string name, DType dtype) : place(std::move(name), dtype, {Expr(1)}) {}
  Expr get() const { return place(0); }
  te::Stmt set(Expr value) const { return te::make_store(place, {0}, std::move(value)); }
  /// Returns `body` in which the number lives.
  te::Stmt in(te::Stmt body) const {
    return te::make_alloc(place, te::Scope::kStack, std::move(body));
  }
};

/// Returns the indices of `x` broadcast to a tensor that is read at `at`.
Exprs broadcast_index(const Tensor& x, const Exprs& at);

/// Return combiners whose result is NaN when an element is, whatever the order.
te::Combiner greatest_combiner(DType dtype);
te::Combiner least_combiner(DType dtype);
/// Combines pairs of a value and its position: the extreme one, with the least position of equals
/// (or the last one).
te::Combiner arg_combiner(DType dtype, bool greatest, bool last);
/// Returns the position in that combiner's identity: after all others, or before.
int64_t no_position(bool last);

/// Sums `term` in `dtype`'s computing type (or folds it by `combiner` of that type).
Tensor sum_over(te::Builder& builder, std::string name, Exprs shape, Exprs over, DType dtype,
                const std::function<Expr(const Exprs&, const Exprs&)>& term);
/// Returns `x` as `dtype`, element by element; `x` itself when it has the type.
Tensor stored_as(te::Builder& builder, std::string name, DType dtype, Tensor x);

/// Returns the compute of y = f(x), f of the type that elements are computed in.
ComputeFn map_compute(std::string name, std::function<ExprFn(const Attrs&)> make);
/// Returns the compute of y = f(a, b) with broadcasting.
ComputeFn broadcast_compute(std::string name, std::function<ExprFn2(const Attrs&)> make);
/// Maps an index of y to one of x, y[i] = x[index(i)]: `make` reads shapes and attributes once.
using IndexFn = std::function<Exprs(const Exprs&)>;
ComputeFn move_compute(
    std::string name,
    std::function<Result<IndexFn>(Types in, const TensorType& out, const Attrs&)> make);

/// Returns f without attributes, as `make`.
inline auto always(ExprFn f) {
  return [f = std::move(f)](const Attrs&) { return f; };
}
inline auto always(ExprFn2 f) {
  return [f = std::move(f)](const Attrs&) { return f; };
}

inline Result<Tensors> one(Tensor tensor) { return Tensors{std::move(tensor)}; }

}  // namespace byoc::op
