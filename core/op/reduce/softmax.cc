// SPDX-License-Identifier: Apache-2.0
// softmax, related ops, cumsum and cumprod: they work along one axis, and the shape stays.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {
namespace {

// A line of `extent` elements, `step` apart.
template <class T>
struct Line {
  T* data;
  int64_t extent, step;
  T& operator[](int64_t k) const { return data[k * step]; }
};

template <class T>
Compute<T> greatest(Line<const T> x) {
  Compute<T> top(x[0]);
  for (int64_t k = 1; k < x.extent; ++k) {
    Compute<T> value(x[k]);
    if (value > top || value != value) top = value;
  }
  return top;
}

// Returns sum e^(x - top).
template <class T>
double sum_exp(Line<const T> x, Compute<T> top) {
  double sum = 0;
  for (int64_t k = 0; k < x.extent; ++k) sum += std::exp(Compute<T>(x[k]) - top);
  return sum;
}

struct Softmax {
  template <class T>
  static void run(Line<const T> x, Line<T> y) {
    const Compute<T> top = greatest(x), scale(1 / sum_exp(x, top));
    for (int64_t k = 0; k < x.extent; ++k) y[k] = T(std::exp(Compute<T>(x[k]) - top) * scale);
  }
};

struct LogSoftmax {
  template <class T>
  static void run(Line<const T> x, Line<T> y) {
    const Compute<T> top = greatest(x), log_sum(std::log(sum_exp(x, top)));
    for (int64_t k = 0; k < x.extent; ++k) y[k] = T(Compute<T>(x[k]) - top - log_sum);
  }
};

struct Hardmax {
  template <class T>
  static void run(Line<const T> x, Line<T> y) {
    int64_t best = 0;
    for (int64_t k = 0; k < x.extent; ++k) {
      if (Compute<T>(x[k]) > Compute<T>(x[best])) best = k;
      y[k] = T(0);
    }
    y[best] = T(1);
  }
};

template <class T, class F>
RefKernel line_kernel(AxisView view, F f) {
  return [view, f](const void* const* in, void* const* out) {
    if (view.extent == 0) return;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        int64_t at = o * view.extent * view.inner + i;
        f(Line<const T>{in_as<T>(in, 0) + at, view.extent, view.inner},
          Line<T>{out_as<T>(out, 0) + at, view.extent, view.inner});
      }
    }
  };
}

InferFn infer_along_axis(std::string name, DTypes allowed) {
  return [name, allowed](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "x", inputs[0], allowed));
    BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), inputs[0]));
    static_cast<void>(axis);
    return one_result(*inputs[0]);
  };
}

// One value per line along `axis`: x's shape with extent 1 there.
struct Lines {
  size_t axis;
  Exprs shape, over;
  Lines(const Tensor& x, size_t along) : axis(along), shape(x.shape()), over{shape[along]} {
    BYOC_CHECK(axis < shape.size(), "lines along dim ", axis, " of rank ", shape.size());
    shape[axis] = 1;
  }
  Exprs element(Exprs line, const Exprs& r) const { return line[axis] = r[0], line; }
  Exprs line(Exprs element) const { return element[axis] = 0, element; }
};

using LineCompute = Tensor (*)(te::Builder&, const std::string& name, const Tensor& x,
                               const Lines&);

Tensor top_of(te::Builder& builder, const Tensor& x, const Lines& lines) {
  return builder.reduce(
      "top", lines.shape, lines.over, greatest_combiner(computing_dtype(x.dtype())),
      [&](const Exprs& i, const Exprs& r) { return widened(x(lines.element(i, r))); });
}

Tensor exp_of(te::Builder& builder, const Tensor& x, const Tensor& top, const Lines& lines) {
  return builder.compute("exp", x.shape(), [&](const Exprs& i) {
    return te::unary(te::UnaryOp::kExp, widened(x(i)) - top(lines.line(i)));
  });
}

