// SPDX-License-Identifier: Apache-2.0
// grid_sample and roi_align as expressions. Positions are in f64, as in the reference kernels: a
// position with another rounding may belong to another cell.
#include "core/op/kernel/index.h"
#include "core/op/kernel/sample.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

Expr f64(double value) { return te::constant(DType::kF64, value); }
Expr as_f64(Expr x) { return te::cast(DType::kF64, widened(std::move(x))); }
// Clamps like std::clamp: NaN stays.
Expr clamped_position(const Expr& x, double low, double high) {
  return select(x < f64(low), f64(low), select(f64(high) < x, f64(high), x));
}

// Returns a position as a cell number, near enough to the plane for arithmetic; NaN
// goes far outside.
Expr floor_cell(const Expr& position) {
  Expr far = f64(0x1p40);
  Expr near = te::unary(UnaryOp::kFloor, min(far, position));
  return te::cast(DType::kI64, select(position > -far, near, -far));
}

// A plane of x [.., .., h, w]; cells outside of it are 0.
struct PlaneExpr {
  Tensor x;
  Expr image, channel;
  int64_t h, w;

  Expr at(const Expr& row, const Expr& column) const {
    Expr inside = is_within(row, h) && is_within(column, w);
    return select(inside, as_f64(x(image, channel, row, column)), f64(0));
  }
  Expr bilinear(const Expr& y, const Expr& x_position) const {
    Expr row = floor_cell(y), column = floor_cell(x_position);
    Expr dy = y - te::cast(DType::kF64, row), dx = x_position - te::cast(DType::kF64, column);
    Expr near = Expr(-1) <= row && row <= h && Expr(-1) <= column && column <= w;
    auto across = [&](const Expr& r) {
      return (f64(1) - dx) * at(r, column) + dx * at(r, column + 1);
    };
    return select(near, (f64(1) - dy) * across(row) + dy * across(row + 1), f64(0));
  }
};

// One dim of the plane, and the rule that brings positions outside of it back.
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

std::array<Expr, 4> cubic_weights(const Expr& t) {
  constexpr double a = -0.75;
  auto near = [](const Expr& d) { return (f64(a + 2) * d - f64(a + 3)) * d * d + f64(1); };
  auto far = [](const Expr& d) {
    return ((f64(a) * d - f64(5 * a)) * d + f64(8 * a)) * d - f64(4 * a);
  };
  return {far(f64(1) + t), near(t), near(f64(1) - t), far(f64(2) - t)};
}

Expr bicubic(const PlaneExpr& plane, const SampleAxisExpr& h, const SampleAxisExpr& w,
             const Expr& y, const Expr& x) {
  Expr row = floor_cell(y), column = floor_cell(x), sum = f64(0);
  auto rows = cubic_weights(y - te::unary(UnaryOp::kFloor, y));
  auto columns = cubic_weights(x - te::unary(UnaryOp::kFloor, x));
  auto cell = [](const SampleAxisExpr& axis, const Expr& first, int64_t k) {
    return floor_cell(axis.padded(te::cast(DType::kF64, first + (k - 1))));
  };
  for (size_t i = 0; i < 4; ++i) {
    Expr at_row = cell(h, row, static_cast<int64_t>(i));
    for (size_t j = 0; j < 4; ++j) {
      Expr at_column = cell(w, column, static_cast<int64_t>(j));
      sum = sum + rows[i] * columns[j] * plane.at(at_row, at_column);
    }
  }
  return sum;
}

}  // namespace

Result<Tensors> compute_grid_sample(te::Builder& builder, Inputs in, Types out,
                                    const Attrs& attrs) {
  const Tensor &x = in[0], &grid = in[1];
  Ints shape = extents(x), to = static_extents(out[0]->shape);
  bool align = attrs.b("align_corners", false);
  std::string padding = attrs.s("padding_mode", "zeros"), mode = attrs.s("mode", "bilinear");
  SampleAxisExpr h{shape[2], align, padding}, w{shape[3], align, padding};
  auto positions = [&](const char* name, const SampleAxisExpr& axis, int64_t which) {
    return builder.compute(name, {to[0], to[2], to[3]}, [&](const Exprs& i) {
      Expr at = axis.position(as_f64(grid(i[0], i[1], i[2], which)));
      if (mode == "bicubic") return at;
      at = axis.padded(at);
      return mode == "nearest" ? te::unary(UnaryOp::kRound, at) : at;
    });
  };
  Tensor rows = positions("row", h, 1), columns = positions("column", w, 0);
  return one(builder.compute("grid_sample", te::extents_of(*out[0]), [&](const Exprs& i) {
    PlaneExpr plane{x, i[0], i[1], shape[2], shape[3]};
    Expr row = rows(i[0], i[2], i[3]), column = columns(i[0], i[2], i[3]), value;
    if (mode == "bicubic") value = bicubic(plane, h, w, row, column);
    else if (mode == "bilinear") value = plane.bilinear(row, column);
    else value = plane.at(floor_cell(row), floor_cell(column));
    return converted_to(x.dtype(), value);
  }));
}

