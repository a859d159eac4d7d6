// SPDX-License-Identifier: Apache-2.0
// Normalisation over axes: layer_norm, rms_norm, mean_variance_norm, lp_norm.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/reduce/norm.h"
#include "core/op/reduce/reduce.h"

namespace byoc::op {
namespace {

// x as rows: the extents before `axis`, times the elements that are normalised together.
struct Rows {
  int64_t outer, size;
  double epsilon;
};
Rows rows_of(TypeId x, size_t axis, double epsilon) {
  AxisView view = around_axis(x, axis);
  return {view.outer, view.extent * view.inner, epsilon};
}

// Checks that scale and bias have the shape of a row.
Result<size_t> check_rows(std::string_view op, Types inputs, const Attrs& attrs) {
  static constexpr const char* kNames[] = {"x", "scale", "bias"};
  TypeId x = inputs[0];
  BYOC_CHECK(inputs.size() <= std::size(kNames), op, " of ", inputs.size(), " operands");
  BYOC_TRY_STATUS(expect_floats(op, inputs));
  BYOC_TRY(size_t axis, normal_axis(op, attrs.i("axis"), x));
  Shape row(x->shape.begin() + static_cast<ptrdiff_t>(axis), x->shape.end());
  for (size_t k = 1; k < inputs.size(); ++k) {
    if (inputs[k]->shape == row) continue;
    return invalid(cat(op, ": ", kNames[k], " has shape ", inputs[k]->shape, ", expects ", row,
                       " (x ", x, ", axis ", axis, ")"))
        .with_slug("op-shape");
  }
  return axis;
}

Result<std::vector<TensorType>> infer_layer_norm(Types inputs, const Attrs& attrs) {
  BYOC_TRY(size_t axis, check_rows("layer_norm", inputs, attrs));
  std::vector<TensorType> results{*inputs[0]};
  if (!attrs.b("stats", false)) return results;
  Shape shape = inputs[0]->shape;
  for (size_t d = axis; d < shape.size(); ++d) shape[d] = Dim(1);
  DType dtype = inputs[0]->dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  results.insert(results.end(), 2, TensorType{dtype, shape});
  return results;
}

template <class T>
void scale_row(const T* x, T* y, const T* scale, const T* bias, int64_t n, RowStats stats) {
  using C = Compute<T>;
  const C middle(stats.mean), slope(stats.inv_std);
  for (int64_t k = 0; k < n; ++k) {
    C value = (C(x[k]) - middle) * slope;
    if (scale) value *= C(scale[k]);
    if (bias) value += C(bias[k]);
    y[k] = T(value);
  }
}

template <class T>
RefKernel layer_norm_kernel(Rows rows, size_t inputs, bool with_stats) {
  return [=](const void* const* in, void* const* out) {
    const T* scale = inputs > 1 ? in_as<T>(in, 1) : nullptr;
    const T* bias = inputs > 2 ? in_as<T>(in, 2) : nullptr;
    for (int64_t row = 0; row < rows.outer; ++row) {
      const T* x = in_as<T>(in, 0) + row * rows.size;
      RowStats stats = row_stats(x, rows.size, rows.epsilon);
      scale_row(x, out_as<T>(out, 0) + row * rows.size, scale, bias, rows.size, stats);
      if (!with_stats) continue;
      out_as<Compute<T>>(out, 1)[row] = static_cast<Compute<T>>(stats.mean);
      out_as<Compute<T>>(out, 2)[row] = static_cast<Compute<T>>(stats.inv_std);
    }
  };
}

// x as rows of expressions: one value per row, the normalised extents 1.
struct RowsExpr {
  Tensor x;
  size_t axis;
  Exprs shape, over;
  int64_t n = 1;