Tensor compute_softmax(te::Builder& builder, const std::string& name, const Tensor& x,
                       const Lines& lines) {
  Tensor exp = exp_of(builder, x, top_of(builder, x, lines), lines);
  Tensor total = sum_over(builder, "sum_exp", lines.shape, lines.over, exp.dtype(),
                          [&](const Exprs& i, const Exprs& r) { return exp(lines.element(i, r)); });
  Tensor scale = builder.compute("scale", lines.shape,
                                 [&](const Exprs& i) { return like(total(i), 1) / total(i); });
  return builder.compute(name, x.shape(), [&](const Exprs& i) {
    return converted_to(x.dtype(), exp(i) * scale(lines.line(i)));
  });
}

Tensor compute_log_softmax(te::Builder& builder, const std::string& name, const Tensor& x,
                           const Lines& lines) {
  Tensor top = top_of(builder, x, lines);
  Tensor total = sum_over(builder, "sum_exp", lines.shape, lines.over, x.dtype(),
                          [&](const Exprs& i, const Exprs& r) {
                            Expr element = widened(x(lines.element(i, r)));
                            return te::unary(te::UnaryOp::kExp, element - top(i));
                          });
  Tensor log_sum = builder.compute("log_sum", lines.shape, [&](const Exprs& i) {
    return te::unary(te::UnaryOp::kLog, total(i));
  });
  return builder.compute(name, x.shape(), [&](const Exprs& i) {
    Exprs line = lines.line(i);
    return converted_to(x.dtype(), widened(x(i)) - top(line) - log_sum(line));
  });
}

// Treats NaN as neither greater nor less than any value: it is chosen only when it is the first.
Tensor compute_hardmax(te::Builder& builder, const std::string& name, const Tensor& x,
                       const Lines& lines) {
  DType dtype = computing_dtype(x.dtype());
  te::Combiner best = arg_combiner(dtype, true, false);
  Tensors found = builder.reduce_all(
      "best", lines.shape, lines.over, best, [&](const Exprs& i, const Exprs& r) -> Exprs {
        Expr value = widened(x(lines.element(i, r)));
        Expr ignored = is_nan(value) && r[0] != Expr(0);
        return {select(ignored, best.identity[0], value), select(ignored, best.identity[1], r[0])};
      });
  return builder.compute(name, x.shape(), [&](const Exprs& i) {
    return select(found[1](lines.line(i)) == i[lines.axis], literal(x.dtype(), 1), zero(x.dtype()));
  });
}

template <class Kind>
OpDef softmax_op(std::string name, std::string doc, double flops_per_element, LineCompute compute) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, rank >= 1"}};
  op.attrs = {{"axis", -1, "in [-rank, rank)"}};
  op.infer = infer_along_axis(name, dtypes_of(FloatTypes{}));
  op.reference = [name](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    return for_dtype(name, inputs[0]->dtype, FloatTypes{}, [&]<class T>() -> Result<RefKernel> {
      return line_kernel<T>(view, Kind::template run<T>);
    });
  };
  op.compute = with_open_sizes(
      [=](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) -> Result<Tensors> {
        BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), out[0]));
        return one(compute(builder, name, in[0], Lines(in[0], axis)));
      });
  op.flops = [=](Types inputs, Types, const Attrs&) {
    return flops_per_element * flop_count(inputs[0]);
  };
  return op;
}

// A running sum, or a running product.
struct Cumulative {
  bool is_product;
  const char* name() const { return is_product ? "cumprod" : "cumsum"; }
  template <class T>
  T joined(T total, T value) const {
    return is_product ? total * value : total + value;
  }
  Expr joined(const Expr& total, const Expr& value) const {
    return is_product ? total * value : total + value;
  }
};

