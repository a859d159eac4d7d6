// SPDX-License-Identifier: Apache-2.0
// Pooling as expressions: a reduction over the taps of each window, or over whole planes.
#include "byoc/base/check.h"
#include "core/op/kernel/pool_kernel.h"

namespace byoc::op {
namespace {

// A spatial dim, whose extents may be open.
struct PoolDim {
  Window window;
  Expr in, out;
  bool is_rounded_up;  // the number of windows
  // Returns true when a window may reach over `more` cells after the end of x.
  bool may_reach_over(int64_t more) const {
    const auto cells = as_int(in), places = as_int(out);
    if (!cells || !places) return is_rounded_up || window.pad_end > more;
    return (*places - 1) * window.stride - window.pad_begin + window.reach() > *cells + more;
  }
};

struct PoolExpr {
  Tensor x;
  std::vector<PoolDim> axes;
  Exprs shape, taps;
  DType dtype;  // of x

  // Returns the index of the element that tap r of the window of output cell i reads.
  Exprs cell(const Exprs& i, const Exprs& r) const {
    Exprs at = {i[0], i[1]};
    for (size_t d = 0; d < axes.size(); ++d) {
      const Window& w = axes[d].window;
      Expr start = i[2 + d] * w.stride;
      if (w.pad_begin > 0) start = start - w.pad_begin;
      at.push_back(start + r[d] * w.dilation);
    }
    return at;
  }
  bool may_leave_front(size_t d) const { return axes[d].window.pad_begin > 0; }
  bool may_leave_end(size_t d, int64_t more) const { return axes[d].may_reach_over(more); }
  // Returns the conditions for that element to be one of x.
  Exprs inside(const Exprs& at) const {
    Exprs conditions;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (may_leave_front(d)) conditions.push_back(Expr(0) <= at[2 + d]);
      if (may_leave_end(d, 0)) conditions.push_back(at[2 + d] < axes[d].in);
    }
    return conditions;
  }
  // Returns `value` of the element, or `none` where there is none.
  Expr guarded(const Exprs& at, const Expr& value, const Expr& none) const {
    Exprs conditions = inside(at);
    return conditions.empty() ? value : select(all_of(conditions), value, none);
  }
};

Result<PoolExpr> pool_expr(std::string_view op, Inputs in, Types out, const Attrs& attrs) {
  BYOC_CHECK(in[0].rank() >= 3 && in[0].rank() <= 5, op, " of rank ", in[0].rank());
  const TypeId x[] = {type_of(in[0])};
  BYOC_TRY(const std::vector<Window> windows, pool_windows(op, x, attrs));
  PoolExpr pool{in[0], {}, te::extents_of(*out[0]), {}, in[0].dtype()};
  for (size_t d = 0; d < windows.size(); ++d) {
    pool.axes.push_back(
        {windows[d], in[0].shape()[2 + d], pool.shape[2 + d], attrs.b("ceil_mode", false)});
    pool.taps.push_back(windows[d].kernel);
  }
  return pool;
}

// Counts the taps of output cell y of one dim that lie in [begin, end), like Taps.
Expr count_taps(const PoolDim& dim, const Expr& y, const Expr& begin, const Expr& end) {
  const Window& w = dim.window;
  Expr start = y * w.stride - w.pad_begin;
  auto taps_below = [&](const Expr& cell) {  // those before `cell`
    Expr rounded_up = te::simplify(cell + (w.dilation - 1)) - start;
    return clamped(w.dilation == 1 ? rounded_up : floor_div(rounded_up, w.dilation), 0, w.kernel);
  };
  return taps_below(end) - taps_below(begin);
}

Expr count_in_window(const PoolExpr& pool, const Exprs& i, bool include_pad) {
  int64_t known = 1;
  Expr count = 1;
  for (size_t d = 0; d < pool.axes.size(); ++d) {
    const PoolDim& dim = pool.axes[d];
    const Expr begin = include_pad ? -dim.window.pad_begin : 0;
    const int64_t more = include_pad ? dim.window.pad_end : 0;
    bool all = (include_pad || !pool.may_leave_front(d)) && !pool.may_leave_end(d, more);
    if (all) known *= dim.window.kernel;
    else count = count * count_taps(dim, i[2 + d], begin, te::simplify(dim.in + more));
  }
  return count * known;
}

// Returns the number of a cell in all of x, as `storage_order` counts.
Expr number_of(const PoolExpr& pool, const Exprs& at, bool column_major) {
  Ints x = extents(pool.x);
  BYOC_CHECK(at.size() == x.size() && x.size() >= 2, at.size(), " indices of rank ", x.size());
  Exprs order = at;
  if (column_major) {
    std::reverse(order.begin() + 2, order.end());
    std::reverse(x.begin() + 2, x.end());
  }
  return flat_index(order, x);
}

Dim open_dim_of(const Tensor& x) {
  for (Dim dim : type_of(x).shape) {
    if (is_open(dim)) return dim;
  }
  return 0;
}

Result<Tensors> max_pool_with_indices(te::Builder& builder, const PoolExpr& pool, Types out,
                                      bool column_major) {
  DType dtype = computing_dtype(pool.dtype);
  te::Combiner best = arg_combiner(dtype, true, false);
  if (has_open(type_of(pool.x).shape)) return needs_number("max_pool", open_dim_of(pool.x));
  Ints x = extents(pool.x);
  auto term = [&](const Exprs& i, const Exprs& r) -> Exprs {
    Exprs at = pool.cell(i, r);
    return {pool.guarded(at, widened(pool.x(at)), best.identity[0]),
            pool.guarded(at, number_of(pool, at, false), best.identity[1])};
  };
  Tensors found = builder.reduce_all("max_pool", pool.shape, pool.taps, best, term);
  BYOC_CHECK(found.size() == 2, found.size(), " results of an argmax");
  Tensor indices = builder.compute("indices", pool.shape, [&](const Exprs& i) {
    Expr cell = found[1](i);
    Expr number = column_major ? number_of(pool, unflattened(cell, x), true) : cell;
    return select(cell == no_position(false), Expr(-1), number);
  });
  return Tensors{stored_as(builder, "max_pool", out[0]->dtype, found[0]), indices};
}

// Returns |x|^p; p is most often 1 or 2.
Expr power_of_magnitude(const Expr& x, int64_t p) {
  Expr size = te::unary(te::UnaryOp::kAbs, x);
  if (p == 1) return size;
  if (p == 2) return x * x;
  return te::binary(te::BinaryOp::kPower, size, like(x, static_cast<double>(p)));
}
Expr root(const Expr& x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return te::unary(te::UnaryOp::kSqrt, x);
  return te::binary(te::BinaryOp::kPower, x, like(x, 1 / static_cast<double>(p)));
}

using Fold = std::function<Expr(Expr)>;

// Returns the indices of cell `flat` of these extents.
Exprs cell_at(const Expr& flat, const Exprs& extents) {
  Exprs at(extents.size());
  Expr rest = flat;
  for (size_t d = extents.size(); d-- > 0;) {
    at[d] = d == 0 ? rest : floor_mod(rest, extents[d]);
    if (d > 0) rest = floor_div(rest, extents[d]);
  }
  return at;
}

// Folds each plane of x [n, c, ...]. The cells of volumes are one axis: their rows are short.
Tensor fold_planes(te::Builder& builder, const Tensor& x, const std::string& name, Exprs shape,
                   const std::function<te::Combiner(DType)>& combiner, const Fold& term) {
  BYOC_CHECK(x.rank() >= 2, "planes of rank ", x.rank());
  Exprs over(x.shape().begin() + 2, x.shape().end());
  if (over.empty()) over.push_back(1);  // planes of one cell
  const Exprs cells = over;
  const bool is_volume = over.size() > 2;
  if (is_volume) {
    Expr count = 1;
    for (const Expr& extent : cells) count = te::simplify(count * extent);
    over = {count};
  }
  return builder.reduce(name, std::move(shape), over, combiner(computing_dtype(x.dtype())),
                        [&](const Exprs& i, const Exprs& r) {
                          Exprs at = {i[0], i[1]};
                          const Exprs cell = is_volume ? cell_at(r[0], cells) : r;
                          if (x.rank() > 2) at.insert(at.end(), cell.begin(), cell.end());
                          return term(widened(x(at)));
                        });
}

}  // namespace

