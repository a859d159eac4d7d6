// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/expression.h"

#include <algorithm>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/te/module.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/move.h"

namespace byoc::op {

using te::BinaryOp;
using te::UnaryOp;
using te::Var;

DType computing_dtype(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Expr widened(Expr x) {
  DType dtype = computing_dtype(x.dtype());
  return te::cast(dtype, std::move(x));
}

namespace {

// Casts with saturation. The ends of an integer type are literals of it and numbers of the float
// type of x, rounded as saturated() rounds them.
Expr saturating_cast(DType to, const Expr& x) {
  return *for_dtype<Expr>("cast", to, IntTypes{}, [&]<class T>() -> Expr {
    using Limits = std::numeric_limits<T>;
    Expr low = like(x, static_cast<double>(Limits::lowest()));
    Expr high = like(x, static_cast<double>(Limits::max()));
    Expr least = te::int_constant(to, static_cast<int64_t>(Limits::lowest()));
    Expr most = te::int_constant(to, static_cast<int64_t>(Limits::max()));
    Expr inside = select(x >= high, most, te::cast(to, x));
    return select(is_nan(x), zero(to), select(x <= low, least, inside));
  });
}

}  // namespace

Expr converted_to(DType dtype, Expr x) {
  if (x.dtype() == dtype) return x;
  x = widened(std::move(x));
  if (dtype == DType::kBool) return x != zero(x.dtype());
  if (is_float(x.dtype()) && is_int(dtype)) return saturating_cast(dtype, x);
  return te::cast(dtype, te::cast(computing_dtype(dtype), std::move(x)));
}

Expr literal(DType dtype, double value) {
  return *for_dtype<Expr>("a constant", dtype, AllTypes{}, [&]<class T>() -> Expr {
    T element = static_cast<T>(static_cast<Compute<T>>(value));
    if constexpr (std::is_integral_v<T>)
      return te::int_constant(dtype, static_cast<int64_t>(element));
    else return te::constant(dtype, static_cast<double>(element));
  });
}

Expr saturated_literal(DType dtype, double value) {
  if (is_float(dtype)) return literal(dtype, value);
  return *for_dtype<Expr>("a constant", dtype, IntTypes{}, [&]<class T>() -> Expr {
    return te::int_constant(dtype, static_cast<int64_t>(saturated<T>(value)));
  });
}

Expr zero(DType dtype) { return te::constant(dtype, 0); }
Expr like(const Expr& x, double value) { return literal(x.dtype(), value); }

Expr is_nan(Expr x) {
  if (!is_float(x.dtype())) return te::int_constant(DType::kBool, 0);
  return te::unary(UnaryOp::kIsNan, std::move(x));
}

Expr all_of(std::span<const Expr> conditions) {
  if (conditions.empty()) return te::int_constant(DType::kBool, 1);
  Expr all = conditions[0];
  for (const Expr& condition : conditions.subspan(1)) all = std::move(all) && condition;
  return all;
}

Expr is_within(const Expr& index, const Expr& extent) { return Expr(0) <= index && index < extent; }

Expr clamped(Expr index, int64_t low, int64_t high) {
  return min(max(std::move(index), low), high);
}

// Selects explicitly, because min and max return their second operand when one is NaN.
Expr greatest_of(const Expr& a, const Expr& b) {
  if (a.dtype() == DType::kBool) return a || b;
  if (!is_float(a.dtype())) return max(a, b);
  return select(is_nan(b), b, max(b, a));
}
Expr least_of(const Expr& a, const Expr& b) {
  if (a.dtype() == DType::kBool) return a && b;
  if (!is_float(a.dtype())) return min(a, b);
  return select(is_nan(b), b, min(b, a));
}

// Returns W. Kahan's quotient, in which the logarithm of the rounded sum corrects the
// rounding of 1 + x.
Expr log_1p(const Expr& x) {
  Expr one = like(x, 1), sum = one + x;
  return select(sum == one, x, te::unary(UnaryOp::kLog, sum) * x / (sum - one));
}

// Returns e^x - 1 as tanh(x / 2) (e^x + 1), which has no cancellation.
Expr exp_m1(const Expr& x) {
  return te::unary(UnaryOp::kTanh, x * like(x, 0.5)) * (unary(UnaryOp::kExp, x) + like(x, 1));
}

ExprFn applied(UnaryOp op) {
  return [op](Expr x) { return te::unary(op, std::move(x)); };
}
ExprFn2 applied(BinaryOp op) {
  return [op](Expr a, Expr b) { return te::binary(op, std::move(a), std::move(b)); };
}

Ints extents(const Tensor& tensor) {
  Ints out;
  for (const Expr& extent : tensor.shape()) {
    const auto known = as_int(extent);
    BYOC_CHECK(known.has_value(), "dim ", out.size(), " of a tensor of rank ", tensor.rank(),
               " is not known");
    out.push_back(*known);
  }
  return out;
}

TensorType type_of(const Tensor& tensor) {
  TensorType out{tensor.dtype(), {}};
  for (const Expr& extent : tensor.shape()) {
    const Result<Dim> dim = te::dim_of(extent);
    BYOC_CHECK(dim.ok(), dim.status().message());
    out.shape.push_back(*dim);
  }
  return out;
}

Status needs_number(std::string_view op, Dim dim) {
  return unimplemented(cat(op, ": the dim ", dim, " must be a number: bind it to one first"))
      .with_slug("symbolic-shape");
}

Exprs as_exprs(const Ints& numbers) { return {numbers.begin(), numbers.end()}; }

Expr flat_index(const Exprs& indices, const Ints& extents) {
  BYOC_CHECK(indices.size() == extents.size(), indices.size(), " indices of rank ", extents.size());
  Expr flat = 0;
  bool is_first = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (extents[d] == 1) continue;
    flat = is_first ? indices[d] : flat * extents[d] + indices[d];
    is_first = false;
  }
  return flat;
}

Exprs unflattened(const Expr& flat, const Ints& extents) {
  Exprs out(extents.size(), Expr(0));
  int64_t step = 1;
  size_t first = 0;
  while (first < extents.size() && extents[first] == 1) ++first;
  for (size_t d = extents.size(); d-- > first;) {
    if (extents[d] <= 1) continue;  // an empty tensor is never read
    Expr at = step == 1 ? flat : floor_div(flat, step);
    out[d] = d == first ? at : floor_mod(at, extents[d]);  // nothing wraps around in the outermost
    step *= extents[d];
  }
  return out;
}

Exprs reshaped_index(const Exprs& at, const Ints& to, const Ints& from) {
  BYOC_CHECK(at.size() == to.size(), at.size(), " indices of rank ", to.size());
  Exprs out(from.size(), Expr(0));
  if (std::count(from.begin(), from.end(), 0) > 0) return out;  // nothing is read
  size_t t = 0, f = 0;
  while (f < from.size() || t < to.size()) {
    // Find the fewest dims of both that hold the same elements.
    size_t t_end = std::min(t + 1, to.size()), f_end = std::min(f + 1, from.size());
    int64_t t_count = t < to.size() ? to[t] : 1, f_count = f < from.size() ? from[f] : 1;
    while (t_count != f_count) {
      BYOC_CHECK(t_count < f_count ? t_end < to.size() : f_end < from.size(), "dims ", t, " of ",
                 to.size(), " and ", f, " of ", from.size(), " hold other elements");
      if (t_count < f_count) t_count *= to[t_end++];
      else f_count *= from[f_end++];
    }
    auto slice = [](const auto& list, size_t begin, size_t end) {
      return std::decay_t<decltype(list)>(list.begin() + static_cast<ptrdiff_t>(begin),
                                          list.begin() + static_cast<ptrdiff_t>(end));
    };
    Expr flat = flat_index(slice(at, t, t_end), slice(to, t, t_end));
    Exprs part = unflattened(flat, slice(from, f, f_end));
    std::copy(part.begin(), part.end(), out.begin() + static_cast<ptrdiff_t>(f));
    t = t_end, f = f_end;
  }
  return out;
}

namespace {

// Dims [t, t_end) and [f, f_end) of two shapes hold the same elements.
struct Group {
  size_t t, t_end, f, f_end;
};

// Returns the fewest dims of both from there on that hold the same elements.
Result<Group> next_group(const Shape& to, const Shape& from, size_t t, size_t f) {
  Group out{t, std::min(t + 1, to.size()), f, std::min(f + 1, from.size())};
  Dim t_count = t < to.size() ? to[t] : Dim(1), f_count = f < from.size() ? from[f] : Dim(1);
  while (!(t_count == f_count)) {
    const bool grows_to = t_count.max() < f_count.max() ||
                          (t_count.max() == f_count.max() && t_count.min() < f_count.min());
    if (grows_to ? out.t_end == to.size() : out.f_end == from.size())
      return needs_number("reshape", is_open(t_count) ? t_count : f_count);
    Dim& count = grows_to ? t_count : f_count;
    BYOC_TRY(count, dim_product(count, grows_to ? to[out.t_end++] : from[out.f_end++]));
  }
  return out;
}

Expr open_flat(std::span<const Expr> indices, std::span<const Dim> dims) {
  Expr flat;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (dims[d] == Dim(1)) continue;
    flat = flat.is_empty() ? indices[d] : flat * te::extent_of(dims[d]) + indices[d];
  }
  return flat.is_empty() ? Expr(0) : flat;
}

// Writes the indices in dims that hold so many elements.
void open_unflattened(const Expr& flat, std::span<const Dim> dims, std::span<Expr> out) {
  size_t first = 0;
  while (first < dims.size() && dims[first] == Dim(1)) ++first;
  Expr step;
  for (size_t d = dims.size(); d-- > first;) {
    if (dims[d] == Dim(1)) continue;
    const Expr extent = te::extent_of(dims[d]), at = step.is_empty() ? flat : floor_div(flat, step);
    out[d] = d == first ? at : floor_mod(at, extent);
    step = step.is_empty() ? extent : step * extent;
  }
}

}  // namespace

