// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes: each is a state that elements are added to.
#include "core/op/reduce/reduce.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {

ReduceWalk reduce_walk(TypeId x, const std::vector<size_t>& axes) {
  std::vector<int64_t> extents = static_extents(x->shape), strides = row_major_strides(extents);
  std::vector<int64_t> kept, kept_step, taken, taken_step;
  int64_t n = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    bool is_taken = std::binary_search(axes.begin(), axes.end(), d);
    (is_taken ? taken : kept).push_back(extents[d]);
    (is_taken ? taken_step : kept_step).push_back(strides[d]);
    if (is_taken) n *= extents[d];
  }
  BYOC_CHECK(taken.size() == axes.size(), taken.size(), " of ", axes.size(), " axes are dims of ",
             x);
  return {Walk<1>(kept, {kept_step}), Walk<1>(taken, {taken_step}), n};
}

Shape reduced_shape(const Shape& x, const std::vector<size_t>& axes, bool keepdims) {
  Shape shape;
  for (size_t d = 0; d < x.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) shape.push_back(x[d]);
    else if (keepdims) shape.push_back(Dim(1));
  }
  return shape;
}

namespace {

// Sums floats in f64. `result(n)` is called once, after n elements.
template <class T>
struct SumOf {
  Sum<T> total = 0;
  void add(Compute<T> x) { total += static_cast<Sum<T>>(x); }
  Sum<T> result(int64_t) const { return total; }
};

template <class T>
struct MeanOf : SumOf<T> {
  auto result(int64_t n) const {
    if constexpr (std::is_floating_point_v<Sum<T>>) return this->total / static_cast<double>(n);
    else if constexpr (std::is_signed_v<T>) return n ? static_cast<int64_t>(this->total) / n : 0;
    else return n ? this->total / static_cast<uint64_t>(n) : 0;
  }
};

// The result is NaN when an element is NaN, and the neutral element when there are none.
template <class T>
struct MaxOf {
  using C = Compute<T>;
  using Limits = std::numeric_limits<C>;
  C best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  void add(C x) { best = x > best || x != x ? x : best; }
  C result(int64_t) const { return best; }
};

template <class T>
struct MinOf {
  using C = Compute<T>;
  using Limits = std::numeric_limits<C>;
  C best = Limits::has_infinity ? Limits::infinity() : Limits::max();
  void add(C x) { best = x < best || x != x ? x : best; }
  C result(int64_t) const { return best; }
};

template <class T>
struct ProdOf {
  Sum<T> product = 1;
  void add(Compute<T> x) { product *= static_cast<Sum<T>>(x); }
  Sum<T> result(int64_t) const { return product; }
};

template <class T>
struct L1Of : SumOf<T> {
  void add(Compute<T> x) {
    auto value = static_cast<Sum<T>>(x);
    this->total += x < Compute<T>(0) ? -value : value;
  }
};

template <class T>
struct SumSquareOf : SumOf<T> {
  void add(Compute<T> x) {
    auto value = static_cast<Sum<T>>(x);
    this->total += value * value;
  }
};

template <class T>
struct L2Of {
  double total = 0;
  void add(Compute<T> x) { total += static_cast<double>(x) * static_cast<double>(x); }
  double result(int64_t) const { return std::sqrt(total); }
};

template <class T>
struct LogSumOf {
  double total = 0;
  void add(Compute<T> x) { total += static_cast<double>(x); }
  double result(int64_t) const { return std::log(total); }
};

// Sums e^(x - top), rescaled when the top rises, so that nothing overflows.
template <class T>
struct LogSumExpOf {
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  void add(Compute<T> element) {
    auto x = static_cast<double>(element);
    if (x > top) {
      total = total * std::exp(top - x) + 1;
      top = x;
    } else {
      total += x == top ? 1 : std::exp(x - top);
    }
  }
  double result(int64_t) const { return top + std::log(total); }
};

// Returns the axes. An empty list means all of them, unless the attribute makes it mean none.
Result<std::vector<size_t>> axes_of(std::string_view op, TypeId x, const Attrs& attrs) {
  BYOC_TRY(std::vector<size_t> axes, normal_axes(op, attrs.ints("axes"), x));
  if (!axes.empty() || attrs.b("noop_with_empty_axes", false)) return axes;
  for (size_t d = 0; d < x->shape.size(); ++d) axes.push_back(d);
  return axes;
}

// Computes one element of the result from the elements at `x` that are reduced together.
using ReduceOne = void (*)(const ReduceWalk& walk, const void* x, void* y);

template <class T, class State>
void reduce_one(const ReduceWalk& walk, const void* x, void* y) {
  State state;
  const T* from = static_cast<const T*>(x);
  for_taken(walk, 0, [&](int64_t at) { state.add(Compute<T>(from[at])); });
  *static_cast<T*>(y) = converted<T>(state.result(walk.n_taken));
}

RefKernel reduce_kernel(TypeId x, const std::vector<size_t>& axes, ReduceOne reduce) {
  auto size = static_cast<int64_t>(dtype_size(x->dtype));
  return [walk = reduce_walk(x, axes), reduce, size](const void* const* in, void* const* out) {
    char* y = out_as<char>(out, 0);
    for_kept(walk, [&](int64_t base) {
      reduce(walk, in_as<char>(in, 0) + base * size, y);
      y += size;
    });
  };
}

// A reduction as expressions: `term` of one element, folded by `combiner`, then `finish` of the
// result and the number of elements. All have the type that `state_dtype` gives for x's type.
struct ReduceExpr {
  DType (*state_dtype)(DType) = computing_dtype;
  ExprFn term = [](Expr x) { return x; };
  te::Combiner (*combiner)(DType) = te::sum_of;
  std::function<Expr(Expr state, Expr n)> finish = [](Expr state, Expr) { return state; };
};

DType float_dtype(DType x) { return is_float(x) ? computing_dtype(x) : DType::kF64; }
// Returns f64, in which squares of f32 neither overflow nor underflow.
DType double_dtype(DType) { return DType::kF64; }
// Returns a 64-bit type for integers, for reductions that do more than wrap around.
DType wide_dtype(DType x) {
  if (is_float(x)) return computing_dtype(x);
  return is_signed_int(x) ? DType::kI64 : DType::kU64;
}

Expr mean_expr(Expr total, const Expr& n) {
  const auto count = as_int(n);
  if (!is_float(total.dtype()) && count == 0) return zero(total.dtype());
  if (!count) return total / te::cast(total.dtype(), n);
  return total / te::constant(total.dtype(), static_cast<double>(*count));
}

Expr magnitude(Expr x) {
  bool is_signed = is_float(x.dtype()) || is_signed_int(x.dtype());
  return is_signed ? te::unary(te::UnaryOp::kAbs, x) : x;
}

Expr square(Expr x) { return x * x; }

std::function<Expr(Expr, Expr)> finished_by(te::UnaryOp op) {
  return [op](Expr state, const Expr&) { return te::unary(op, std::move(state)); };
}

// Maps a position `kept` of the result to the elements of x that are reduced together there.
struct ReduceShape {
  std::vector<bool> taken;
  bool keepdims;
  Exprs over;  // extents taken
  Expr n = 1;

