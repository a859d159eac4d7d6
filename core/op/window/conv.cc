// SPDX-License-Identifier: Apache-2.0
// Convolutions over one, two or three spatial dims; no op takes a bias (an `add` follows instead).
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/conv_kernel.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

struct ConvShape {
  const TensorType& x;
  const TensorType& weight;
  int64_t group = 1;
  std::vector<Window> windows;
};

std::string shown(const TensorType& x, const TensorType& weight) {
  return cat(" (x ", x, ", weight ", weight, ")");
}

Status check_operands(std::string_view op, Types in, size_t spatial) {
  BYOC_TRY_STATUS(expect_rank(op, "x", in[0], spatial + 2));
  BYOC_TRY_STATUS(expect_rank(op, "weight", in[1], spatial + 2));
  BYOC_TRY_STATUS(expect_dtype(op, "x", in[0], dtypes_of(ConvTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(op, in));
  if (is_static(in[1]->shape) && in[0]->shape[1].is_static()) return {};
  return invalid(cat(op, ": channels and the weight's shape must be known", shown(*in[0], *in[1])))
      .with_slug("symbolic-shape");
}

Result<ConvShape> read_conv(std::string_view op, Types in, const Attrs& attrs, size_t spatial) {
  ConvShape conv{*in[0], *in[1], attrs.i("group", 1), {}};
  BYOC_TRY_STATUS(check_operands(op, in, spatial));
  if (conv.group < 1) return invalid(cat(op, ": group is ", conv.group, ", expected at least 1"));
  Ints kernel = static_extents(conv.weight.shape);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  BYOC_TRY(conv.windows, read_windows(op, attrs, kernel));
  return conv;
}

Status divisible(std::string_view op, const char* what, int64_t channels, const ConvShape& conv) {
  BYOC_CHECK(conv.group > 0, op, " of ", conv.group, " groups");
  if (channels % conv.group == 0) return {};
  return invalid(cat(op, ": ", channels, " ", what, " do not divide into ", conv.group, " groups",
                     shown(conv.x, conv.weight)));
}

Result<std::vector<TensorType>> infer_conv(std::string_view op, Types in, const Attrs& attrs,
                                           size_t spatial) {
  BYOC_TRY(ConvShape conv, read_conv(op, in, attrs, spatial));
  int64_t c = conv.x.shape[1].extent();
  int64_t o = conv.weight.shape[0].extent(), per_group = conv.weight.shape[1].extent();
  BYOC_CHECK(conv.windows.size() == spatial, conv.windows.size(), " windows of ", op);
  BYOC_TRY_STATUS(divisible(op, "channels of x", c, conv));
  BYOC_TRY_STATUS(divisible(op, "output channels", o, conv));
  int64_t expected = 0;
  if (__builtin_mul_overflow(per_group, conv.group, &expected)) expected = INT64_MAX;
  if (c != expected) {
    return invalid(cat(op, ": x has ", c, " channels, weight expects ", expected,
                       shown(conv.x, conv.weight)))
        .with_slug("op-shape");
  }
  TensorType y{conv.x.dtype, {conv.x.shape[0], o}};
  for (size_t d = 0; d < spatial; ++d) {
    BYOC_TRY(Dim extent, window_extent(op, conv.x.shape[2 + d], conv.windows[d]));
    y.shape.push_back(extent);
  }
  return std::vector{y};
}

Result<Ints> output_padding(std::string_view op, const Attrs& attrs, size_t spatial) {
  Ints padding = attrs.ints("output_padding");
  if (padding.empty()) padding.assign(spatial, 0);
  if (padding.size() != spatial) {
    return invalid(
        cat(op, ": output_padding has ", padding.size(), " entries, expected ", spatial));
  }
  for (int64_t p : padding) {
    if (p < 0 || p >= int64_t{1} << 31) {
      return invalid(
          cat(op, ": output_padding holds ", p, ", expected at least 0 and less than 2^31"));
    }
  }
  return padding;
}

// Returns (in - 1) * stride + reach - pads + padding of an open extent.
Result<Dim> open_transposed_extent(std::string_view op, Dim in, const Window& w, int64_t padding) {
  const int64_t more = w.reach() + padding - w.pad_begin - w.pad_end - w.stride;
  if (in.is_counted() || in.min() < 1 || in.min() > INT32_MAX || in.min() * w.stride + more < 0) {
    return invalid(cat(op, ": the extent over which a window slides must be known, it is ", in))
        .with_slug("symbolic-shape");
  }
  BYOC_TRY(const Dim whole, dim_product(in, Dim(w.stride)));
  return more < 0 ? dim_difference(whole, Dim(-more)) : dim_sum(whole, Dim(more));
}

Result<Dim> transposed_extent(std::string_view op, Dim in, const Window& w, int64_t padding) {
  if (!in.is_static()) return open_transposed_extent(op, in, w, padding);
  int64_t last = 0;
  if (__builtin_mul_overflow(in.extent() - 1, w.stride, &last) ||
      last > INT64_MAX / 2 - w.reach()) {
    return Status(Code::kOutOfRange, cat(op, ": the output extent does not fit in 63 bits"));
  }
  int64_t extent = last + w.reach() + padding - w.pad_begin - w.pad_end;
  if (in.extent() == 0 || extent < 0) {
    return invalid(
        cat(op, ": the output extent would be ", extent, " for an input extent of ", in.extent()));
  }
  return Dim(extent);
}

Result<std::vector<TensorType>> infer_conv_transpose(std::string_view op, Types in,
                                                     const Attrs& attrs, size_t spatial) {
  BYOC_TRY(ConvShape conv, read_conv(op, in, attrs, spatial));
  int64_t c = conv.x.shape[1].extent();
  BYOC_TRY_STATUS(divisible(op, "channels of x", c, conv));
  if (conv.weight.shape[0].extent() != c) {
    return invalid(cat(op, ": x has ", c, " channels, weight expects ",
                       conv.weight.shape[0].extent(), shown(conv.x, conv.weight)))
        .with_slug("op-shape");
  }
  BYOC_TRY(Ints padding, output_padding(op, attrs, spatial));
  BYOC_CHECK(conv.windows.size() == spatial, conv.windows.size(), " windows of ", op);
  int64_t o = 0;
  if (__builtin_mul_overflow(conv.weight.shape[1].extent(), conv.group, &o)) {
    return Status(Code::kOutOfRange,
                  cat(op, ": the number of output channels does not fit in 63 bits"));
  }
  TensorType y{conv.x.dtype, {conv.x.shape[0], o}};
  for (size_t d = 0; d < spatial; ++d) {
    BYOC_TRY(Dim extent, transposed_extent(op, conv.x.shape[2 + d], conv.windows[d], padding[d]));
    y.shape.push_back(extent);
  }
  return std::vector{y};
}

Result<RefKernel> reference_conv(std::string_view op, Types in, Types out, const Attrs& attrs,
                                 size_t spatial, bool transposed) {
  BYOC_TRY(ConvShape conv, read_conv(op, in, attrs, spatial));
  return conv_kernel(
      op, conv.x.dtype,
      make_conv_plan(conv.x, conv.weight, *out[0], conv.windows, conv.group, transposed));
}

// Returns channel `c` of the group of output channel `o`, of which a group has `per_group`.
Expr group_channel(const Expr& o, int64_t per_group, const Expr& c, int64_t c_per_group,
                   int64_t groups) {
  if (groups == 1) return c;
  Expr group = per_group == 1 ? o : floor_div(o, per_group);
  return c_per_group == 1 ? group + c : group * c_per_group + c;
}

Result<ConvShape> conv_of(std::string_view op, Inputs in, const Attrs& attrs, size_t spatial,
                          std::vector<TypeId>& types) {
  for (const Tensor& x : in) types.push_back(type_of(x));
  for (Dim dim : types[1]->shape) {
    if (is_open(dim)) return needs_number(op, dim);
  }
  if (is_open(types[0]->shape[1])) return needs_number(op, types[0]->shape[1]);
  return read_conv(op, types, attrs, spatial);
}

Result<Tensors> compute_conv(const std::string& op, te::Builder& builder, Inputs in, Types out,
                             const Attrs& attrs, size_t spatial) {
  std::vector<TypeId> types;
  BYOC_TRY(ConvShape conv, conv_of(op, in, attrs, spatial, types));
  Tensor x = padded(builder, in[0], conv.windows), weight = in[1];
  Ints kernel = extents(weight);
  BYOC_CHECK(kernel.size() == spatial + 2 && x.rank() == spatial + 2, op, " of rank ", x.rank(),
             " by rank ", kernel.size());
  int64_t o = kernel[0] / conv.group, c = kernel[1];
  auto term = [&](const Exprs& i, const Exprs& r) {
    Exprs at_x = {i[0], group_channel(i[1], o, r[0], c, conv.group)}, at_w = {i[1]};
    at_w.insert(at_w.end(), r.begin(), r.end());
    for (size_t d = 0; d < spatial; ++d) {
      const Window& w = conv.windows[d];
      Expr start = w.stride == 1 ? i[2 + d] : i[2 + d] * w.stride;
      at_x.push_back(start + (w.dilation == 1 ? r[1 + d] : r[1 + d] * w.dilation));
    }
    return widened(x(at_x)) * widened(weight(at_w));
  };
  Exprs over(weight.shape().begin() + 1, weight.shape().end());
  Tensor y = sum_over(builder, op, te::extents_of(*out[0]), over, x.dtype(), term);
  return one(stored_as(builder, op, out[0]->dtype, y));
}

// Reads input cell t / stride with tap k of output cell q, t = q + pad - k * dilation, where that
// is a whole number and inside.
Result<Tensors> compute_conv_transpose(const std::string& op, te::Builder& builder, Inputs in,
                                       Types out, const Attrs& attrs, size_t spatial) {
  std::vector<TypeId> types;
  BYOC_TRY(ConvShape conv, conv_of(op, in, attrs, spatial, types));
  const Tensor &x = in[0], &weight = in[1];
  const Exprs& cells = x.shape();
  Ints kernel = extents(weight);
  BYOC_CHECK(kernel.size() == spatial + 2 && cells.size() == spatial + 2, op, " of rank ",
             cells.size(), " by rank ", kernel.size());
  int64_t o = kernel[1], c = kernel[0] / conv.group;
  auto term = [&](const Exprs& i, const Exprs& r) {
    Expr channel = group_channel(i[1], o, r[0], c, conv.group);
    Exprs at_x = {i[0], channel}, met;
    Exprs at_w = {channel, conv.group == 1 ? i[1] : o == 1 ? Expr(0) : floor_mod(i[1], o)};
    at_w.insert(at_w.end(), r.begin() + 1, r.end());
    for (size_t d = 0; d < spatial; ++d) {
      const Window& w = conv.windows[d];
      Expr t = i[2 + d] + w.pad_begin - r[1 + d] * w.dilation;
      if (w.stride > 1) met.push_back(floor_mod(t, w.stride) == Expr(0));
      Expr cell = w.stride > 1 ? floor_div(t, w.stride) : t;
      met.push_back(Expr(0) <= cell && cell < cells[2 + d]);
      at_x.push_back(cell);
    }
    Expr cell = widened(x(at_x));
    return select(all_of(met), cell, zero(cell.dtype())) * widened(weight(at_w));
  };
  Exprs over = {Expr(c)};
  over.insert(over.end(), weight.shape().begin() + 2, weight.shape().end());
  Tensor y = sum_over(builder, op, te::extents_of(*out[0]), over, x.dtype(), term);
  return one(stored_as(builder, op, out[0]->dtype, y));
}

// Counts a multiply-add per output element, input channel of its group and tap.
double flops_conv(Types in, Types out, const Attrs&) {
  double per_output = 1;
  for (int64_t extent : static_extents(in[1]->shape)) per_output *= static_cast<double>(extent);
  double o = static_cast<double>(in[1]->shape[0].extent());
  return o == 0 ? 0 : 2 * flop_count(out[0]) * per_output / o;
}

// Counts a multiply-add per input element and weight of its channel (edges counted
// like other cells).
double flops_conv_transpose(Types in, Types, const Attrs&) {
  double per_input = 1;
  for (int64_t extent : static_extents(in[1]->shape)) per_input *= static_cast<double>(extent);
  double c = static_cast<double>(in[1]->shape[0].extent());
  return c == 0 ? 0 : 2 * flop_count(in[0]) * per_input / c;
}

std::vector<AttrSpec> window_attrs(size_t spatial) {
  return {{"strides", Ints(spatial, 1), "one per spatial dim, at least 1"},
          {"pads", Ints(2 * spatial, 0), "begins, then ends, at least 0"},
          {"dilations", Ints(spatial, 1), "one per spatial dim, at least 1"},
          {"group", int64_t{1}, "divides the channels of x and y"}};
}

OpDef conv(size_t spatial) {
  std::string name = cat("conv", spatial, "d");
  std::string cells = spatial == 1 ? "w" : spatial == 2 ? "h, w" : "d, h, w";
  return {
      .name = name,
      .doc =
          "Convolution; extents are floor((in + pads - dilation * (k - 1) - 1) / stride) + 1. No "
          "bias: an "
          "add follows instead.",
      .kind = FusionKind::kAnchor,
      .inputs = {{"x", cat("float or i32 [n, c, ", cells, "]")},
                 {"weight", "as x: [o, c / group, kernel...]"}},
      .outputs = {{"y", cat("[n, o, ", cells, "]")}},
      .attrs = window_attrs(spatial),
      .infer = [=](Types in, const Attrs& a) { return infer_conv(name, in, a, spatial); },
      .reference = [=](Types in, Types out,
                       const Attrs& a) { return reference_conv(name, in, out, a, spatial, false); },
      .compute = with_open_sizes([=](te::Builder& builder, Inputs in, Types out, const Attrs& a) {
        return compute_conv(name, builder, in, out, a, spatial);
      }),
      .flops = flops_conv,
      .facts = {.family = OpFamily::kConvolution, .weight = 1, .is_plain = true},
  };
}

OpDef conv_transpose(size_t spatial) {
  std::string name = cat("conv", spatial, "d_transpose");
  std::string cells = spatial == 1 ? "w" : spatial == 2 ? "h, w" : "d, h, w";
  std::vector<AttrSpec> attrs = window_attrs(spatial);
  attrs.push_back(
      {"output_padding", Ints(spatial, 0), "cells added at the end of each spatial dim"});
  return {
      .name = name,
      .doc =
          "Transposed convolution, the gradient of a convolution with respect to its input; "
          "extents are "
          "(in - 1) * stride + dilation * (k - 1) + 1 - pads + output_padding.",
      .kind = FusionKind::kAnchor,
      .inputs = {{"x", cat("float or i32 [n, c, ", cells, "]")},
                 {"weight", "as x: [c, o / group, kernel...]"}},
      .outputs = {{"y", cat("[n, o, ", cells, "]")}},
      .attrs = attrs,
      .infer = [=](Types in, const Attrs& a) { return infer_conv_transpose(name, in, a, spatial); },
      .reference = [=](Types in, Types out,
                       const Attrs& a) { return reference_conv(name, in, out, a, spatial, true); },
      .compute = with_open_sizes([=](te::Builder& builder, Inputs in, Types out, const Attrs& a) {
        return compute_conv_transpose(name, builder, in, out, a, spatial);
      }),
      .flops = flops_conv_transpose,
      .facts = {.family = OpFamily::kTransposedConvolution,
                .weight = 1,
                .weight_channels = 1,
                .is_plain = true},
  };
}

}  // namespace

Tensor padded(te::Builder& builder, const Tensor& x, const std::vector<Window>& windows,
              double fill) {
  auto has_pads = [](const Window& w) { return w.pad_begin > 0 || w.pad_end > 0; };
  if (std::none_of(windows.begin(), windows.end(), has_pads)) return x;
  const Exprs& from = x.shape();
  BYOC_CHECK(windows.size() + 2 <= from.size(), windows.size(), " windows in rank ", from.size());
  Exprs shape = from;
  for (size_t d = 0; d < windows.size(); ++d)
    shape[2 + d] = te::simplify(from[2 + d] + windows[d].pad_begin + windows[d].pad_end);
  return builder.compute("pad", shape, [&](const Exprs& i) {
    Exprs cell = i, inside;
    for (size_t d = 0; d < windows.size(); ++d) {
      const Window& w = windows[d];
      if (w.pad_begin > 0) cell[2 + d] = i[2 + d] - w.pad_begin;
      if (w.pad_begin > 0) inside.push_back(Expr(0) <= cell[2 + d]);
      if (w.pad_end > 0) inside.push_back(cell[2 + d] < from[2 + d]);
    }
    return select(all_of(inside), x(cell), literal(x.dtype(), fill));
  });
}

void add_conv_ops(OpRegistry& ops) {
  for (size_t spatial = 1; spatial <= 3; ++spatial) {
    ops.add(conv(spatial));
    ops.add(conv_transpose(spatial));
  }
}

}  // namespace byoc::op
