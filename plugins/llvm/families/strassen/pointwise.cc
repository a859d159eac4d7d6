// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/strassen/pointwise.h"

#include <algorithm>

#include "byoc/te/simplify.h"

namespace byoc::llvm_plugin::strassen {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kJoined[] = {2, 3, 1};  // blocks of y in a block of columns, the fastest first

bool has_one_pixel(const te::Site& site, const Ints& x, const Ints& weight) {
  const Ints pads = site.attrs->ints("pads");
  return weight[2] == 1 && weight[3] == 1 && weight[4] == x[4] && site.attrs->i("group", 1) == 1 &&
         std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; });
}

int64_t bands_of(const Pointwise& conv, int64_t band) { return (conv.pixels() + band - 1) / band; }

}  // namespace

std::optional<Pointwise> pointwise_of(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return std::nullopt;
  const Shape &from = site.inputs[0]->shape, &taps = site.inputs[1]->shape,
              &to = site.outputs[0]->shape;
  if (!is_static(from) || !is_static(taps) || !is_static(to)) return std::nullopt;
  const Ints x = static_extents(from), weight = static_extents(taps), y = static_extents(to);
  if (!has_one_pixel(site, x, weight)) return std::nullopt;
  Pointwise out{y[0], y[2], y[3], y[1], y[4], x[1], x[4]};
  const Ints strides = site.attrs->ints("strides");
  if (!strides.empty()) out.row_step = strides[0], out.column_step = strides[1];
  if (out.in_blocks < 2 || out.in_blocks % 2 != 0 || out.images * out.pixels() < 2)
    return std::nullopt;
  const int64_t lanes = site.target->lanes(sizeof(float));
  for (int64_t joined : kJoined) {
    const bool fits =
        out.blocks > 0 && out.blocks % (2 * joined) == 0 && (joined > 1 || out.block >= 2 * lanes);
    if (!fits) continue;
    out.joined = joined;
    return out;
  }
  return std::nullopt;
}

Product product_of(const Pointwise& conv, int64_t band) {
  Product out{band, conv.k(), conv.blocks * conv.block, conv.block * conv.joined};
  out.bands = conv.images * bands_of(conv, band);
  out.term_block = conv.in_block;
  return out;
}

ComputeFn compute_of(const Pointwise& conv, const Product& product) {
  return with_open_sizes([conv, product](te::Builder& builder, std::span<const Tensor> in,
                                         Types types, const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor x = in[0], weight = in[1];
    if (!te::as_int(x.shape()[2]) || !te::as_int(x.shape()[3]))
      return unimplemented("Strassen's bands need the pixels of an image as a number")
          .with_slug("symbolic-shape");
    const int64_t bands = product.bands / conv.images, width = conv.y_columns;
    Operands operands;
    operands.bands = te::simplify(x.shape()[0] * bands);
    operands.rows = [&](const Expr& band, const Expr& row, const Expr& term) {
      const Expr pixel = floor_mod(band, bands) * product.m + row;
      const Expr value =
          x(floor_div(band, bands), floor_div(term, conv.in_block),
            floor_div(pixel, width) * conv.row_step, floor_mod(pixel, width) * conv.column_step,
            floor_mod(term, conv.in_block));
      return bands * product.m == conv.pixels()
                 ? value
                 : te::select(pixel < conv.pixels(), value, te::constant(DType::kF32, 0));
    };
    operands.matrix = [&](const Expr& block, const Expr& term, const Expr& column) {
      return weight(block * conv.joined + floor_div(column, conv.block),
                    floor_div(term, conv.in_block), 0, 0, floor_mod(term, conv.in_block),
                    floor_mod(column, conv.block));
    };
    const Tensor quarters = quarters_of(builder, product, operands);
    return std::vector<Tensor>{
        builder.compute("conv2d_nchwc", te::extents_of(*types[0]), [&](const Exprs& i) {
          const Expr pixel = i[2] * width + i[3];
          return element_of(quarters, product, i[0] * bands + floor_div(pixel, product.m),
                            floor_mod(pixel, product.m), floor_div(i[1], conv.joined),
                            floor_mod(i[1], conv.joined) * conv.block + i[4]);
        })};
  });
}

}  // namespace byoc::llvm_plugin::strassen