  Exprs index(const Exprs& kept, const Exprs& r) const {
    Exprs x;
    size_t next_kept = 0, next_taken = 0;
    for (bool is_taken : taken) {
      BYOC_CHECK(is_taken ? next_taken < r.size() : next_kept < kept.size(), "dim ", x.size(),
                 " has no index");
      x.push_back(is_taken ? r[next_taken++] : kept[next_kept]);
      next_kept += !is_taken || keepdims;
    }
    return x;
  }
};

ReduceShape reduce_shape(const Tensor& x, const std::vector<size_t>& axes, bool keepdims) {
  ReduceShape shape{std::vector<bool>(x.rank()), keepdims, {}};
  BYOC_CHECK(std::is_sorted(axes.begin(), axes.end()), "axes are not in order");
  for (size_t axis : axes) {
    BYOC_CHECK(axis < x.rank() && !shape.taken[axis], "dim ", axis, " of rank ", x.rank(),
               " is reduced");
    shape.taken[axis] = true;
    shape.over.push_back(x.shape()[axis]);
    shape.n = te::simplify(shape.n * x.shape()[axis]);
  }
  return shape;
}

Tensor reduced(te::Builder& builder, const std::string& name, const Tensor& x,
               const ReduceShape& shape, TypeId y, const ReduceExpr& how) {
  DType state = how.state_dtype(x.dtype());
  auto term = [&](const Exprs& i, const Exprs& r) {
    return how.term(te::cast(state, x(shape.index(i, r))));
  };
  Exprs extents = te::extents_of(*y);
  if (shape.over.empty()) {  // each element alone
    return builder.compute(name, extents, [&](const Exprs& i) {
      return converted_to(y->dtype, how.finish(term(i, {}), 1));
    });
  }
  Tensor total = builder.reduce(name, extents, shape.over, how.combiner(state), term);
  Expr probe = te::Var("total", state);
  if (state == y->dtype && how.finish(probe, shape.n).same_as(probe)) return total;
  return builder.compute(name, extents, [&](const Exprs& i) {
    return converted_to(y->dtype, how.finish(total(i), shape.n));
  });
}

// Returns ln sum e^x as top + ln sum e^(x - top); elements equal to top count as e^0,
// also for infinity.
Tensor log_sum_exp(te::Builder& builder, const Tensor& x, const ReduceShape& shape, TypeId y) {
  BYOC_CHECK(!shape.over.empty(), "a sum of exponentials over no dim");
  DType dtype = float_dtype(x.dtype());
  Exprs extents = te::extents_of(*y);
  auto element = [&](const Exprs& i, const Exprs& r) {
    return te::cast(dtype, x(shape.index(i, r)));
  };
  Tensor top = builder.reduce("top", extents, shape.over, greatest_combiner(dtype), element);
  Tensor total = builder.reduce(
      "sum_exp", extents, shape.over, te::sum_of(dtype), [&](const Exprs& i, const Exprs& r) {
        Expr value = element(i, r);
        Expr exp = te::unary(te::UnaryOp::kExp, value - top(i));
        return select(value == top(i), like(exp, 1), exp);  // infinities too
      });
  return builder.compute("log_sum_exp", extents, [&](const Exprs& i) {
    return converted_to(y->dtype, top(i) + te::unary(te::UnaryOp::kLog, total(i)));
  });
}

ComputeFn reduce_compute(std::string name, ReduceExpr how) {
  return [=](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) -> Result<Tensors> {
    const TensorType x = type_of(in[0]);
    BYOC_TRY(auto axes, axes_of(name, x, attrs));
    ReduceShape shape = reduce_shape(in[0], axes, attrs.b("keepdims", true));
    if (name != "log_sum_exp" || axes.empty())
      return one(reduced(builder, name, in[0], shape, out[0], how));
    return one(log_sum_exp(builder, in[0], shape, out[0]));
  };
}

template <template <class> class State, class List>
OpDef reduction(std::string name, std::string doc, List list, ReduceExpr how = {}) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kReduction};
  op.inputs = {{"x", cat("one of ", dtypes_of(list))}};
  op.attrs = {{"axes", Ints{}, "each in [-rank, rank); none: all axes"},
              {"keepdims", true, "reduced axes stay with extent 1"},
              {"noop_with_empty_axes", false, "no axes: every element alone"}};
  op.infer = [name, list](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "x", inputs[0], dtypes_of(list)));
    BYOC_TRY(auto axes, axes_of(name, inputs[0], attrs));
    return one_result(
        {inputs[0]->dtype, reduced_shape(inputs[0]->shape, axes, attrs.b("keepdims", true))});
  };
  op.reference = [name, list](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(auto axes, axes_of(name, inputs[0], attrs));
    BYOC_TRY(ReduceOne reduce,
             for_dtype<ReduceOne>(name, inputs[0]->dtype, list,
                                  []<class T>() -> ReduceOne { return reduce_one<T, State<T>>; }));
    return reduce_kernel(inputs[0], axes, reduce);
  };
  op.compute = with_open_sizes(reduce_compute(name, std::move(how)));
  op.flops = [](Types inputs, Types, const Attrs&) { return flop_count(inputs[0]); };
  return op;
}

}  // namespace

