// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/integers/depthwise.h"

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::integers {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kLargestProduct = 255 * 128;
constexpr int64_t kExactBelow = 1 << 24;  // sums of smaller sizes are exact in f32

struct Shapes {
  Ints x, w, y;  // [n, c / b, h, w, b], [c, 1, kh, kw], [n, c / b, oh, ow, b]
};

Tensor cells_of(te::Builder& builder, const Tensor& x, const Shapes& s, const Attrs& attrs) {
  const Ints pads = attrs.ints("pads");
  const Expr edge = te::constant(DType::kF32, static_cast<double>(attrs.i("pad_value", 0)));
  BYOC_CHECK(pads.size() == 4, "an image has pads at 4 edges, got ", pads.size());
  const Exprs shape = {s.x[0], s.x[1], s.x[2] + pads[0] + pads[2], s.x[3] + pads[1] + pads[3],
                       s.x[4]};
  return builder.compute("cells", shape, [&](const Exprs& i) {
    const Expr h = i[2] - pads[0], w = i[3] - pads[1];
    const Expr cell = te::cast(DType::kF32, x(i[0], i[1], h, w, i[4]));
    Expr inside = Expr(0) <= h && h < s.x[2] && Expr(0) <= w && w < s.x[3];
    return te::select(inside, cell, edge);
  });
}

Result<std::vector<Tensor>> compute(te::Builder& builder, std::span<const Tensor> in,
                                    const Shapes& s, const Attrs& attrs) {
  const int64_t block = s.y[4];
  const Ints strides = attrs.ints("strides"), dilations = attrs.ints("dilations");
  BYOC_CHECK(strides.size() == 2 && dilations.size() == 2, "a window of two dims");
  const Tensor weights =
      builder.compute("weights", {s.y[1], 1, s.w[2], s.w[3], 1, block}, [&](const Exprs& i) {
        return te::cast(DType::kF32, in[1](i[0] * block + i[5], 0, i[2], i[3]));
      });
  const Tensor cells = cells_of(builder, in[0], s, attrs);
  const Tensor sums = builder.reduce(
      "sums", {s.y[0], s.y[1], s.y[2], s.y[3], block}, {1, s.w[2], s.w[3], 1},
      te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
        const Expr h = i[2] * strides[0] + r[1] * dilations[0];
        const Expr w = i[3] * strides[1] + r[2] * dilations[1];
        return cells(i[0], i[1], h, w, i[4]) * weights(i[1], r[0], r[1], r[2], r[3], i[4]);
      });
  return std::vector<Tensor>{
      builder.compute("conv2d_nchwc_integers", sums.shape(),
                      [&](const Exprs& i) { return te::cast(DType::kI32, sums(i)); })};
}

}  // namespace

std::optional<ComputeFn> depthwise_compute_of(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc_integers") return std::nullopt;
  for (const TypeId type : {site.inputs[0], site.inputs[1], site.outputs[0]})
    if (!is_static(type->shape)) return std::nullopt;
  const Shapes s{static_extents(site.inputs[0]->shape), static_extents(site.inputs[1]->shape),
                 static_extents(site.outputs[0]->shape)};
  BYOC_CHECK(s.x.size() == 5 && s.w.size() == 4 && s.y.size() == 5, "an image in blocks of rank ",
             s.x.size());
  const int64_t channels = s.w[0];
  const bool is_depthwise = channels > 1 && site.attrs->i("group", 1) == channels &&
                            s.x[1] * s.x[4] == channels && s.x[4] == s.y[4];
  if (!is_depthwise || s.w[2] * s.w[3] * kLargestProduct >= kExactBelow) return std::nullopt;
  return [s](te::Builder& builder, std::span<const Tensor> in, Types, const Attrs& attrs) {
    return compute(builder, in, s, attrs);
  };
}

}  // namespace byoc::llvm_plugin::integers
