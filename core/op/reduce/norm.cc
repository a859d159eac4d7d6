// SPDX-License-Identifier: Apache-2.0
// Normalisation per channel: batch_norm, instance_norm, group_norm, lrn. Inputs are [n, c, ...].
#include "core/op/reduce/norm.h"

#include "byoc/base/check.h"
#include "byoc/op/registry.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_batch_norm(Types inputs, const Attrs&) {
  static constexpr const char* kNames[] = {"x", "scale", "bias", "mean", "var"};
  BYOC_TRY_STATUS(expect_floats("batch_norm", inputs));
  BYOC_TRY_STATUS(expect_channels("batch_norm", inputs[0]));
  for (size_t k = 1; k < 5; ++k)
    BYOC_TRY_STATUS(
        expect_per_channel("batch_norm", kNames[k], inputs[0], inputs[k], inputs[0]->shape[1]));
  return one_result(*inputs[0]);
}

template <class T>
RefKernel batch_norm_kernel(AxisView view, double epsilon) {
  return [view, epsilon](const void* const* in, void* const* out) {
    using C = Compute<T>;
    const T *x = in_as<T>(in, 0), *scale = in_as<T>(in, 1), *bias = in_as<T>(in, 2);
    const T *mean = in_as<T>(in, 3), *var = in_as<T>(in, 4);
    T* y = out_as<T>(out, 0);
    for (int64_t row = 0; row < view.outer * view.extent; ++row) {
      int64_t c = row % view.extent;
      double factor =
          static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(var[c]) + epsilon);
      const C middle(mean[c]), slope(factor), shift(bias[c]);
      for (int64_t k = 0; k < view.inner; ++k) *y++ = T((C(*x++) - middle) * slope + shift);
    }
  };
}

Result<Tensors> compute_batch_norm(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  const Tensor &x = in[0], &scale = in[1], &bias = in[2], &mean = in[3], &var = in[4];
  double epsilon = attrs.f("epsilon");
  Tensor slope = builder.compute("slope", scale.shape(), [&](const Exprs& c) {
    return widened(scale(c)) * inverse_root(widened(var(c)), epsilon);
  });
  return one(builder.compute("batch_norm", x.shape(), [&](const Exprs& i) {
    Expr c = i[1], off = widened(x(i)) - widened(mean(c));
    return converted_to(x.dtype(), off * slope(c) + widened(bias(c)));
  }));
}

OpDef batch_norm() {
  OpDef op{
      .name = "batch_norm",
      .doc = "y = (x - mean) / (var + epsilon)^(1/2) * scale + bias per channel, all four given",
      .kind = FusionKind::kBroadcast};
  op.inputs = {{"x", "any float, [n, c, ...]"},
               {"scale", "[c]"},
               {"bias", "[c]"},
               {"mean", "[c]"},
               {"var", "[c]"}};
  op.attrs = {{"epsilon", 1e-5, "keeps the root away from 0"}};
  op.infer = infer_batch_norm;
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    return for_dtype("batch_norm", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return batch_norm_kernel<T>(around_axis(inputs[0], 1), attrs.f("epsilon"));
                     });
  };
  op.compute = with_open_sizes(compute_batch_norm);
  op.flops = [](Types inputs, Types, const Attrs&) { return 2 * flop_count(inputs[0]); };
  op.facts = {.family = OpFamily::kBatchNorm};
  return op;
}

Result<std::vector<TensorType>> infer_instance_norm(Types inputs, const Attrs&) {
  TypeId x = inputs[0];
  BYOC_TRY_STATUS(expect_floats("instance_norm", inputs));
  BYOC_TRY_STATUS(expect_channels("instance_norm", x, 3));
  BYOC_TRY_STATUS(expect_per_channel("instance_norm", "scale", x, inputs[1], x->shape[1]));
  BYOC_TRY_STATUS(expect_per_channel("instance_norm", "bias", x, inputs[2], x->shape[1]));
  return one_result(*x);
}

