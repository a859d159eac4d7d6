// SPDX-License-Identifier: Apache-2.0
// roi_align: bins of boxes in an image, each from samples between its cells.
// Source: ONNX opsets 10 to 22, RoiAlign.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/kernel/sample.h"

namespace byoc::op {
namespace {

// Per bin and dim, where the boxes give the number: they come from data and may be huge.
constexpr double kMostSamples = 1024;
// Boxes with fewer bins in all are not shared among threads.
constexpr int64_t kParallelBins = 1 << 12;

// One plane [h, w]; cells outside of it are 0.
template <class T>
struct Plane {
  const T* x;
  int64_t h, w;
  double at(int64_t row, int64_t column) const {
    if (row < 0 || row >= h || column < 0 || column >= w) return 0;
    return static_cast<double>(x[row * w + column]);
  }
};

// The four cells around a position, each times its weight in the bilinear interpolation.
using Corners = std::array<double, 4>;

template <class T>
Corners corners_at(const Plane<T>& plane, double y, double x) {
  int64_t row = floor_cell(y), column = floor_cell(x);
  double dy = y - static_cast<double>(row), dx = x - static_cast<double>(column);
  return {(1 - dy) * (1 - dx) * plane.at(row, column), (1 - dy) * dx * plane.at(row, column + 1),
          dy * (1 - dx) * plane.at(row + 1, column), dy * dx * plane.at(row + 1, column + 1)};
}

Result<std::vector<TensorType>> infer_roi_align(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("roi_align", "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype("roi_align", in.first(2)));
  BYOC_TRY_STATUS(expect_dtype("roi_align", "batch_indices", in[2], {DType::kI64}));
  BYOC_TRY_STATUS(expect_rank("roi_align", "x", in[0], 4));
  BYOC_TRY_STATUS(expect_rank("roi_align", "rois", in[1], 2));
  const Shape &x = in[0]->shape, &rois = in[1]->shape;
  if (rois[1] != Dim(4) || in[2]->shape != Shape{rois[0]}) {
    return invalid(cat("roi_align: rois must be [r, 4] and batch_indices [r] (rois ", in[1],
                       ", batch_indices ", in[2], ")"))
        .with_slug("op-shape");
  }
  int64_t height = attrs.i("output_height", 1), width = attrs.i("output_width", 1);
  std::string mode = attrs.s("mode", "average");
  if (mode != "average" && mode != "max")
    return invalid(cat("roi_align: mode is \"", mode, "\", expected average or max"));
  if (height < 1 || width < 1 || attrs.i("sampling_ratio", 0) < 0) {
    return invalid(cat("roi_align: output_height ", height, ", output_width ", width,
                       " and sampling_ratio ", attrs.i("sampling_ratio", 0),
                       " must be at least 1, 1 and 0"));
  }
  if (x[0] == Dim(0)) return shape_error("roi_align: there is no image", in[0]);
  return one_result({in[0]->dtype, {rois[0], x[1], height, width}});
}

struct RoiPlan {
  int64_t images, c, h, w, rois, out_h, out_w, ratio;
  double scale, shift;  // cell = coordinate * scale - shift
  double least;         // extent of a region
  bool is_max;
};

// The samples of one dim of one bin, at start + step * (k + 1/2).
struct BinAxis {
  double start = 0, step = 0;
  int64_t count = 1;
};

BinAxis bin_axis(double begin, double end, int64_t bin, int64_t bins, const RoiPlan& plan) {
  double extent = std::max(end - begin, plan.least), size = extent / static_cast<double>(bins);
  BinAxis axis{.count = plan.ratio};
  if (plan.ratio == 0)
    axis.count = size > 0 ? static_cast<int64_t>(std::ceil(std::min(size, kMostSamples))) : 0;
  axis.step = size / static_cast<double>(std::max<int64_t>(axis.count, 1));
  axis.start = begin + static_cast<double>(bin) * size;
  return axis;
}

// Samples a position. Up to one cell outside it belongs to the edge cell; further
// out the values are 0.
template <class T>
Corners edge_corners(const Plane<T>& plane, double y, double x) {
  double last_row = static_cast<double>(plane.h - 1),
         last_column = static_cast<double>(plane.w - 1);
  if (!(y >= -1 && y <= last_row + 1 && x >= -1 && x <= last_column + 1)) return {};
  return corners_at(plane, std::clamp(y, 0.0, last_row), std::clamp(x, 0.0, last_column));
}

// Returns the mean of all samples, or the greatest weighted corner of any.
template <class T>
double bin_value(const Plane<T>& plane, const BinAxis& rows, const BinAxis& columns, bool is_max) {
  double sum = 0, top = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < rows.count; ++i) {
    for (int64_t j = 0; j < columns.count; ++j) {
      double y = rows.start + rows.step * (static_cast<double>(i) + 0.5);
      double x = columns.start + columns.step * (static_cast<double>(j) + 0.5);
      for (double part : edge_corners(plane, y, x)) {
        sum += part;
        top = part > top || part != part ? part : top;
      }
    }
  }
  const int64_t samples = rows.count * columns.count;
  if (is_max) return samples > 0 ? top : 0;
  return sum / static_cast<double>(std::max<int64_t>(samples, 1));
}

Result<RefKernel> reference_roi_align(Types in, Types out, const Attrs& attrs) {
  const Shape &x = in[0]->shape, &y = out[0]->shape;
  bool half_pixel = attrs.b("half_pixel", true);
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  BYOC_CHECK(x.size() == 4 && y.size() == 4, "boxes of ", in[0], " become ", out[0]);
  RoiPlan plan{x[0].extent(),
               x[1].extent(),
               x[2].extent(),
               x[3].extent(),
               y[0].extent(),
               y[2].extent(),
               y[3].extent(),
               attrs.i("sampling_ratio", 0),
               attrs.f("spatial_scale", 1),
               half_pixel ? 0.5 : 0,
               half_pixel ? 0.0 : 1.0,
               attrs.s("mode", "average") == "max"};
  return for_dtype("roi_align", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [plan](const void* const* from, void* const* to) {
      T* result = out_as<T>(to, 0);
      for (int64_t r = 0; r < plan.rois; ++r) {
        int64_t image = in_as<int64_t>(from, 2)[r];
        double box[4];  // x1, y1, x2, y2
        for (int k = 0; k < 4; ++k)
          box[k] = static_cast<double>(in_as<T>(from, 1)[r * 4 + k]) * plan.scale - plan.shift;
        for (int64_t c = 0; c < plan.c; ++c) {
          Plane<T> plane{in_as<T>(from, 0) + (image * plan.c + c) * plan.h * plan.w, plan.h,
                         plan.w};
          for (int64_t bin = 0; bin < plan.out_h * plan.out_w; ++bin) {
            BinAxis rows = bin_axis(box[1], box[3], bin / plan.out_w, plan.out_h, plan);
            BinAxis columns = bin_axis(box[0], box[2], bin % plan.out_w, plan.out_w, plan);
            *result++ = static_cast<T>(bin_value(plane, rows, columns, plan.is_max));
          }
        }
      }
    };
  });
}

Result<ValueCheck> check_roi_align(Types in, const Attrs&) {
  return index_check("roi_align", in[2], 2, {{0, in[0]->shape[0].extent()}});
}

// ---- as loops; positions are in f64, as in the reference kernel: a position with another rounding
// may belong to another cell.

Expr f64(double value) { return te::constant(DType::kF64, value); }
Expr as_f64(Expr x) { return te::cast(DType::kF64, widened(std::move(x))); }

struct PlaneExpr {
  Tensor x;
  Expr image, channel;
  int64_t h, w;

