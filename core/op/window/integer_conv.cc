// SPDX-License-Identifier: Apache-2.0
// Convolutions of integers of 8 bits, whose sums are exact in i32. Zero points, scales and a bias
// follow as other ops; cells outside of the image hold `pad_value`, the zero point of x.
#include <optional>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/conv_kernel.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/matrix.h"

namespace byoc::op {
namespace {

// The shapes: x is [n, c, h, w] or [n, c / x_block, h, w, x_block], weight [o, group_c, kh, kw], y
// [n, o, oh, ow] or [n, o / block, oh, ow, block].
struct IntegerConv {
  int64_t n, c, h, w, x_block;
  int64_t o, group_c, group, block = 1;
  Window row, column;
  int64_t oh = 0, ow = 0, pad_value = 0;
  bool is_blocked = false;
  std::vector<Window> windows() const { return {row, column}; }
};

std::string shown(Types in) { return cat(" (x ", in[0], ", weight ", in[1], ")"); }

Status check_integer_operands(std::string_view op, Types in, size_t rank) {
  BYOC_TRY_STATUS(expect_dtype(op, "x", in[0], {DType::kU8}));
  BYOC_TRY_STATUS(expect_dtype(op, "weight", in[1], {DType::kI8}));
  BYOC_TRY_STATUS(expect_rank(op, "x", in[0], rank));
  BYOC_TRY_STATUS(expect_rank(op, "weight", in[1], 4));
  if (is_static(in[0]->shape) && is_static(in[1]->shape)) return {};
  return invalid(cat(op, ": all extents must be known", shown(in))).with_slug("symbolic-shape");
}

Status check_channels(std::string_view op, Types in, const IntegerConv& conv) {
  if (conv.group < 1 || conv.o % conv.group != 0)
    return invalid(cat(op, ": ", conv.o, " output channels do not divide into ", conv.group,
                       " groups", shown(in)));
  int64_t needed = 0;
  const bool is_too_large = __builtin_mul_overflow(conv.group_c, conv.group, &needed);
  const bool fits = conv.is_blocked ? needed <= conv.c : needed == conv.c;
  if (is_too_large || !fits)
    return invalid(cat(op, ": x has ", conv.c, " channels, weight expects ", needed, shown(in)))
        .with_slug("op-shape");
  if (conv.block >= 1 && conv.o % conv.block == 0) return {};
  return invalid(cat(op, ": ", conv.o, " output channels do not divide into blocks of ", conv.block,
                     shown(in)));
}

Result<IntegerConv> read_integer_conv(std::string_view op, Types in, const Attrs& attrs,
                                      bool is_blocked) {
  BYOC_TRY_STATUS(check_integer_operands(op, in, is_blocked ? 5 : 4));
  Ints x = static_extents(in[0]->shape), w = static_extents(in[1]->shape);
  if (!is_blocked) x.push_back(1);
  IntegerConv conv{x[0], 0, x[2], x[3], x[4], w[0], w[1], attrs.i("group", 1), 1, {}, {}};
  conv.is_blocked = is_blocked;
  conv.block = is_blocked ? attrs.i("block") : 1;
  conv.pad_value = attrs.i("pad_value", 0);
  if (__builtin_mul_overflow(x[1], x[4], &conv.c))
    return invalid(cat(op, ": the channels do not fit in 63 bits", shown(in)));
  BYOC_TRY_STATUS(check_channels(op, in, conv));
  if (conv.pad_value < 0 || conv.pad_value > 255)
    return invalid(cat(op, ": pad_value is ", conv.pad_value, ", expected 0 to 255"));
  BYOC_TRY_STATUS(check_most_weight(op, attrs));
  const int64_t kernel[] = {w[2], w[3]};
  BYOC_TRY(std::vector<Window> windows, read_windows(op, attrs, kernel));
  BYOC_CHECK(windows.size() == 2, windows.size(), " windows of an image");
  conv.row = windows[0], conv.column = windows[1];
  BYOC_TRY(Dim oh, window_extent(op, conv.h, conv.row));
  BYOC_TRY(Dim ow, window_extent(op, conv.w, conv.column));
  conv.oh = oh.extent(), conv.ow = ow.extent();
  return conv;
}

Result<std::vector<TensorType>> infer_integer_conv(std::string_view op, Types in,
                                                   const Attrs& attrs, bool is_blocked) {
  BYOC_TRY(IntegerConv c, read_integer_conv(op, in, attrs, is_blocked));
  if (!is_blocked) return one_result({DType::kI32, {c.n, c.o, c.oh, c.ow}});
  return one_result({DType::kI32, {c.n, c.o / c.block, c.oh, c.ow, c.block}});
}

// Computes one output element; sums wrap around.
int32_t sum_at(const IntegerConv& p, const uint8_t* x, const int8_t* weight, int64_t o, int64_t oh,
               int64_t ow) {
  uint32_t sum = 0;
  const int64_t first = o / (p.o / p.group) * p.group_c;
  for (int64_t k = 0; k < p.group_c; ++k) {
    const int64_t c = first + k;
    const uint8_t* plane = x + c / p.x_block * p.h * p.w * p.x_block + c % p.x_block;
    const int8_t* taps = weight + (o * p.group_c + k) * p.row.kernel * p.column.kernel;
    for (int64_t kh = 0; kh < p.row.kernel; ++kh) {
      const int64_t h = oh * p.row.stride + kh * p.row.dilation - p.row.pad_begin;
      for (int64_t kw = 0; kw < p.column.kernel; ++kw) {
        const int64_t w = ow * p.column.stride + kw * p.column.dilation - p.column.pad_begin;
        const bool is_inside = h >= 0 && h < p.h && w >= 0 && w < p.w;
        const int64_t cell = is_inside ? plane[(h * p.w + w) * p.x_block] : p.pad_value;
        sum += static_cast<uint32_t>(cell * taps[kh * p.column.kernel + kw]);
      }
    }
  }
  return static_cast<int32_t>(sum);
}

Result<RefKernel> reference_conv(std::string_view op, Types in, const Attrs& attrs,
                                 bool is_blocked) {
  BYOC_TRY(IntegerConv p, read_integer_conv(op, in, attrs, is_blocked));
  BYOC_CHECK(p.block > 0 && p.o % p.block == 0, p.o, " channels in blocks of ", p.block);
  return RefKernel([p](const void* const* from, void* const* to) {
    const uint8_t* x = in_as<uint8_t>(from, 0);
    int32_t* y = out_as<int32_t>(to, 0);
    for (int64_t n = 0; n < p.n; ++n, x += p.c * p.h * p.w) {
      for (int64_t block = 0; block < p.o / p.block; ++block) {
        for (int64_t cell = 0; cell < p.oh * p.ow; ++cell) {
          for (int64_t k = 0; k < p.block; ++k)
            *y++ =
                sum_at(p, x, in_as<int8_t>(from, 1), block * p.block + k, cell / p.ow, cell % p.ow);
        }
      }
    }
  });
}

// Returns the channel that output channel `o` reads as number `k` of its group.
Expr channel(const IntegerConv& p, const Expr& o, const Expr& k) {
  return p.group == 1 ? k : floor_div(o, p.o / p.group) * p.group_c + k;
}

Result<Tensors> compute_integer_conv(const std::string& op, te::Builder& builder, Inputs in,
                                     Types out, const Attrs& attrs, bool is_blocked) {
  TypeId types[] = {TensorType{in[0].dtype(), make_shape(extents(in[0]))},
                    TensorType{in[1].dtype(), make_shape(extents(in[1]))}};
  BYOC_TRY(IntegerConv p, read_integer_conv(op, types, attrs, is_blocked));
  Tensor x = padded(builder, in[0], p.windows(), static_cast<double>(p.pad_value)), weight = in[1];
  BYOC_CHECK(x.rank() == (is_blocked ? 5 : 4) && weight.rank() == 4, op, " of rank ", x.rank(),
             " by ", weight.rank());
  auto term = [&](const Exprs& i, const Exprs& r) {
    const Expr o = is_blocked ? i[1] * p.block + i[4] : i[1], c = channel(p, o, r[0]);
    const Expr h = i[2] * p.row.stride + r[1] * p.row.dilation;
    const Expr w = i[3] * p.column.stride + r[2] * p.column.dilation;
    const Expr cell = is_blocked ? x(i[0], floor_div(c, p.x_block), h, w, floor_mod(c, p.x_block))
                                 : x(i[0], c, h, w);
    return te::cast(DType::kI32, cell) * te::cast(DType::kI32, weight(o, r[0], r[1], r[2]));
  };
  Exprs over(weight.shape().begin() + 1, weight.shape().end());
  return one(builder.reduce(op, te::extents_of(*out[0]), over, te::sum_of(DType::kI32), term));
}

// Counts a multiply-add per output element, channel of its group and tap.
double flops_integer_conv(Types in, Types out, const Attrs&) {
  const Ints w = static_extents(in[1]->shape);
  return 2 * flop_count(out[0]) * static_cast<double>(w[1] * w[2] * w[3]);
}

OpDef integer_conv(bool is_blocked) {
  const std::string name = is_blocked ? "conv2d_nchwc_integers" : "conv2d_integers";
  OpDef op{.name = name, .kind = FusionKind::kAnchor};
  op.doc = is_blocked ? "conv2d_integers of an image in blocks of channels, of which the last may "
                        "hold more than weight reads."
                      : "Exact sums of products of integers of 8 bits; they wrap around in i32. "
                        "Cells outside of x are `pad_value`.";
  op.inputs = {{"x", is_blocked ? "u8 [n, c / b, h, w, b]" : "u8 [n, c, h, w]"},
               {"weight", "i8 [o, c / group, kh, kw]"}};
  op.outputs = {{"y", is_blocked ? "i32 [n, o / block, oh, ow, block]" : "i32 [n, o, oh, ow]"}};
  op.attrs = {{"strides", Ints{1, 1}, "one per spatial dim, at least 1"},
              {"pads", Ints{0, 0, 0, 0}, "begins, then ends, at least 0"},
              {"dilations", Ints{1, 1}, "one per spatial dim, at least 1"},
              {"group", int64_t{1}, "divides the channels of x and y"},
              {"pad_value", int64_t{0}, "0 to 255"},
              most_weight_attr()};
  if (is_blocked)
    op.attrs.push_back({"block", int64_t{1}, "channels in a block of y", AttrSpec::kRequired});
  op.infer = [=](Types in, const Attrs& a) { return infer_integer_conv(name, in, a, is_blocked); };
  op.reference = [=](Types in, Types, const Attrs& a) {
    return reference_conv(name, in, a, is_blocked);
  };
  op.compute = [=](te::Builder& builder, Inputs in, Types out, const Attrs& a) {
    return compute_integer_conv(name, builder, in, out, a, is_blocked);
  };
  op.flops = flops_integer_conv;
  op.facts = {.family = OpFamily::kConvolution, .weight = 1};
  return op;
}

}  // namespace

void add_integer_conv_ops(OpRegistry& ops) {
  ops.add(integer_conv(false));
  ops.add(integer_conv(true));
}

}  // namespace byoc::op
