// SPDX-License-Identifier: Apache-2.0
// Samples between cells as expressions. Positions are in f64, as in the reference kernels: a
// position with another rounding may belong to another cell.
#include "byoc/base/check.h"
#include "core/op/kernel/sample.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

Expr as_f64(Expr x) { return te::cast(DType::kF64, widened(std::move(x))); }

// One dim of the image, and the rule that brings positions outside of it back.
struct SampleAxisExpr {
  int64_t size;
  bool align_corners;
  std::string padding;

  Expr position(const Expr& g) const {
    double n = static_cast<double>(size);
    if (align_corners) return (g + f64(1)) / f64(2) * f64(n - 1);
    return ((g + f64(1)) * f64(n) - f64(1)) / f64(2);
  }
  Expr padded(Expr at) const {
    double last = static_cast<double>(size - 1);
    if (padding == "zeros") return at;
    if (padding == "reflection")
      at = reflected(at, align_corners ? 0 : -0.5, align_corners ? last : last + 0.5);
    return clamped_position(at, 0, std::max(last, 0.0));
  }
  static Expr reflected(const Expr& at, double low, double high) {
    double span = high - low;
    if (!(span > 0)) return f64(0);
    Expr far = te::unary(UnaryOp::kAbs, at - f64(low));
    Expr over = te::binary(te::BinaryOp::kRemainder, far, f64(2 * span));
    return f64(low) + select(over <= f64(span), over, f64(2 * span) - over);
  }
};

Exprs cubic_weights(const Expr& t) {
  constexpr double a = -0.75;
  auto near = [](const Expr& d) { return (f64(a + 2) * d - f64(a + 3)) * d * d + f64(1); };
  auto far = [](const Expr& d) {
    return ((f64(a) * d - f64(5 * a)) * d + f64(8 * a)) * d - f64(4 * a);
  };
  return {far(f64(1) + t), near(t), near(f64(1) - t), far(f64(2) - t)};
}

TapsExpr cubic_taps(const SampleAxisExpr& axis, const Expr& position) {
  Expr first = floor_cell(position) - 1;
  TapsExpr taps{{}, cubic_weights(position - te::unary(UnaryOp::kFloor, position)), {}};
  for (int64_t k = 0; k < 4; ++k)
    taps.cells.push_back(floor_cell(axis.padded(te::cast(DType::kF64, first + k))));
  return taps;
}

}  // namespace

Expr floor_cell(const Expr& position) {
  Expr far = f64(0x1p40);
  Expr near = te::unary(UnaryOp::kFloor, min(far, position));
  return te::cast(DType::kI64, select(position > -far, near, -far));
}

Expr clamped_position(const Expr& x, double low, double high) {
  return select(x < f64(low), f64(low), select(f64(high) < x, f64(high), x));
}

TapsExpr linear_taps(const Expr& position, int64_t extent) {
  Expr cell = floor_cell(position), part = position - te::cast(DType::kF64, cell);
  return {{cell, cell + 1}, {f64(1) - part, part}, Expr(-1) <= cell && cell <= Expr(extent)};
}

Expr sampled(const Tensor& x, const Exprs& leading, const std::vector<TapsExpr>& taps) {
  const Ints shape = extents(x);
  BYOC_CHECK(leading.size() + taps.size() == shape.size(), leading.size(), " indices and ",
             taps.size(), " taps for rank ", shape.size());
  size_t combinations = 1;
  for (const TapsExpr& dim : taps) {
    BYOC_CHECK(dim.weights.size() == dim.cells.size(), dim.weights.size(), " weights of ",
               dim.cells.size(), " cells");
    combinations *= dim.cells.size();
  }
  Expr sum = f64(0), near;
  for (size_t which = 0; which < combinations; ++which) {
    Exprs at = leading;
    Expr weight = f64(1), inside;
    size_t rest = which;
    for (size_t d = 0; d < taps.size(); ++d) {
      size_t k = rest % taps[d].cells.size();
      rest /= taps[d].cells.size();
      Expr within = is_within(taps[d].cells[k], shape[leading.size() + d]);
      inside = inside.is_empty() ? within : inside && within;
      at.push_back(taps[d].cells[k]);
      weight = d == 0 ? taps[d].weights[k] : weight * taps[d].weights[k];
    }
    sum = sum + weight * select(inside, as_f64(x(at)), f64(0));
  }
  for (const TapsExpr& dim : taps) {
    if (!dim.near.is_empty()) near = near.is_empty() ? dim.near : near && dim.near;
  }
  return near.is_empty() ? sum : select(near, sum, f64(0));
}

Result<Tensors> compute_grid_sample(te::Builder& builder, Inputs in, Types out,
                                    const Attrs& attrs) {
  const Tensor &x = in[0], &grid = in[1];
  const Ints shape = extents(x), to = static_extents(out[0]->shape);
  BYOC_CHECK(shape.size() >= 3 && to.size() == shape.size(), "rank ", shape.size(),
             " is sampled to ", out[0]);
  const size_t rank = shape.size() - 2;
  bool align = attrs.b("align_corners", false);
  std::string padding = attrs.s("padding_mode", "zeros"), mode = attrs.s("mode", "bilinear");
  Exprs cells = {to[0]};  // of one channel
  for (size_t d = 0; d < rank; ++d) cells.push_back(to[2 + d]);
  std::vector<SampleAxisExpr> axes;
  Tensors positions;
  for (size_t d = 0; d < rank; ++d) {
    SampleAxisExpr axis{shape[2 + d], align, padding};
    positions.push_back(builder.compute("position", cells, [&](Exprs i) {
      i.push_back(static_cast<int64_t>(rank - 1 - d));  // the last dim comes first in the grid
      Expr at = axis.position(as_f64(grid(i)));
      if (mode == "bicubic") return at;
      at = axis.padded(at);
      return mode == "nearest" ? te::unary(UnaryOp::kRound, at) : at;
    }));
    axes.push_back(std::move(axis));
  }
  return one(builder.compute("grid_sample", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs cell = {i[0]};
    cell.insert(cell.end(), i.begin() + 2, i.end());
    std::vector<TapsExpr> taps;
    for (size_t d = 0; d < rank; ++d) {
      Expr at = positions[d](cell);
      if (mode == "nearest") taps.push_back({{floor_cell(at)}, {f64(1)}, {}});
      else
        taps.push_back(mode == "bicubic" ? cubic_taps(axes[d], at) : linear_taps(at, axes[d].size));
    }
    return converted_to(x.dtype(), sampled(x, {i[0], i[1]}, taps));
  }));
}

}  // namespace byoc::op