Exprs unflattened(const Expr& flat, const Shape& dims) {
  Exprs out(dims.size(), Expr(0));
  open_unflattened(flat, dims, out);
  return out;
}

Result<std::function<Exprs(const Exprs&)>> reshaped_by(const Shape& to, const Shape& from) {
  std::vector<Group> groups;
  for (size_t t = 0, f = 0; t < to.size() || f < from.size();) {
    BYOC_TRY(Group group, next_group(to, from, t, f));
    groups.push_back(group);
    t = group.t_end, f = group.f_end;
  }
  return std::function<Exprs(const Exprs&)>([=](const Exprs& at) {
    Exprs out(from.size(), Expr(0));
    for (const Group& group : groups) {
      const size_t t_count = group.t_end - group.t, f_count = group.f_end - group.f;
      const Expr flat = open_flat(std::span(at).subspan(group.t, t_count),
                                  std::span(to).subspan(group.t, t_count));
      open_unflattened(flat, std::span(from).subspan(group.f, f_count),
                       std::span(out).subspan(group.f, f_count));
    }
    return out;
  });
}

te::Stmt nested_loops(const Ints& extents, const std::function<te::Stmt(const Exprs&)>& body) {
  return loops_over(as_exprs(extents), body);
}

te::Stmt loops_over(const Exprs& extents, const std::function<te::Stmt(const Exprs&)>& body) {
  std::vector<Var> vars;
  for (size_t d = 0; d < extents.size(); ++d) vars.emplace_back(cat("i", d));
  te::Stmt stmt = body({vars.begin(), vars.end()});
  for (size_t d = extents.size(); d-- > 0;)
    stmt = te::make_for(vars[d], 0, extents[d], te::LoopKind::kSerial, std::move(stmt));
  return stmt;
}

