// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/winograd/compute.h"

#include <algorithm>

#include "byoc/te/simplify.h"
#include "plugins/llvm/families/winograd/stages.h"
#include "plugins/llvm/families/winograd/stem.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

class StageMaker {
 public:
  StageMaker(te::Builder& builder, const Conv& conv, const Tile& tile, const Exprs& y)
      : builder_(builder),
        conv_(conv),
        down_(transforms_of(tile.rows, conv.rows, conv.stride)),
        across_(transforms_of(tile.columns, conv.columns, conv.stride)),
        tiles_down_(tiles_in(y[2], tile.rows)),
        tiles_across_(tiles_in(y[3], tile.columns)) {}

  Tensor products(const Tensor& x, const Tensor& weight);

 private:
  Tensor filters(const Tensor& weight);
  Tensor inputs(const Tensor& x);
  template <class F>
  Tensor compute(std::string_view name, Exprs shape, F&& value) {
    return builder_.compute(std::string(name), std::move(shape), value);
  }

  te::Builder& builder_;
  const Conv& conv_;
  const Transforms down_, across_;  // over rows, over columns
  const Expr tiles_down_, tiles_across_;
};

Tensor StageMaker::filters(const Tensor& weight) {
  const Exprs shape = {down_.products(), across_.products(), conv_.o_blocks,
                       conv_.c_blocks,   conv_.c_block,      conv_.o_block};
  return compute(kFilters, shape, [&](const Exprs& i) {
    const Exprs sums = each(conv_.rows, [&](int64_t row) {
      const Exprs taps = each(conv_.columns, [&](int64_t column) {
        return te::cast(DType::kF64, weight(i[2], i[3], row, column, i[4], i[5]));
      });
      return element(rows_times(across_.filter, taps), i[1]);
    });
    return te::cast(DType::kF32, element(rows_times(down_.filter, sums), i[0]));
  });
}

Tensor StageMaker::inputs(const Tensor& x) {
  const int64_t reach = across_.reach();
  const Expr n = x.shape()[0];  // which a run may give
  const Exprs shape = {n,     conv_.c_blocks, tiles_down_, tiles_across_, down_.products(),
                       reach, conv_.c_block};
  auto cell = [&](const Exprs& i, int64_t row) {
    const Expr h = i[2] * (down_.m * conv_.stride) + (row - conv_.pad_top);
    const Expr w = i[3] * (across_.m * conv_.stride) + i[5] - conv_.pad_left;
    const Expr is_inside = Expr(0) <= h && h < x.shape()[2] && Expr(0) <= w && w < x.shape()[3];
    return te::select(is_inside, x(i[0], i[1], h, w, i[6]), te::constant(DType::kF32, 0));
  };
  Tensor columns = compute(kColumns, shape, [&](const Exprs& i) {
    const Exprs cells = each(down_.reach(), [&](int64_t row) { return cell(i, row); });
    return element(rows_times(down_.input, cells), i[4]);
  });
  const Exprs both = {down_.products(), across_.products(), n, conv_.c_blocks, tiles_down_,
                      tiles_across_,    conv_.c_block};
  return compute(kInputs, both, [&](const Exprs& i) {
    const Exprs cells = each(
        reach, [&](int64_t column) { return columns(i[2], i[3], i[4], i[5], i[0], column, i[6]); });
    return element(rows_times(across_.input, cells), i[1]);
  });
}