  Expr at(const Expr& row, const Expr& column) const {
    Expr inside = is_within(row, h) && is_within(column, w);
    return select(inside, as_f64(x(image, channel, row, column)), f64(0));
  }
  std::array<Expr, 4> corners(const Expr& y, const Expr& x_position) const {
    Expr row = floor_cell(y), column = floor_cell(x_position);
    Expr dy = y - te::cast(DType::kF64, row), dx = x_position - te::cast(DType::kF64, column);
    Expr up = f64(1) - dy, left = f64(1) - dx;
    return {up * left * at(row, column), up * dx * at(row, column + 1),
            dy * left * at(row + 1, column), dy * dx * at(row + 1, column + 1)};
  }
};

// A BinAxis as expressions.
struct BinExpr {
  Expr start, step, count;
};

struct RoiExpr {
  int64_t ratio;
  double scale, shift, least;

  Expr edge(const Tensor& rois, const Expr& r, int64_t k) const {
    return as_f64(rois(r, k)) * f64(scale) - f64(shift);
  }
  BinExpr bin(const Expr& begin, const Expr& end, const Expr& number, int64_t bins) const {
    Expr extent = end - begin;
    extent = select(extent < f64(least), f64(least), extent);
    Expr size = extent / f64(static_cast<double>(bins)), count = ratio;
    if (ratio == 0) {
      Expr cells =
          te::unary(te::UnaryOp::kCeil, select(f64(kMostSamples) < size, f64(kMostSamples), size));
      count = te::cast(DType::kI64, select(size > f64(0), cells, f64(0)));
    }
    Expr steps = te::cast(DType::kF64, max(count, 1));
    return {begin + te::cast(DType::kF64, number) * size, size / steps, count};
  }
};

// Returns the corners of a position, as edge_corners of the reference kernel does.
std::array<Expr, 4> edge_corners(const PlaneExpr& plane, const Expr& y, const Expr& x) {
  double row = static_cast<double>(plane.h - 1), column = static_cast<double>(plane.w - 1);
  Expr near = f64(-1) <= y && y <= f64(row + 1) && f64(-1) <= x && x <= f64(column + 1);
  auto parts = plane.corners(clamped_position(y, 0, row), clamped_position(x, 0, column));
  for (Expr& part : parts) part = select(near, part, f64(0));
  return parts;
}

// The position of sample k.
Expr position_in(const BinExpr& axis, const Expr& k) {
  return axis.start + axis.step * (te::cast(DType::kF64, k) + f64(0.5));
}

// One call; shapes are [n, c, h, w] and [r, c, bins, bins].
struct RoiCall {
  Tensor x, rois;
  CheckedIndices images;
  Ints shape, bins;
  RoiExpr roi;