Result<std::vector<TensorType>> infer_group_norm(Types inputs, const Attrs& attrs) {
  TypeId x = inputs[0];
  int64_t groups = attrs.i("num_groups");
  BYOC_TRY_STATUS(expect_floats("group_norm", inputs));
  BYOC_TRY_STATUS(expect_channels("group_norm", x));
  Dim channels = x->shape[1];
  if (groups < 1 || !channels.is_static() || channels.extent() % groups != 0)
    return invalid(cat("group_norm: ", channels, " channels cannot be cut into ", groups,
                       " groups (x ", x, ")"))
        .with_slug("op-shape");
  Dim each = inputs[1]->shape == Shape{Dim(groups)} ? Dim(groups) : channels;
  BYOC_TRY_STATUS(expect_per_channel("group_norm", "scale", x, inputs[1], each));
  BYOC_TRY_STATUS(expect_per_channel("group_norm", "bias", x, inputs[2], each));
  return one_result(*x);
}

// Groups of neighbouring channels; an instance norm has one channel in each.
struct Groups {
  int64_t samples, groups, channels_each, pixels;
  bool per_group;  // scale and bias have one value per group instead of one per channel
  double epsilon;
};

template <class T>
void normalise_group(const T* x, T* y, const T* scale, const T* bias, const Groups& shape) {
  using C = Compute<T>;
  RowStats stats = row_stats(x, shape.channels_each * shape.pixels, shape.epsilon);
  for (int64_t c = 0; c < shape.channels_each; ++c) {
    int64_t at = shape.per_group ? 0 : c;
    const C middle(stats.mean), slope(stats.inv_std * static_cast<double>(scale[at])),
        shift(bias[at]);
    for (int64_t k = 0; k < shape.pixels; ++k) *y++ = T((C(*x++) - middle) * slope + shift);
  }
}

template <class T>
RefKernel group_kernel(Groups shape) {
  return [shape](const void* const* in, void* const* out) {
    int64_t size = shape.channels_each * shape.pixels;
    if (size == 0) return;
    for (int64_t row = 0; row < shape.samples * shape.groups; ++row) {
      int64_t group = row % shape.groups,
              at = shape.per_group ? group : group * shape.channels_each;
      normalise_group(in_as<T>(in, 0) + row * size, out_as<T>(out, 0) + row * size,
                      in_as<T>(in, 1) + at, in_as<T>(in, 2) + at, shape);
    }
  };
}

Result<RefKernel> reference_groups(std::string_view op, Types inputs, int64_t groups,
                                   double epsilon) {
  AxisView view = around_axis(inputs[0], 1);
  bool per_group = count(inputs[1]) == groups;
  BYOC_CHECK(per_group || count(inputs[1]) == view.extent, op, ": ", inputs[1], " scales ",
             inputs[0]);
  Groups shape{view.outer, groups,    groups ? view.extent / groups : 0,
               view.inner, per_group, epsilon};
  return for_dtype(op, inputs[0]->dtype, FloatTypes{},
                   [&]<class T>() -> Result<RefKernel> { return group_kernel<T>(shape); });
}