// ---- roi_align

namespace {

// The samples of one dim of one bin, at start + step * (k + 1/2).
struct BinExpr {
  Expr start, step, count;
};

struct RoiExpr {
  int64_t ratio;
  double scale, shift, least;

  // Returns a coordinate of box r.
  Expr edge(const Tensor& rois, const Expr& r, int64_t k) const {
    return as_f64(rois(r, k)) * f64(scale) - f64(shift);
  }
  BinExpr bin(const Expr& begin, const Expr& end, const Expr& number, int64_t bins) const {
    constexpr double kMostSamples = 1024;
    Expr extent = end - begin;
    extent = select(extent < f64(least), f64(least), extent);
    Expr size = extent / f64(static_cast<double>(bins)), count = ratio;
    if (ratio == 0) {
      Expr cells =
          te::unary(UnaryOp::kCeil, select(f64(kMostSamples) < size, f64(kMostSamples), size));
      count = te::cast(DType::kI64, select(size > f64(0), cells, f64(0)));
    }
    Expr steps = te::cast(DType::kF64, max(count, 1));
    return {begin + te::cast(DType::kF64, number) * size, size / steps, count};
  }
};

// Samples a position. Up to one cell outside it belongs to the edge cell; further
// out the value is 0.
Expr edge_bilinear(const PlaneExpr& plane, const Expr& y, const Expr& x) {
  double row = static_cast<double>(plane.h - 1), column = static_cast<double>(plane.w - 1);
  Expr near = f64(-1) <= y && y <= f64(row + 1) && f64(-1) <= x && x <= f64(column + 1);
  Expr value = plane.bilinear(clamped_position(y, 0, row), clamped_position(x, 0, column));
  return select(near, value, f64(0));
}

}  // namespace

// Computes by a procedure, as the number of samples may come from the boxes.
Result<Tensors> compute_roi_align(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Tensor &x = in[0], &rois = in[1];
  Ints shape = extents(x);
  const Tensor images = checked_indices(builder, "roi_align", in[2], {{0, shape[0]}});
  Ints bins = static_extents(out[0]->shape);
  bool half_pixel = attrs.b("half_pixel", true);
  RoiExpr roi{attrs.i("sampling_ratio", 0), attrs.f("spatial_scale", 1), half_pixel ? 0.5 : 0,
              half_pixel ? 0.0 : 1.0};
  Scalar sum("sum", DType::kF64);
  auto cell = [&](const Tensor& y, const Exprs& i) {
    BinExpr rows = roi.bin(roi.edge(rois, i[0], 1), roi.edge(rois, i[0], 3), i[2], bins[2]);
    BinExpr columns = roi.bin(roi.edge(rois, i[0], 0), roi.edge(rois, i[0], 2), i[3], bins[3]);
    PlaneExpr plane{x, images(i[0]), i[1], shape[2], shape[3]};
    auto position = [](const BinExpr& axis, const Expr& k) {
      return axis.start + axis.step * (te::cast(DType::kF64, k) + f64(0.5));
    };
    te::Stmt samples = te::loop("row", rows.count, [&](Expr row) {
      return te::loop("column", columns.count, [&](Expr column) {
        Expr value = edge_bilinear(plane, position(rows, row), position(columns, column));
        return sum.set(sum.get() + value);
      });
    });
    Expr count = te::cast(DType::kF64, max(rows.count * columns.count, 1));
    te::Stmt give = te::make_store(y, i, converted_to(x.dtype(), sum.get() / count));
    return te::make_block({sum.set(f64(0)), samples, give});
  };
  return builder.procedure("roi_align", {*out[0]}, {x, rois, images}, [&](const Tensors& y) {
    return sum.in(nested_loops(bins, [&](const Exprs& i) { return cell(y[0], i); }));
  });
}

}  // namespace byoc::op