Result<Tensors> compute_max_pool(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(PoolExpr pool, pool_expr("max_pool", in, out, attrs));
  if (out.size() == 2)
    return max_pool_with_indices(builder, pool, out, attrs.i("storage_order", 0) == 1);
  te::Combiner combiner = greatest_combiner(computing_dtype(pool.dtype));
  auto term = [&](const Exprs& i, const Exprs& r) {
    Exprs at = pool.cell(i, r);
    return pool.guarded(at, widened(in[0](at)), combiner.identity[0]);
  };
  Tensor y = builder.reduce("max_pool", pool.shape, pool.taps, combiner, term);
  return one(stored_as(builder, "max_pool", pool.dtype, y));
}

Result<Tensors> compute_average_pool(te::Builder& builder, Inputs in, Types out,
                                     const Attrs& attrs) {
  BYOC_TRY(PoolExpr pool, pool_expr("average_pool", in, out, attrs));
  bool include_pad = attrs.b("count_include_pad", false);
  auto term = [&](const Exprs& i, const Exprs& r) {
    Exprs at = pool.cell(i, r);
    Expr value = widened(in[0](at));
    return pool.guarded(at, value, zero(value.dtype()));
  };
  Tensor total = sum_over(builder, "sum", pool.shape, pool.taps, pool.dtype, term);
  return one(builder.compute("average_pool", pool.shape, [&](const Exprs& i) {
    Expr count = count_in_window(pool, i, include_pad), sum = total(i);
    if (auto known = as_int(count))
      return converted_to(pool.dtype, sum / like(sum, static_cast<double>(*known)));
    Expr mean = sum / te::cast(sum.dtype(), count);
    return converted_to(pool.dtype, select(count == Expr(0), zero(sum.dtype()), mean));
  }));
}