Result<Tensors> compute_groups(te::Builder& builder, const std::string& name, Inputs in,
                               int64_t groups, double epsilon) {
  const Tensor &x = in[0], &scale = in[1], &bias = in[2];
  const Shape dims = type_of(x).shape;
  for (size_t d = 1; d < dims.size(); ++d)
    if (is_open(dims[d])) return needs_number(name, dims[d]);
  Ints shape = {1};  // of one sample
  for (size_t d = 1; d < dims.size(); ++d) shape.push_back(dims[d].extent());
  BYOC_CHECK(shape.size() >= 2 && (groups == 0 || shape[1] % groups == 0), name, " of rank ",
             shape.size(), " in ", groups, " groups");
  int64_t each = groups == 0 ? 0 : shape[1] / groups, n = each;
  bool per_group = extents(scale)[0] == groups;
  Exprs over = {Expr(each)};
  for (size_t d = 2; d < shape.size(); ++d) over.push_back(shape[d]), n *= shape[d];
  auto element = [&](const Exprs& i, const Exprs& r) {
    Exprs at = {i[0], each == 1 ? i[1] : i[1] * each + r[0]};
    at.insert(at.end(), r.begin() + 1, r.end());
    return widened(x(at));
  };
  Exprs rows = {x.shape()[0], Expr(groups)};
  MomentStages stats = moments_of(builder, rows, over, x.dtype(), n, element);
  Tensor inv_std = builder.compute(
      "inv_std", rows, [&](const Exprs& i) { return inverse_root(stats.variance(i), epsilon); });
  return one(builder.compute(name, x.shape(), [&](const Exprs& i) {
    Expr group = each <= 1 ? i[1] : floor_div(i[1], each), at = per_group ? group : i[1];
    Expr slope = inv_std(i[0], group) * widened(scale(at));
    Expr off = widened(x(i)) - stats.mean(i[0], group);
    return converted_to(x.dtype(), off * slope + widened(bias(at)));
  }));
}