  RowsExpr(const Tensor& of, size_t first) : x(of), axis(first), shape(of.shape()) {
    const Exprs& all = x.shape();
    BYOC_CHECK(axis < all.size(), "rows from dim ", axis, " of rank ", all.size());
    for (size_t d = axis; d < all.size(); ++d) {
      over.push_back(all[d]);
      shape[d] = 1;
      n *= as_int(all[d]).value_or(0);  // 0: not known
    }
  }
  Status check(std::string_view op) const {
    const Shape dims = type_of(x).shape;
    for (size_t d = axis; d < dims.size(); ++d) {
      if (is_open(dims[d])) return needs_number(op, dims[d]);
    }
    return {};
  }
  Expr element(const Exprs& i, const Exprs& r) const {
    Exprs at(i.begin(), i.begin() + static_cast<ptrdiff_t>(axis));
    at.insert(at.end(), r.begin(), r.end());
    return widened(x(at));
  }
  Exprs row(Exprs i) const {
    std::fill(i.begin() + static_cast<ptrdiff_t>(axis), i.end(), Expr(0));
    return i;
  }
  // Returns scale or bias of the element at `i`.
  Expr parameter(const Tensor& given, const Exprs& i) const {
    BYOC_CHECK(i.size() == axis + given.rank(), i.size(), " indices from dim ", axis, " for rank ",
               given.rank());
    return widened(given(Exprs(i.begin() + static_cast<ptrdiff_t>(axis), i.end())));
  }
};

Result<Tensors> compute_layer_norm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("layer_norm", attrs.i("axis"), out[0]));
  RowsExpr rows(in[0], axis);
  BYOC_TRY_STATUS(rows.check("layer_norm"));
  DType dtype = in[0].dtype();
  MomentStages stats =
      moments_of(builder, rows.shape, rows.over, dtype, rows.n,
                 [&](const Exprs& i, const Exprs& r) { return rows.element(i, r); });
  Tensor inv_std = builder.compute("inv_std", rows.shape, [&](const Exprs& i) {
    return inverse_root(stats.variance(i), attrs.f("epsilon"));
  });
  Tensor y = builder.compute("layer_norm", in[0].shape(), [&](const Exprs& i) {
    Exprs row = rows.row(i);
    Expr value = (widened(in[0](i)) - stats.mean(row)) * inv_std(row);
    if (in.size() > 1) value = value * rows.parameter(in[1], i);
    if (in.size() > 2) value = value + rows.parameter(in[2], i);
    return converted_to(dtype, value);
  });
  if (out.size() == 1) return one(y);
  BYOC_CHECK(out.size() == 3, "layer_norm has ", out.size(), " results");
  return Tensors{y, stats.mean, inv_std};
}

OpDef layer_norm() {
  OpDef op{
      .name = "layer_norm",
      .doc =
          "y = (x - mean) / (var + epsilon)^(1/2) * scale + bias, mean and var over `axis` and all "
          "after it",
      .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, rank >= 1"},
               {"scale", "shape of x from `axis` on; 1 when left out", true},
               {"bias", "shape of scale; 0 when left out", true}};
  op.outputs = {
      {"y", "type of x"},
      {"mean", "with stats=true alone; f32, f64 for f64; x with the normalised extents 1"},
      {"inv_std", "with stats=true alone; (var + epsilon)^(-1/2), type of mean"}};
  op.attrs = {{"axis", -1, "first normalised axis, in [-rank, rank)"},
              {"epsilon", 1e-5, "keeps the root away from 0"},
              {"stats", false, "mean and inv_std are results too"}};
  op.infer = infer_layer_norm;
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("layer_norm", attrs.i("axis"), inputs[0]));
    Rows rows = rows_of(inputs[0], axis, attrs.f("epsilon"));
    return for_dtype("layer_norm", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return layer_norm_kernel<T>(rows, inputs.size(), attrs.b("stats", false));
                     });
  };
  op.compute = with_open_sizes(compute_layer_norm);
  op.flops = [](Types inputs, Types, const Attrs&) { return 8 * flop_count(inputs[0]); };
  return op;
}

template <class T>
RefKernel rms_norm_kernel(Rows rows, bool with_scale) {
  return [=](const void* const* in, void* const* out) {
    const T* scale = with_scale ? in_as<T>(in, 1) : nullptr;
    for (int64_t row = 0; row < rows.outer; ++row) {
      const T* x = in_as<T>(in, 0) + row * rows.size;
      double squares = 0;
      for (int64_t k = 0; k < rows.size; ++k)
        squares += static_cast<double>(x[k]) * static_cast<double>(x[k]);
      double root = std::sqrt(squares / static_cast<double>(rows.size) + rows.epsilon);
      const T* no_bias = nullptr;
      scale_row(x, out_as<T>(out, 0) + row * rows.size, scale, no_bias, rows.size, {0, 1 / root});
    }
  };
}

Result<Tensors> compute_rms_norm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("rms_norm", attrs.i("axis"), out[0]));
  RowsExpr rows(in[0], axis);
  BYOC_TRY_STATUS(rows.check("rms_norm"));
  DType dtype = in[0].dtype();
  Tensor squares = sum_over(builder, "squares", rows.shape, rows.over, dtype,
                            [&](const Exprs& i, const Exprs& r) {
                              Expr value = rows.element(i, r);
                              return value * value;
                            });
  Tensor inv_root = builder.compute("inv_root", rows.shape, [&](const Exprs& i) {
    Expr mean = squares(i) / like(squares(i), static_cast<double>(rows.n));
    return inverse_root(mean, attrs.f("epsilon"));
  });
  return one(builder.compute("rms_norm", in[0].shape(), [&](const Exprs& i) {
    Expr value = widened(in[0](i)) * inv_root(rows.row(i));
    if (in.size() > 1) value = value * rows.parameter(in[1], i);
    return converted_to(dtype, value);
  }));
}