Exprs broadcast_index(const Tensor& x, const Exprs& at) {
  Exprs out;
  BYOC_CHECK(x.rank() <= at.size(), "rank ", x.rank(), " is read with ", at.size(), " indices");
  size_t shift = at.size() - x.rank();
  for (size_t d = 0; d < x.rank(); ++d)
    out.push_back(as_int(x.shape()[d]) == 1 ? Expr(0) : at[d + shift]);
  return out;
}

namespace {
te::Combiner folding(DType dtype, te::Combiner base, Expr (*combine)(const Expr&, const Expr&)) {
  if (dtype != DType::kBool && !is_float(dtype)) return base;
  return {base.lhs, base.rhs, base.identity, {combine(base.lhs[0], base.rhs[0])}};
}

// Returns a combiner of bools, which have neither min nor max.
te::Combiner of_bools(bool identity, bool any) {
  Var lhs("lhs", DType::kBool), rhs("rhs", DType::kBool);
  Expr a = lhs, b = rhs;
  return {{lhs}, {rhs}, {te::int_constant(DType::kBool, identity)}, {any ? a || b : a && b}};
}
}  // namespace

te::Combiner greatest_combiner(DType dtype) {
  if (dtype == DType::kBool) return of_bools(false, true);
  return folding(dtype, te::max_of(dtype), greatest_of);
}
te::Combiner least_combiner(DType dtype) {
  if (dtype == DType::kBool) return of_bools(true, false);
  return folding(dtype, te::min_of(dtype), least_of);
}

