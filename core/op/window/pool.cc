// SPDX-License-Identifier: Apache-2.0
// Pooling over the spatial dims of [n, c, spatial...], one to three of them: windows, and
// whole planes.
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/pool_kernel.h"

namespace byoc::op {
Result<std::vector<Window>> pool_windows(std::string_view op, Types in, const Attrs& attrs) {
  const Shape& x = in[0]->shape;
  if (x.size() < 3 || x.size() > 5) {
    return invalid(cat(op, ": x has rank ", x.size(), ", expects 3 to 5 (x ", in[0], ")"))
        .with_slug("op-shape");
  }
  Ints kernel = attrs.ints("kernel_shape");
  if (kernel.size() != x.size() - 2) {
    return invalid(cat(op, ": kernel_shape has ", kernel.size(), " entries, expected ",
                       x.size() - 2, " (x ", in[0], ")"))
        .with_slug("op-shape");
  }
  BYOC_TRY(std::vector<Window> windows, read_windows(op, attrs, kernel));
  for (const Window& w : windows) {
    if (w.pad_begin < w.reach() && w.pad_end < w.reach()) continue;
    return invalid(cat(op, ": pads ", std::max(w.pad_begin, w.pad_end),
                       " hold a whole window, which reaches over ", w.reach()));
  }
  return windows;
}

namespace {

Result<TensorType> pooled(std::string_view op, Types in, const Attrs& attrs) {
  BYOC_TRY(std::vector<Window> windows, pool_windows(op, in, attrs));
  TensorType y = *in[0];
  for (size_t d = 0; d < windows.size(); ++d) {
    BYOC_TRY(y.shape[2 + d],
             window_extent(op, y.shape[2 + d], windows[d], attrs.b("ceil_mode", false)));
  }
  return y;
}

double flops_window(Types, Types out, const Attrs& attrs) {
  double taps = 1;
  for (int64_t extent : attrs.ints("kernel_shape")) taps *= static_cast<double>(extent);
  return taps * flop_count(out[0]);
}

Result<std::vector<TensorType>> infer_max_pool(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("max_pool", "x", in[0], dtypes_of(NumericTypes{})));
  BYOC_TRY(TensorType y, pooled("max_pool", in, attrs));
  std::vector<TensorType> results = {y};
  if (attrs.b("with_indices", false)) results.push_back({DType::kI64, y.shape});
  return results;
}

template <class T>
T lowest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  else return static_cast<T>(-std::numeric_limits<float>::infinity());
}

// Returns true when `value` replaces `best`: it is greater, or it is the first NaN.
template <class T>
bool wins(T value, T best) {
  if constexpr (std::is_integral_v<T>) return value > best;
  else return value > best || (value != value && best == best);
}

// Returns the cell's number in x, counted along the last dim first, or (column major) along the
// first spatial one.
int64_t index_of(const PoolPlan& plan, int64_t plane, int64_t cell, bool column_major) {
  if (cell >= 0 && column_major) {
    const auto& [d, h, w] = plan.axes;
    int64_t at_w = cell % w.in, at_h = cell / w.in % h.in, at_d = cell / (w.in * h.in);
    cell = (at_w * h.in + at_h) * d.in + at_d;
  }
  return cell < 0 ? -1 : plane * plan.in_cells() + cell;
}

// Keeps the first of equal values. A window without any cell gives the lowest value and index -1.
Result<RefKernel> reference_max_pool(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(PoolPlan plan, make_pool_plan("max_pool", in, out, attrs));
  bool with_indices = out.size() == 2, column_major = attrs.i("storage_order", 0) == 1;
  BYOC_CHECK(out.size() == 1 || with_indices, out.size(), " results of max_pool");
  return for_dtype("max_pool", in[0]->dtype, NumericTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      T* y = out_as<T>(to, 0);
      int64_t* indices = with_indices ? out_as<int64_t>(to, 1) : nullptr;
      plan.for_windows([&](int64_t plane, const auto& at) {
        const T* x = in_as<T>(from, 0) + plane * plan.in_cells();
        T best = lowest<T>();
        int64_t best_cell = -1;
        plan.for_taps(at, [&](int64_t cell) {
          T value = x[cell];
          if (best_cell >= 0 && !wins(value, best)) return;
          best = value, best_cell = cell;
        });
        *y++ = best;
        if (indices) *indices++ = index_of(plan, plane, best_cell, column_major);
      });
    };
  });
}