Tensor StageMaker::products(const Tensor& x, const Tensor& weight) {
  const Tensor filters = this->filters(weight), inputs = this->inputs(x);
  const Exprs of_product = {down_.products(), across_.products(), inputs.shape()[2],
                            conv_.o_blocks};
  if (conv_.is_open) {
    Exprs shape = of_product;
    shape.insert(shape.end(), {tiles_down_, tiles_across_, conv_.o_block});
    return builder_.reduce(std::string(kProducts), shape, {conv_.c_blocks, conv_.c_block},
                           te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                             return inputs(i[0], i[1], i[2], r[0], i[4], i[5], r[1]) *
                                    filters(i[0], i[1], i[3], r[0], r[1], i[6]);
                           });
  }
  Exprs shape = of_product;
  shape.insert(shape.end(), {te::simplify(tiles_down_ * tiles_across_), conv_.o_block});
  return builder_.reduce(std::string(kProducts), shape, {conv_.c_blocks, conv_.c_block},
                         te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                           const Expr down = floor_div(i[4], tiles_across_);
                           const Expr across = floor_mod(i[4], tiles_across_);
                           return inputs(i[0], i[1], i[2], r[0], down, across, r[1]) *
                                  filters(i[0], i[1], i[3], r[0], r[1], i[5]);
                         });
}

bool all_are(const Ints& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t x) { return x == value; });
}

bool has_tiles(int64_t rows, int64_t columns, int64_t stride, bool is_plain) {
  if (is_plain) return rows == columns && (rows == 5 || rows == 7) && stride == 2;
  if (rows == columns) return (rows == 3 || rows == 5) && stride <= 2;
  const int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  return shorter == 1 && (longer == 3 || longer == 7) && stride == 1;
}

}  // namespace

std::optional<Conv> conv_of(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return std::nullopt;
  for (TypeId type : {site.inputs[0], site.inputs[1], site.outputs[0]}) {
    if (!is_static(type->shape)) return std::nullopt;
    if (std::ranges::count(static_extents(type->shape), 0) > 0) return std::nullopt;
  }
  Ints x = static_extents(site.inputs[0]->shape);
  const Ints y = static_extents(site.outputs[0]->shape);
  const Ints weight = static_extents(site.inputs[1]->shape);
  const bool is_plain = x.size() == 4;
  if (is_plain) x.push_back(1);  // blocks of one channel
  Ints pads = site.attrs->ints("pads");
  if (pads.empty()) pads = {0, 0, 0, 0};
  const Ints strides = site.attrs->ints("strides");
  const int64_t stride = strides.empty() ? 1 : strides[0];
  const bool fits = site.attrs->i("group", 1) == 1 && all_are(strides, stride) &&
                    all_are(site.attrs->ints("dilations"), 1) && weight[4] == x[4] &&
                    has_tiles(weight[2], weight[3], stride, is_plain);
  if (!fits) return std::nullopt;
  return Conv{x[0], x[1],      x[4],      x[2],    x[3],    y[1],   y[4],    y[2],
              y[3], weight[2], weight[3], pads[0], pads[1], stride, is_plain};
}

std::vector<Tile> tiles_of(const Conv& conv) {
  if (conv.is_plain) return {{4, 4}};
  if (conv.rows == conv.columns) {
    if (conv.stride == 2) return {{4, 4}, {3, 3}, {2, 2}};
    if (conv.rows == 5) return {{4, 4}, {2, 2}};
    return {{4, 4}, {3, 3}, {2, 2}};
  }
  std::vector<Tile> out;
  for (int64_t m : conv.rows* conv.columns == 3 ? Ints{4} : Ints{4, 2})
    out.push_back(conv.rows == 1 ? Tile{1, m} : Tile{m, 1});
  return out;
}

std::string name_of(const Tile& tile) { return cat("winograd_", tile.rows, "x", tile.columns); }

ComputeFn compute_of(const Conv& conv, const Tile& tile) {
  return with_open_sizes([conv, tile](te::Builder& builder, std::span<const Tensor> in, Types types,
                                      const Attrs&) -> Result<std::vector<Tensor>> {
    const Exprs y = te::extents_of(*types[0]);
    const Tensor products = conv.is_plain
                                ? stem_products(builder, conv, tile, in[0], in[1])
                                : StageMaker(builder, conv, tile, y).products(in[0], in[1]);
    return std::vector<Tensor>{result_of(builder, conv, tile, products, y)};
  });
}

}  // namespace byoc::llvm_plugin::winograd