  // Returns the samples of a bin of box r along a dim of the image, 2 or 3.
  BinExpr samples(size_t dim, const Expr& r, const Expr& bin) const {
    const int64_t low = dim == 2 ? 1 : 0;
    return roi.bin(roi.edge(rois, r, low), roi.edge(rois, r, low + 2), bin, bins[dim]);
  }
};

// The samples of all bins of one box along one dim, as cells with weights: bin b has the entries
// from begins[b] up to begins[b + 1]. All channels read them.
struct BinCells {
  const RoiCall& call;
  size_t dim;
  int64_t extent, bins, most;
  Tensor begins, cells, weights;
  Scalar used{"used", DType::kI64}, slot{"slot", DType::kI64};

  BinCells(const RoiCall& of, size_t along)
      : call(of), dim(along), extent(of.shape[along]), bins(of.bins[along]) {
    // A sample has two cells. Where boxes give the number of samples, a bin has one, or they are
    // more than half a cell apart; those outside of the image are left out.
    const int64_t ratio = of.roi.ratio;
    most = 2 * (ratio > 0 ? ratio * bins : bins + 2 * (extent + 2));
    begins = Tensor("begins", DType::kI64, {Expr(bins + 1)});
    cells = Tensor("cells", DType::kI64, {Expr(most)});
    weights = Tensor("weights", DType::kF64, {Expr(most)});
  }
  te::Stmt in(te::Stmt body) const {
    for (const Tensor& table : {begins, cells, weights})
      body = te::make_alloc(table, te::Scope::kWorkspace, std::move(body));
    return body;
  }
  // Appends a cell of bin b, or adds to the weight of one of the two before. A weight of 0 has an
  // entry of its own: times an infinity it is NaN, and the sum of both weights is not.
  te::Stmt add(const Expr& b, const Expr& cell, const Expr& weight) const {
    std::vector<te::Stmt> steps = {slot.set(used.get())};
    for (int64_t back : {1, 2}) {
      const Expr at = used.get() - back;
      const Expr joins = cells(at) == cell && f64(0) < weights(at) && f64(0) < weight;
      steps.push_back(te::make_if(begins(b) <= at, te::make_if(joins, slot.set(at))));
    }
    const te::Stmt append =
        te::make_block({te::make_store(cells, {used.get()}, cell),
                        te::make_store(weights, {used.get()}, weight), used.set(used.get() + 1)});
    const te::Stmt join = te::make_store(weights, {slot.get()}, weights(slot.get()) + weight);
    steps.push_back(te::make_if(slot.get() == used.get(), append, join));
    return te::make_if(is_within(cell, extent), te::make_block(std::move(steps)));
  }
  // Fills the tables for box r.
  te::Stmt fill(const Expr& r) const {
    const auto last = static_cast<double>(extent - 1);
    te::Stmt all = te::loop("bin", bins, [&](Expr b) {
      const BinExpr axis = call.samples(dim, r, b);
      te::Stmt samples = te::loop("sample", axis.count, [&](Expr k) {
        te::Var at("at", DType::kF64), cell("cell");
        const Expr position = position_in(axis, k);
        const Expr part = Expr(at) - te::cast(DType::kF64, cell);
        const te::Stmt both =
            te::make_block({add(b, cell, f64(1) - part), add(b, Expr(cell) + 1, part)});
        return te::make_if(f64(-1) <= position && position <= f64(last + 1),
                           te::make_let(at, clamped_position(position, 0, last),
                                        te::make_let(cell, floor_cell(at), both)));
      });
      return te::make_block({te::make_store(begins, {b}, used.get()), samples});
    });
    const te::Stmt end = te::make_store(begins, {Expr(bins)}, used.get());
    return used.in(slot.in(te::make_block({used.set(0), all, end})));
  }
  // Loops over the entries of bin b.
  te::Stmt each(const Expr& b,
                const std::function<te::Stmt(const Expr&, const Expr&)>& body) const {
    te::Var entry("entry"), cell("cell");
    const te::Stmt step = te::make_let(cell, cells(entry), body(cell, weights(entry)));
    return te::make_for(entry, begins(b), begins(b + 1) - begins(b), te::LoopKind::kSerial, step);
  }
};

// Writes the means of one box: sum of row weight * (sum of column weight * cell), per channel.
te::Stmt means_of_box(const RoiCall& call, const Tensor& y, const Expr& r) {
  const BinCells rows(call, 2), columns(call, 3);
  const Scalar sum("sum", DType::kF64), line("line", DType::kF64);
  const Expr samples = call.samples(2, r, 0).count * call.samples(3, r, 0).count;
  te::Var image("image"), count("count", DType::kF64);
  te::Stmt means = nested_loops({call.bins.begin() + 1, call.bins.end()}, [&](const Exprs& i) {
    te::Stmt cells = rows.each(i[1], [&](const Expr& row, const Expr& row_weight) {
      te::Stmt one_row = columns.each(i[2], [&](const Expr& column, const Expr& weight) {
        return line.set(line.get() + weight * as_f64(call.x(Expr(image), i[0], row, column)));
      });
      return te::make_block(
          {line.set(f64(0)), one_row, sum.set(sum.get() + row_weight * line.get())});
    });
    const Expr mean = converted_to(y.dtype(), sum.get() / Expr(count));
    return te::make_block({sum.set(f64(0)), cells, te::make_store(y, {r, i[0], i[1], i[2]}, mean)});
  });
  means = te::make_let(count, te::cast(DType::kF64, max(samples, 1)), means);
  means = te::make_let(image, call.images({r}), sum.in(line.in(means)));
  return rows.in(columns.in(te::make_block({rows.fill(r), columns.fill(r), means})));
}

// Writes one bin by its samples, one after another.
te::Stmt bin_by_samples(const RoiCall& call, const Tensor& y, const Exprs& i, const Scalar& sum,
                        bool is_max) {
  const BinExpr rows = call.samples(2, i[0], i[2]), columns = call.samples(3, i[0], i[3]);
  PlaneExpr plane{call.x, call.images({i[0]}), i[1], call.shape[2], call.shape[3]};
  te::Stmt samples = te::loop("row", rows.count, [&](Expr row) {
    return te::loop("column", columns.count, [&](Expr column) {
      Expr total = sum.get();
      for (const Expr& part :
           edge_corners(plane, position_in(rows, row), position_in(columns, column)))
        total = is_max ? greatest_of(total, part) : total + part;
      return sum.set(total);
    });
  });
  Expr count = rows.count * columns.count;
  Expr mean = sum.get() / te::cast(DType::kF64, max(count, 1));
  Expr value = is_max ? select(Expr(0) < count, sum.get(), f64(0)) : mean;
  Expr start = f64(is_max ? -std::numeric_limits<double>::infinity() : 0);
  te::Stmt give = te::make_store(y, i, converted_to(y.dtype(), value));
  return te::make_block({sum.set(start), samples, give});
}

// Computes by a procedure, as the number of samples may come from the boxes.
Result<Tensors> compute_roi_align(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Ints shape = extents(in[0]), bins = static_extents(out[0]->shape);
  const CheckedIndices images(builder, "roi_align", in[2], {IndexRange{0, shape[0]}});
  BYOC_CHECK(shape.size() == 4 && bins.size() == 4, "boxes of rank ", shape.size(), " become ",
             out[0]);
  const bool half_pixel = attrs.b("half_pixel", true);
  const RoiExpr roi{attrs.i("sampling_ratio", 0), attrs.f("spatial_scale", 1), half_pixel ? 0.5 : 0,
                    half_pixel ? 0.0 : 1.0};
  const RoiCall call{in[0], in[1], images, shape, bins, roi};
  const bool is_max = attrs.s("mode", "average") == "max";
  const bool has_tables = !is_max && static_cast<double>(roi.ratio) <= kMostSamples;
  Tensors read = {in[0], in[1]};
  for (const Tensor& tensor : images.inputs()) read.push_back(tensor);
  return builder.procedure("roi_align", {*out[0]}, read, [&](const Tensors& y) {
    const auto one_box = [&](const Expr& r) {
      if (has_tables) return means_of_box(call, y[0], r);
      const Scalar sum("sum", DType::kF64);
      return sum.in(nested_loops({bins.begin() + 1, bins.end()}, [&](const Exprs& i) {
        return bin_by_samples(call, y[0], {r, i[0], i[1], i[2]}, sum, is_max);
      }));
    };
    const bool is_shared = bins[0] > 1 && *num_elements(out[0]->shape) >= kParallelBins;
    return te::loop("box", bins[0], one_box,
                    is_shared ? te::LoopKind::kParallel : te::LoopKind::kSerial);
  });
}

}  // namespace

void add_roi_align_ops(OpRegistry& ops) {
  ops.add({.name = "roi_align",
           .doc = "The mean of bilinear samples in each of output_height x output_width bins of "
                  "each box, or the greatest of their weighted cells.",
           .inputs = {{"x", "float [n, c, h, w]"},
                      {"rois", "as x: [r, 4], x1 y1 x2 y2"},
                      {"batch_indices",
                       "i64 [r], the image of each box; one outside is an error of the run"}},
           .outputs = {{"y", "[r, c, output_height, output_width]"}},
           .attrs = {{"mode", "average", "average or max"},
                     {"output_height", int64_t{1}, "bins, at least 1"},
                     {"output_width", int64_t{1}, "bins, at least 1"},
                     {"sampling_ratio", int64_t{0},
                      "samples per side of a bin; 0: as many as it has cells, rounded up"},
                     {"spatial_scale", 1.0, "from the boxes' coordinates to cells"},
                     {"half_pixel", true,
                      "cell k's centre is at k + 1/2, else at k and boxes are at least 1 wide"}},
           .infer = infer_roi_align,
           .reference = reference_roi_align,
           .compute = compute_roi_align,
           .check = check_roi_align});
}

}  // namespace byoc::op