InferFn infer_pool_of_floats(std::string op) {
  return [op](Types in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(op, "x", in[0], dtypes_of(FloatTypes{})));
    if (attrs.i("p", 2) < 1)
      return invalid(cat(op, ": p is ", attrs.i("p"), ", expected at least 1"));
    BYOC_TRY(TensorType y, pooled(op, in, attrs));
    return one_result(std::move(y));
  };
}

int64_t count_padded(const PoolPlan& plan, const std::array<int64_t, 3>& at) {
  int64_t count = 1;
  for (size_t d = 0; d < 3; ++d) {
    Taps taps = plan.axes[d].padded(at[d]);
    count *= taps.last - taps.first;
  }
  return count;
}

Result<RefKernel> reference_average_pool(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(PoolPlan plan, make_pool_plan("average_pool", in, out, attrs));
  bool include_pad = attrs.b("count_include_pad", false);
  return for_dtype("average_pool", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      T* y = out_as<T>(to, 0);
      plan.for_windows([&](int64_t plane, const auto& at) {
        const T* x = in_as<T>(from, 0) + plane * plan.in_cells();
        double sum = 0;
        int64_t count = 0;
        plan.for_taps(at, [&](int64_t cell) { sum += static_cast<double>(x[cell]), ++count; });
        if (include_pad) count = count_padded(plan, at);
        *y++ = static_cast<T>(count == 0 ? 0 : sum / static_cast<double>(count));
      });
    };
  });
}

Result<RefKernel> reference_lp_pool(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(PoolPlan plan, make_pool_plan("lp_pool", in, out, attrs));
  double p = static_cast<double>(attrs.i("p", 2));
  return for_dtype("lp_pool", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      T* y = out_as<T>(to, 0);
      plan.for_windows([&](int64_t plane, const auto& at) {
        const T* x = in_as<T>(from, 0) + plane * plan.in_cells();
        double sum = 0;
        plan.for_taps(
            at, [&](int64_t cell) { sum += std::pow(std::abs(static_cast<double>(x[cell])), p); });
        *y++ = static_cast<T>(std::pow(sum, 1 / p));
      });
    };
  });
}

// Infers [n, c, spatial...] -> [n, c, 1...].
InferFn infer_global(std::string op, bool may_be_empty) {
  return [=](Types in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(op, "x", in[0], dtypes_of(FloatTypes{})));
    if (attrs.i("p", 2) < 1)
      return invalid(cat(op, ": p is ", attrs.i("p"), ", expected at least 1"));
    TensorType y = *in[0];
    if (y.shape.size() < 2) {
      return invalid(
                 cat(op, ": x has rank ", y.shape.size(), ", expects at least 2 (x ", in[0], ")"))
          .with_slug("op-shape");
    }
    for (size_t d = 2; d < y.shape.size(); ++d) {
      if (!may_be_empty && y.shape[d] == Dim(0)) {
        return invalid(cat(op, ": a plane without cells has no maximum (x ", in[0], ")"))
            .with_slug("op-shape");
      }
      y.shape[d] = 1;
    }
    return one_result(std::move(y));
  };
}

// Pools whole planes. `fold` makes the state of one more value, `finish` the result of the state
// and the number of cells.
template <class Fold, class Finish>
ReferenceFn reference_global(std::string op, double start, Fold fold, Finish finish) {
  return [=](Types in, Types out, const Attrs& attrs) -> Result<RefKernel> {
    double p = static_cast<double>(attrs.i("p", 2));
    int64_t planes = count(out[0]), cells = planes == 0 ? 0 : count(in[0]) / planes;
    BYOC_CHECK(planes == 0 || count(in[0]) % planes == 0, in[0], " in ", planes, " planes");
    return for_dtype(op, in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
      return [=](const void* const* from, void* const* to) {
        const T* x = in_as<T>(from, 0);
        for (int64_t plane = 0; plane < planes; ++plane, x += cells) {
          double state = start;
          for (int64_t k = 0; k < cells; ++k) state = fold(state, static_cast<double>(x[k]), p);
          out_as<T>(to, 0)[plane] = static_cast<T>(finish(state, static_cast<double>(cells), p));
        }
      };
    });
  };
}

double flops_global(Types in, Types, const Attrs&) { return flop_count(in[0]); }

std::vector<AttrSpec> window_attrs() {
  return {
      {"kernel_shape", Ints{}, "one per spatial dim", AttrSpec::kRequired},
      {"strides", Ints{}, "one per spatial dim; empty: all 1"},
      {"pads", Ints{}, "begins, then ends; empty: all 0; each smaller than the window"},
      {"dilations", Ints{}, "one per spatial dim; empty: all 1"},
      {"ceil_mode", false, "round extents up; windows that start in the end padding are dropped"}};
}