// Joins elements along a line; `exclusive` leaves x[k] out of y[k].
template <class T>
RefKernel cumulative_kernel(Cumulative kind, AxisView view, bool exclusive, bool reverse) {
  return line_kernel<T>(view, [=](Line<const T> x, Line<T> y) {
    Sum<T> total = kind.is_product ? 1 : 0;
    for (int64_t j = 0; j < x.extent; ++j) {
      int64_t k = reverse ? x.extent - 1 - j : j;
      auto next = kind.joined(total, static_cast<Sum<T>>(Compute<T>(x[k])));
      y[k] = converted<T>(exclusive ? total : next);
      total = next;
    }
  });
}

// Keeps totals in f64, as the reference kernel does.
Result<Tensors> compute_cumulative(Cumulative kind, te::Builder& builder, Inputs in, Types out,
                                   const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis(kind.name(), attrs.i("axis"), out[0]));
  bool exclusive = attrs.b("exclusive", false), reverse = attrs.b("reverse", false);
  DType dtype = in[0].dtype();
  Scalar total("total", is_float(dtype) ? DType::kF64 : dtype);
  Exprs lines = te::extents_of(*out[0]);
  BYOC_CHECK(lines.size() == in[0].rank(), kind.name(), " of rank ", in[0].rank(), " is ", out[0]);
  const Expr extent = std::exchange(lines[axis], 1);
  return builder.procedure(kind.name(), {*out[0]}, {in[0]}, [&](const Tensors& y) {
    return total.in(loops_over(lines, [&](Exprs i) {
      te::Stmt steps = te::loop("j", extent, [&](Expr j) {
        i[axis] = reverse ? extent - 1 - j : j;
        Expr value = te::cast(total.place.dtype(), widened(in[0](i)));
        te::Stmt join = total.set(kind.joined(total.get(), value));
        te::Stmt store = te::make_store(y[0], i, converted_to(dtype, total.get()));
        return exclusive ? te::make_block({store, join}) : te::make_block({join, store});
      });
      return te::make_block({total.set(literal(total.place.dtype(), kind.is_product)), steps});
    }));
  });
}

OpDef cumulative(Cumulative kind, std::string doc) {
  OpDef op{.name = kind.name(), .doc = std::move(doc)};
  op.inputs = {{"x", "any number, rank >= 1"}};
  op.attrs = {{"axis", 0, "in [-rank, rank)", AttrSpec::kRequired},
              {"exclusive", false, "j < k instead"},
              {"reverse", false, "from the end: j >= k, or j > k"}};
  op.infer = infer_along_axis(kind.name(), dtypes_of(NumericTypes{}));
  op.reference = [kind](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis(kind.name(), attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    return for_dtype(kind.name(), inputs[0]->dtype, NumericTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return cumulative_kernel<T>(kind, view, attrs.b("exclusive", false),
                                                   attrs.b("reverse", false));
                     });
  };
  op.compute =
      with_open_sizes([kind](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
        return compute_cumulative(kind, builder, in, out, attrs);
      });
  return op;
}

}  // namespace

void add_softmax_ops(OpRegistry& ops) {
  ops.add(with_facts(
      softmax_op<Softmax>("softmax",
                          "y_i = e^(x_i - m) / sum_j e^(x_j - m) along `axis`, m = max_j x_j", 5,
                          compute_softmax),
      {.family = OpFamily::kSoftmax}));
  ops.add(softmax_op<LogSoftmax>(
      "log_softmax", "y_i = x_i - m - ln(sum_j e^(x_j - m)) along `axis`, m = max_j x_j", 5,
      compute_log_softmax));
  ops.add(softmax_op<Hardmax>("hardmax", "y_i = 1 at the first greatest x along `axis`, else 0", 1,
                              compute_hardmax));
  ops.add(cumulative({false}, "y_k = sum of x_j along `axis` for j <= k; integers wrap around"));
  ops.add(cumulative({true}, "y_k = product of x_j along `axis` for j <= k; integers wrap around"));
}

}  // namespace byoc::op