OpDef rms_norm() {
  OpDef op{
      .name = "rms_norm",
      .doc = "y = x / (mean of x^2 + epsilon)^(1/2) * scale, the mean over `axis` and all after it",
      .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, rank >= 1"},
               {"scale", "shape of x from `axis` on; 1 when left out", true}};
  op.attrs = {{"axis", -1, "first normalised axis, in [-rank, rank)"},
              {"epsilon", 1e-5, "keeps the root away from 0"}};
  op.infer = [](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY(size_t axis, check_rows("rms_norm", inputs, attrs));
    static_cast<void>(axis);
    return one_result(*inputs[0]);
  };
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("rms_norm", attrs.i("axis"), inputs[0]));
    Rows rows = rows_of(inputs[0], axis, attrs.f("epsilon"));
    return for_dtype("rms_norm", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return rms_norm_kernel<T>(rows, inputs.size() > 1);
                     });
  };
  op.compute = with_open_sizes(compute_rms_norm);
  op.flops = [](Types inputs, Types, const Attrs&) { return 4 * flop_count(inputs[0]); };
  return op;
}

// Computes y = (x - mean) * factor over the elements that `walk` takes together.
template <class T, class Factor>
RefKernel scaled_kernel(ReduceWalk walk, Factor factor) {
  return [walk = std::move(walk), factor](const void* const* in, void* const* out) {
    const T* x = in_as<T>(in, 0);
    T* y = out_as<T>(out, 0);
    for_kept(walk, [&](int64_t base) {
      auto [mean, scale] = factor(x, walk, base);
      for_taken(walk, base, [&, mean = mean, scale = scale](int64_t at) {
        y[at] = T(Compute<T>((static_cast<double>(x[at]) - mean) * scale));
      });
    });
  };
}

// Returns the mean, and 1 / (deviation + 1e-9), as in ONNX's definition of the function.
template <class T>
RowStats mean_and_deviation(const T* x, const ReduceWalk& walk, int64_t base) {
  double sum = 0, squares = 0, n = static_cast<double>(walk.n_taken);
  for_taken(walk, base, [&](int64_t at) { sum += static_cast<double>(x[at]); });
  double mean = sum / n;
  for_taken(walk, base, [&](int64_t at) {
    double off = static_cast<double>(x[at]) - mean;
    squares += off * off;
  });
  return {mean, 1 / (std::sqrt(squares / n) + 1e-9)};
}

// One value per position that remains when `axes` are reduced: those extents are 1.
struct TakenExpr {
  Exprs shape, over;
  std::vector<size_t> axes;
  Dim n = Dim(1);  // of the elements; an open one where an extent is

  TakenExpr(const Tensor& x, std::vector<size_t> taken) : shape(x.shape()), axes(std::move(taken)) {
    for (size_t axis : axes) {
      BYOC_CHECK(axis < shape.size(), "dim ", axis, " of rank ", shape.size());
      over.push_back(shape[axis]);
      const Dim dim = type_of(x).shape[axis];
      if (!is_open(n)) n = is_open(dim) ? dim : Dim(n.extent() * dim.extent());
      shape[axis] = 1;
    }
    if (axes.empty()) over.push_back(1);  // each element alone
  }
  Exprs element(Exprs i, const Exprs& r) const {
    for (size_t k = 0; k < axes.size(); ++k) i[axes[k]] = r[k];
    return i;
  }
  Exprs kept(Exprs i) const {
    for (size_t axis : axes) i[axis] = 0;
    return i;
  }
};

Result<Tensors> compute_mean_variance_norm(te::Builder& builder, Inputs in, Types out,
                                           const Attrs& attrs) {
  BYOC_TRY(auto axes, normal_axes("mean_variance_norm", attrs.ints("axes"), out[0]));
  const Tensor& x = in[0];
  TakenExpr taken(x, axes);
  if (is_open(taken.n)) return needs_number("mean_variance_norm", taken.n);
  MomentStages stats =
      moments_of(builder, taken.shape, taken.over, x.dtype(), taken.n.extent(),
                 [&](const Exprs& i, const Exprs& r) { return widened(x(taken.element(i, r))); });
  Tensor scale = builder.compute("scale", taken.shape, [&](const Exprs& i) {
    Expr deviation = te::unary(te::UnaryOp::kSqrt, stats.variance(i));
    return like(deviation, 1) / (deviation + like(deviation, 1e-9));
  });
  return one(builder.compute("mean_variance_norm", x.shape(), [&](const Exprs& i) {
    Exprs kept = taken.kept(i);
    return converted_to(x.dtype(), (widened(x(i)) - stats.mean(kept)) * scale(kept));
  }));
}