OpDef window_pool(std::string name, std::string doc, std::string dtypes, ReferenceFn reference,
                  ComputeFn compute) {
  return {.name = name,
          .doc = std::move(doc),
          .kind = FusionKind::kReduction,
          .inputs = {{"x", dtypes + " [n, c, spatial...], rank 3 to 5"}},
          .attrs = window_attrs(),
          .infer = infer_pool_of_floats(name),
          .reference = std::move(reference),
          .compute = with_open_sizes(std::move(compute)),
          .flops = flops_window,
          .facts = {.family = OpFamily::kPool}};
}

OpDef global_pool(std::string name, std::string doc, bool may_be_empty, ReferenceFn reference,
                  ComputeFn compute) {
  return {.name = name,
          .doc = std::move(doc),
          .kind = FusionKind::kReduction,
          .inputs = {{"x", "float [n, c, spatial...]"}},
          .outputs = {{"y", "[n, c, 1...]"}},
          .infer = infer_global(name, may_be_empty),
          .reference = std::move(reference),
          .compute = with_open_sizes(std::move(compute)),
          .flops = flops_global,
          .facts = {.family = OpFamily::kPool}};
}

OpDef max_pool() {
  OpDef op = window_pool("max_pool", "The largest value of each window.", "number",
                         reference_max_pool, compute_max_pool);
  op.outputs = {{"y", ""},
                {"indices", "with_indices alone: i64, the number of the value's cell in all of x"}};
  op.attrs.push_back({"with_indices", false, "give the second output"});
  op.attrs.push_back(
      {"storage_order", int64_t{0}, "order of indices: 0 row-major, 1 column-major spatial dims"});
  op.infer = infer_max_pool;
  return op;
}

OpDef average_pool() {
  OpDef op = window_pool("average_pool", "The mean of each window, without its padding.", "float",
                         reference_average_pool, compute_average_pool);
  op.attrs.push_back({"count_include_pad", false, "padding counts as zeros"});
  op.facts = {.family = OpFamily::kMeanPool};
  return op;
}

OpDef with_p(OpDef op) {
  op.attrs.push_back({"p", int64_t{2}, "at least 1"});
  return op;
}

}  // namespace

Result<PoolPlan> make_pool_plan(std::string_view op, Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(std::vector<Window> windows, pool_windows(op, in, attrs));
  const Shape &x = in[0]->shape, &y = out[0]->shape;
  BYOC_CHECK(windows.size() >= 1 && windows.size() <= 3 && y.size() == windows.size() + 2,
             windows.size(), " windows give ", out[0]);
  PoolPlan plan{.planes = count(out[0]) == 0 ? 0 : x[0].extent() * x[1].extent()};
  for (size_t d = 0; d < windows.size(); ++d) {
    plan.axes[3 - windows.size() + d] = {x[2 + d].extent(), y[2 + d].extent(), windows[d]};
  }
  return plan;
}

void add_pool_ops(OpRegistry& ops) {
  ops.add(max_pool());
  ops.add(average_pool());
  ops.add(with_p(window_pool("lp_pool", "(sum of |x|^p)^(1/p) of each window.", "float",
                             reference_lp_pool, compute_lp_pool)));
  ops.add(global_pool(
      "global_average_pool", "The mean of each plane.", true,
      reference_global(
          "global_average_pool", 0, [](double sum, double x, double) { return sum + x; },
          [](double sum, double n, double) { return sum / n; }),
      compute_global_average_pool));
  ops.add(global_pool("global_max_pool", "The largest value of each plane; NaN if there is one.",
                      false,
                      reference_global(
                          "global_max_pool", -std::numeric_limits<double>::infinity(),
                          [](double max, double x, double) { return x > max || x != x ? x : max; },
                          [](double max, double, double) { return max; }),
                      compute_global_max_pool));
  ops.add(with_p(
      global_pool("global_lp_pool", "(sum of |x|^p)^(1/p) of each plane.", true,
                  reference_global(
                      "global_lp_pool", 0,
                      [](double sum, double x, double p) { return sum + std::pow(std::abs(x), p); },
                      [](double sum, double, double p) { return std::pow(sum, 1 / p); }),
                  compute_global_lp_pool)));
}

}  // namespace byoc::op