void add_reduce_ops(OpRegistry& ops) {
  constexpr NumericTypes kNumeric;
  constexpr AllTypes kAll;
  using te::UnaryOp;
  ops.add(reduction<SumOf>("sum", "y = sum of x over `axes`; integers wrap around", kNumeric));
  ops.add(with_facts(
      reduction<MeanOf>("mean",
                        "y = sum of x over `axes` / their number, cut towards 0 for integers",
                        kNumeric, {.state_dtype = wide_dtype, .finish = mean_expr}),
      {.family = OpFamily::kMean}));
  ops.add(reduction<MaxOf>("max", "y = the greatest x over `axes`; NaN wins", kAll,
                           {.combiner = greatest_combiner}));
  ops.add(reduction<MinOf>("min", "y = the least x over `axes`; NaN wins", kAll,
                           {.combiner = least_combiner}));
  ops.add(reduction<ProdOf>("prod", "y = product of x over `axes`; integers wrap around", kNumeric,
                            {.combiner = te::product_of}));
  ops.add(reduction<L1Of>("l1", "y = sum of |x| over `axes`", kNumeric, {.term = magnitude}));
  ops.add(reduction<L2Of>(
      "l2", "y = (sum of x^2 over `axes`)^(1/2)", kNumeric,
      {.state_dtype = double_dtype, .term = square, .finish = finished_by(UnaryOp::kSqrt)}));
  ops.add(reduction<SumSquareOf>("sum_square", "y = sum of x^2 over `axes`; integers wrap around",
                                 kNumeric, {.term = square}));
  ops.add(reduction<LogSumOf>("log_sum", "y = ln of the sum of x over `axes`", kNumeric,
                              {.state_dtype = float_dtype, .finish = finished_by(UnaryOp::kLog)}));
  // For one element ln e^x is x, the result when no axes are reduced.
  ops.add(reduction<LogSumExpOf>("log_sum_exp", "y = ln of the sum of e^x over `axes`", kNumeric));
}

}  // namespace byoc::op