OpDef mean_variance_norm() {
  OpDef op{.name = "mean_variance_norm",
           .doc = "y = (x - mean) / (var^(1/2) + 1e-9), mean and var over `axes`",
           .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float"}};
  op.attrs = {{"axes", Ints{0, 2, 3}, "each in [-rank, rank)"}};
  op.infer = [](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_floats("mean_variance_norm", inputs));
    BYOC_TRY(auto axes, normal_axes("mean_variance_norm", attrs.ints("axes"), inputs[0]));
    return one_result(*inputs[0]);
  };
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(auto axes, normal_axes("mean_variance_norm", attrs.ints("axes"), inputs[0]));
    ReduceWalk walk = reduce_walk(inputs[0], axes);
    return for_dtype("mean_variance_norm", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return scaled_kernel<T>(walk, mean_and_deviation<T>);
                     });
  };
  op.compute = with_open_sizes(compute_mean_variance_norm);
  op.flops = [](Types inputs, Types, const Attrs&) { return 6 * flop_count(inputs[0]); };
  return op;
}

// Returns 1 / norm, or 0 where the norm is 0.
auto inverse_norm(bool by_magnitude) {
  return [by_magnitude](const auto* x, const ReduceWalk& walk, int64_t base) -> RowStats {
    double total = 0;
    for_taken(walk, base, [&](int64_t at) {
      auto value = static_cast<double>(x[at]);
      total += by_magnitude ? std::abs(value) : value * value;
    });
    double norm = by_magnitude ? total : std::sqrt(total);
    return {0, norm == 0 ? 0 : 1 / norm};
  };
}

Result<Tensors> compute_lp_norm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("lp_norm", attrs.i("axis"), out[0]));
  const Tensor& x = in[0];
  bool by_magnitude = attrs.i("p") == 1;
  TakenExpr taken(x, {axis});
  Tensor total = sum_over(
      builder, "sum", taken.shape, taken.over, x.dtype(), [&](const Exprs& i, const Exprs& r) {
        Expr value = widened(x(taken.element(i, r)));
        return by_magnitude ? te::unary(te::UnaryOp::kAbs, value) : value * value;
      });
  // A quotient: 1 / norm of a denormal norm is infinite. Where the norm is 0, x / 1 is 0 or tiny.
  Tensor norm = builder.compute("norm", taken.shape, [&](const Exprs& i) {
    Expr root = by_magnitude ? total(i) : te::unary(te::UnaryOp::kSqrt, total(i));
    return select(root == like(root, 0), like(root, 1), root);
  });
  return one(builder.compute("lp_norm", x.shape(), [&](const Exprs& i) {
    return converted_to(x.dtype(), widened(x(i)) / norm(taken.kept(i)));
  }));
}

OpDef lp_norm() {
  OpDef op{.name = "lp_norm",
           .doc = "y = x / (sum of |x|^p along `axis`)^(1/p); 0 where the sum is 0",
           .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, rank >= 1"}};
  op.attrs = {{"axis", -1, "in [-rank, rank)"}, {"p", 2, "1 or 2"}};
  op.infer = [](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_floats("lp_norm", inputs));
    BYOC_TRY(size_t axis, normal_axis("lp_norm", attrs.i("axis"), inputs[0]));
    static_cast<void>(axis);
    if (attrs.i("p") != 1 && attrs.i("p") != 2)
      return invalid(cat("lp_norm: p is ", attrs.i("p"), ", expects 1 or 2"));
    return one_result(*inputs[0]);
  };
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("lp_norm", attrs.i("axis"), inputs[0]));
    ReduceWalk walk = reduce_walk(inputs[0], {axis});
    return for_dtype("lp_norm", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return scaled_kernel<T>(walk, inverse_norm(attrs.i("p") == 1));
                     });
  };
  op.compute = with_open_sizes(compute_lp_norm);
  op.flops = [](Types inputs, Types, const Attrs&) { return 3 * flop_count(inputs[0]); };
  return op;
}

}  // namespace

void add_layer_norm_ops(OpRegistry& ops) {
  ops.add(layer_norm());
  ops.add(lp_norm());
  ops.add(mean_variance_norm());
  ops.add(rms_norm());
}

}  // namespace byoc::op