OpDef instance_norm() {
  OpDef op{
      .name = "instance_norm",
      .doc =
          "y = (x - mean) / (var + epsilon)^(1/2) * scale + bias, mean and var of each sample's "
          "channel",
      .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, [n, c, d1, ...]"}, {"scale", "[c]"}, {"bias", "[c]"}};
  op.attrs = {{"epsilon", 1e-5, "keeps the root away from 0"}};
  op.infer = infer_instance_norm;
  op.reference = [](Types inputs, Types, const Attrs& attrs) {
    return reference_groups("instance_norm", inputs, inputs[0]->shape[1].extent(),
                            attrs.f("epsilon"));
  };
  op.compute = with_open_sizes(
      [](te::Builder& builder, Inputs in, Types, const Attrs& attrs) -> Result<Tensors> {
        const Dim channels = type_of(in[0]).shape[1];
        if (is_open(channels)) return needs_number("instance_norm", channels);
        return compute_groups(builder, "instance_norm", in, channels.extent(), attrs.f("epsilon"));
      });
  op.flops = [](Types inputs, Types, const Attrs&) { return 6 * flop_count(inputs[0]); };
  return op;
}

OpDef group_norm() {
  OpDef op{
      .name = "group_norm",
      .doc =
          "y = (x - mean) / (var + epsilon)^(1/2) * scale + bias, mean and var of each sample's "
          "group of neighbouring channels",
      .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, [n, c, ...]"},
               {"scale", "[c] or [num_groups]"},
               {"bias", "shape of scale"}};
  op.attrs = {{"num_groups", 1, "divides c", AttrSpec::kRequired},
              {"epsilon", 1e-5, "keeps the root away from 0"}};
  op.infer = infer_group_norm;
  op.reference = [](Types inputs, Types, const Attrs& attrs) {
    return reference_groups("group_norm", inputs, attrs.i("num_groups"), attrs.f("epsilon"));
  };
  op.compute = with_open_sizes([](te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
    return compute_groups(builder, "group_norm", in, attrs.i("num_groups"), attrs.f("epsilon"));
  });
  op.flops = [](Types inputs, Types, const Attrs&) { return 6 * flop_count(inputs[0]); };
  return op;
}

// The window of channel c is [c - (size - 1) / 2, c + size / 2], within the channels there are.
struct Lrn {
  AxisView view;
  int64_t size;
  double alpha, beta, bias;
};

template <class T>
void lrn_channel(const T* x, T* y, int64_t c, const Lrn& lrn) {
  using C = Compute<T>;
  int64_t first = std::max<int64_t>(0, c - (lrn.size - 1) / 2);
  int64_t last = std::min(lrn.view.extent - 1, c + lrn.size / 2);
  for (int64_t k = 0; k < lrn.view.inner; ++k) {
    double squares = 0;
    for (int64_t j = first; j <= last; ++j) {
      auto value = static_cast<double>(x[j * lrn.view.inner + k]);
      squares += value * value;
    }
    double scale =
        std::pow(lrn.bias + lrn.alpha / static_cast<double>(lrn.size) * squares, -lrn.beta);
    y[c * lrn.view.inner + k] = T(C(static_cast<double>(x[c * lrn.view.inner + k]) * scale));
  }
}

template <class T>
RefKernel lrn_kernel(Lrn lrn) {
  return [lrn](const void* const* in, void* const* out) {
    int64_t sample = lrn.view.extent * lrn.view.inner;
    for (int64_t n = 0; n < lrn.view.outer; ++n) {
      for (int64_t c = 0; c < lrn.view.extent; ++c)
        lrn_channel(in_as<T>(in, 0) + n * sample, out_as<T>(out, 0) + n * sample, c, lrn);
    }
  };
}

Result<Tensors> compute_lrn(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  const Tensor& x = in[0];
  const Dim dim = type_of(x).shape[1];
  if (is_open(dim)) return needs_number("lrn", dim);
  int64_t size = attrs.i("size"), channels = dim.extent();
  BYOC_CHECK(size > 0, "lrn over ", size, " channels");
  Tensor squares = sum_over(
      builder, "squares", x.shape(), {Expr(size)}, x.dtype(), [&](const Exprs& i, const Exprs& r) {
        Exprs at = i;
        at[1] = i[1] + r[0] - (size - 1) / 2;
        Expr value = widened(x(at));
        return select(is_within(at[1], channels), value * value, zero(value.dtype()));
      });
  double weight = attrs.f("alpha") / static_cast<double>(size);
  return one(builder.compute("lrn", x.shape(), [&](const Exprs& i) {
    Expr sum = squares(i), base = like(sum, attrs.f("bias")) + like(sum, weight) * sum;
    Expr scale = te::binary(te::BinaryOp::kPower, base, like(sum, -attrs.f("beta")));
    return converted_to(x.dtype(), widened(x(i)) * scale);
  }));
}

OpDef lrn() {
  OpDef op{
      .name = "lrn",
      .doc =
          "y_c = x_c / (bias + alpha / size * sum x_j^2)^beta, j over the `size` channels around c",
      .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any float, [n, c, ...]"}};
  op.attrs = {{"size", 1, "channels summed, at least 1", AttrSpec::kRequired},
              {"alpha", 1e-4, "weight of the sum"},
              {"beta", 0.75, "exponent"},
              {"bias", 1.0, "keeps the base away from 0"}};
  op.infer = [](Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_floats("lrn", inputs));
    BYOC_TRY_STATUS(expect_channels("lrn", inputs[0]));
    if (attrs.i("size") < 1)
      return invalid(cat("lrn: size is ", attrs.i("size"), ", at least 1 is needed"));
    return one_result(*inputs[0]);
  };
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    Lrn lrn{around_axis(inputs[0], 1), attrs.i("size"), attrs.f("alpha"), attrs.f("beta"),
            attrs.f("bias")};
    return for_dtype("lrn", inputs[0]->dtype, FloatTypes{},
                     [&]<class T>() -> Result<RefKernel> { return lrn_kernel<T>(lrn); });
  };
  op.compute = with_open_sizes(compute_lrn);
  op.flops = [](Types inputs, Types, const Attrs& attrs) {
    return (2.0 * static_cast<double>(attrs.i("size")) + 3) * flop_count(inputs[0]);
  };
  return op;
}

}  // namespace

void add_norm_ops(OpRegistry& ops) {
  ops.add(batch_norm());
  ops.add(group_norm());
  ops.add(instance_norm());
  ops.add(lrn());
}

}  // namespace byoc::op