Result<Tensors> compute_lp_pool(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(PoolExpr pool, pool_expr("lp_pool", in, out, attrs));
  int64_t p = attrs.i("p", 2);
  auto term = [&](const Exprs& i, const Exprs& r) {
    Exprs at = pool.cell(i, r);
    Expr value = widened(in[0](at));
    return pool.guarded(at, power_of_magnitude(value, p), zero(value.dtype()));
  };
  Tensor total = sum_over(builder, "sum", pool.shape, pool.taps, pool.dtype, term);
  return one(builder.compute("lp_pool", pool.shape, [&](const Exprs& i) {
    return converted_to(pool.dtype, root(total(i), p));
  }));
}

Result<Tensors> compute_global_average_pool(te::Builder& builder, Inputs in, Types out,
                                            const Attrs&) {
  Exprs shape = te::extents_of(*out[0]);
  Tensor total = fold_planes(builder, in[0], "sum", shape, te::sum_of, [](Expr x) { return x; });
  Expr cells = 1;
  for (size_t d = 2; d < in[0].rank(); ++d) cells = te::simplify(cells * in[0].shape()[d]);
  const std::optional<int64_t> known = as_int(cells);
  return one(builder.compute("global_average_pool", shape, [&](const Exprs& i) {
    const Expr sum = total(i), count = known ? like(sum, static_cast<double>(*known))
                                             : te::cast(sum.dtype(), cells);
    return converted_to(out[0]->dtype, sum / count);
  }));
}

Result<Tensors> compute_global_max_pool(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  Tensor y = fold_planes(builder, in[0], "global_max_pool", te::extents_of(*out[0]),
                         greatest_combiner, [](Expr x) { return x; });
  return one(stored_as(builder, "global_max_pool", out[0]->dtype, y));
}

Result<Tensors> compute_global_lp_pool(te::Builder& builder, Inputs in, Types out,
                                       const Attrs& attrs) {
  int64_t p = attrs.i("p", 2);
  Exprs shape = te::extents_of(*out[0]);
  Tensor total = fold_planes(builder, in[0], "sum", shape, te::sum_of,
                             [p](Expr x) { return power_of_magnitude(x, p); });
  return one(builder.compute("global_lp_pool", shape, [&](const Exprs& i) {
    return converted_to(out[0]->dtype, root(total(i), p));
  }));
}

}  // namespace byoc::op