int64_t no_position(bool last) { return last ? -1 : std::numeric_limits<int64_t>::max(); }

// Treats NaN as the greatest of all values, so a search for the least one starts there.
te::Combiner arg_combiner(DType dtype, bool greatest, bool last) {
  Var value("value", dtype), at("at"), other("other", dtype), other_at("other_at");
  Expr a = value, b = other;
  auto is_less = [](const Expr& x, const Expr& y) {
    return is_float(x.dtype()) ? x < y || (is_nan(y) && !is_nan(x)) : x < y;
  };
  Expr better = greatest ? is_less(a, b) : is_less(b, a);
  Expr worse = greatest ? is_less(b, a) : is_less(a, b);
  Expr wins_tie = last ? Expr(at) < Expr(other_at) : Expr(other_at) < Expr(at);
  Expr takes = better || (!worse && wins_tie);
  Expr start = greatest          ? te::max_of(dtype).identity[0]
               : is_float(dtype) ? te::constant(dtype, std::numeric_limits<double>::quiet_NaN())
                                 : te::min_of(dtype).identity[0];
  return {{value, at},
          {other, other_at},
          {start, Expr(no_position(last))},
          {select(takes, b, a), select(takes, Expr(other_at), Expr(at))}};
}

Tensor sum_over(te::Builder& builder, std::string name, Exprs shape, Exprs over, DType dtype,
                const std::function<Expr(const Exprs&, const Exprs&)>& term) {
  return builder.reduce(std::move(name), std::move(shape), std::move(over),
                        te::sum_of(computing_dtype(dtype)), term);
}

Tensor stored_as(te::Builder& builder, std::string name, DType dtype, Tensor x) {
  if (x.dtype() == dtype) return x;
  return builder.compute(std::move(name), x.shape(),
                         [&](const Exprs& i) { return converted_to(dtype, x(i)); });
}

ComputeFn map_compute(std::string name, std::function<ExprFn(const Attrs&)> make) {
  return with_open_sizes(
      [=](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) -> Result<Tensors> {
        ExprFn f = make(attrs);
        return one(builder.compute(name, in[0].shape(), [&](const Exprs& i) {
          return converted_to(out[0]->dtype, f(widened(in[0](i))));
        }));
      });
}

ComputeFn broadcast_compute(std::string name, std::function<ExprFn2(const Attrs&)> make) {
  return with_open_sizes(
      [=](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) -> Result<Tensors> {
        ExprFn2 f = make(attrs);
        return one(builder.compute(name, te::extents_of(*out[0]), [&](const Exprs& i) {
          BYOC_CHECK(in.size() == 2, name, " of ", in.size(), " operands");
          Expr a = widened(in[0](broadcast_index(in[0], i)));
          Expr b = widened(in[1](broadcast_index(in[1], i)));
          return converted_to(out[0]->dtype, f(std::move(a), std::move(b)));
        }));
      });
}

ComputeFn move_compute(
    std::string name,
    std::function<Result<IndexFn>(Types in, const TensorType& out, const Attrs&)> make) {
  return [=](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) -> Result<Tensors> {
    TypeId types[] = {type_of(in[0])};
    BYOC_TRY(IndexFn index, make(types, *out[0], attrs));
    return one(builder.compute(name, te::extents_of(*out[0]),
                               [&](const Exprs& i) { return in[0](index(i)); }));
  };
}

}  // namespace byoc::op
