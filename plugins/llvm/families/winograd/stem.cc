// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/winograd/stem.h"

#include "plugins/llvm/families/winograd/stages.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kTileLanes = 16;  // columns of tiles are whole vectors of them

/// The products of one dimension. With a stride of t, phase p has every t-th input from p on, and
/// one product per point of evaluation. Example: 7 taps and a stride of 2 are the phases
/// of 4 and of 3 taps; for outputs in tiles of 2 these have 5 and 4 points.
class Points {
 public:
  Points(int64_t m, int64_t r, int64_t stride)
      : transforms_(transforms_of(m, r, stride)), numbers_(column_numbers(transforms_.output)) {}

  const Transforms& transforms() const { return transforms_; }
  int64_t count() const { return transforms_.points(); }
  int64_t step() const { return transforms_.m * transforms_.stride; }
  /// Returns values of products as values[point * stride + phase], 0 where a phase has no product.
  Exprs by_phase(const Exprs& of_products) const {
    const auto stride = static_cast<size_t>(transforms_.stride);
    const auto points = static_cast<size_t>(count());
    Exprs out(points * stride, te::constant(of_products[0].dtype(), 0));
    std::vector<size_t> seen(points, 0);
    for (size_t u = 0; u < of_products.size(); ++u)
      out[numbers_[u] * stride + seen[numbers_[u]]++] = of_products[u];
    return out;
  }

 private:
  const Transforms transforms_;
  const std::vector<size_t> numbers_;  // of the point of each product
};

class Stem {
 public:
  Stem(te::Builder& builder, const Conv& conv, const Tile& tile)
      : builder_(builder),
        conv_(conv),
        down_(tile.rows, conv.rows, conv.stride),
        across_(tile.columns, conv.columns, conv.stride),
        tiles_down_(tiles_in(conv.oh, tile.rows)),
        tiles_across_(tiles_in(conv.ow, tile.columns)) {}

  Tensor filters(const Tensor& weight);
  Tensor inputs(const Tensor& x);
  Tensor products(const Tensor& inputs, const Tensor& filters);

 private:
  Tensor phases(const Tensor& x);
  template <class F>
  Tensor compute(std::string_view name, Exprs shape, F&& value) {
    return builder_.compute(std::string(name), std::move(shape), value);
  }

  te::Builder& builder_;
  const Conv& conv_;
  const Points down_, across_;
  const int64_t tiles_down_, tiles_across_;
};

Tensor Stem::filters(const Tensor& weight) {
  const Exprs shape = {down_.count(), across_.count(), conv_.o_blocks, conv_.c_blocks,
                       conv_.stride,  conv_.stride,    conv_.o_block};
  return compute(kFilters, shape, [&](const Exprs& i) {
    const Exprs sums = each(conv_.rows, [&](int64_t row) {
      const Exprs taps = each(conv_.columns, [&](int64_t column) {
        return te::cast(DType::kF64, weight(i[2], i[3], row, column, 0, i[6]));
      });
      const Exprs all = across_.by_phase(rows_times(across_.transforms().filter, taps));
      return element(all, i[1] * conv_.stride + i[5]);
    });
    const Exprs all = down_.by_phase(rows_times(down_.transforms().filter, sums));
    return te::cast(DType::kF32, element(all, i[0] * conv_.stride + i[4]));
  });
}

// A tile reaches beyond its step into those of the next tiles.
Tensor Stem::phases(const Tensor& x) {
  const int64_t step = across_.step();
  const int64_t reach = across_.transforms().reach();
  const int64_t columns = tiles_in(tiles_across_ + (reach - 1) / step, kTileLanes) * kTileLanes;
  const int64_t rows = (tiles_down_ - 1) * down_.step() + down_.transforms().reach();
  Tensor padded =
      compute(kPadded, {x.shape()[0], conv_.c_blocks, rows, columns * step}, [&](const Exprs& i) {
        const Expr h = i[2] - conv_.pad_top, w = i[3] - conv_.pad_left;
        const Expr is_inside = Expr(0) <= h && h < conv_.h && Expr(0) <= w && w < conv_.w;
        return te::select(is_inside, x(i[0], i[1], h, w), te::constant(DType::kF32, 0));
      });
  return compute(kPhases, {x.shape()[0], conv_.c_blocks, rows, step, columns},
                 [&](const Exprs& i) { return padded(i[0], i[1], i[2], i[4] * step + i[3]); });
}

Tensor Stem::inputs(const Tensor& x) {
  const Tensor phases = this->phases(x);
  const int64_t step = across_.step(), stride = conv_.stride;
  const Expr n = x.shape()[0];
  const Exprs half = {n,      tiles_down_, conv_.c_blocks,   down_.count(),
                      stride, step,        phases.shape()[4]};
  const Tensor columns = compute(kColumns, half, [&](const Exprs& i) {
    const Exprs cells = each(down_.transforms().reach(), [&](int64_t row) {
      return phases(i[0], i[2], i[1] * down_.step() + row, i[5], i[6]);
    });
    const Exprs all = down_.by_phase(rows_times(down_.transforms().input, cells));
    return element(all, i[3] * stride + i[4]);
  });
  const Exprs both = {down_.count(),  across_.count(), n,      tiles_down_,
                      conv_.c_blocks, stride,          stride, tiles_across_};
  return compute(kInputs, both, [&](const Exprs& i) {
    const Exprs cells = each(across_.transforms().reach(), [&](int64_t column) {
      return columns(i[2], i[3], i[4], i[0], i[5], column % step, i[7] + column / step);
    });
    const Exprs all = across_.by_phase(rows_times(across_.transforms().input, cells));
    return element(all, i[1] * stride + i[6]);
  });
}

Tensor Stem::products(const Tensor& inputs, const Tensor& filters) {
  const Exprs shape = {down_.count(),
                       across_.count(),
                       inputs.shape()[2],
                       conv_.o_blocks,
                       tiles_down_ * tiles_across_,
                       conv_.o_block};
  return builder_.reduce(std::string(kProducts), shape,
                         {conv_.c_blocks, conv_.stride, conv_.stride}, te::sum_of(DType::kF32),
                         [&](const Exprs& i, const Exprs& r) {
                           const Expr down = floor_div(i[4], tiles_across_);
                           const Expr across = floor_mod(i[4], tiles_across_);
                           return inputs(i[0], i[1], i[2], down, r[0], r[1], r[2], across) *
                                  filters(i[0], i[1], i[3], r[0], r[1], r[2], i[5]);
                         });
}

}  // namespace

Tensor stem_products(te::Builder& builder, const Conv& conv, const Tile& tile, const Tensor& x,
                     const Tensor& weight) {
  Stem stem(builder, conv, tile);
  const Tensor filters = stem.filters(weight), inputs = stem.inputs(x);
  return stem.products(inputs, filters);
}

}  // namespace byoc::llvm_plugin::winograd
