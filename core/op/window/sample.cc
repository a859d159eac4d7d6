// SPDX-License-Identifier: Apache-2.0
// Ops that read images between their cells: grid_sample, roi_align.
// Source: ONNX opset 16, GridSample and RoiAlign; torch.nn.functional.grid_sample.
#include <algorithm>
#include <cmath>

#include "byoc/op/registry.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/kernel/sample.h"

namespace byoc::op {
namespace {

Status one_of(std::string_view op, const Attrs& attrs, const char* name,
              std::span<const std::string_view> words) {
  std::string word = attrs.s(name, words[0]), expected;
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  for (std::string_view w : words) expected += cat(expected.empty() ? "" : ", ", w);
  return invalid(cat(op, ": ", name, " is \"", word, "\", expected one of ", expected));
}

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

// Returns a position as a cell number, near enough to the plane for arithmetic; NaN
// goes far outside.
int64_t floor_cell(double position) {
  constexpr double kFar = 0x1p40;
  if (!(position > -kFar)) return -(int64_t{1} << 40);
  return static_cast<int64_t>(std::floor(std::min(position, kFar)));
}

template <class T>
double bilinear(const Plane<T>& plane, double y, double x) {
  int64_t row = floor_cell(y), column = floor_cell(x);
  double dy = y - static_cast<double>(row), dx = x - static_cast<double>(column);
  if (row < -1 || row > plane.h || column < -1 || column > plane.w) return 0;
  return (1 - dy) * ((1 - dx) * plane.at(row, column) + dx * plane.at(row, column + 1)) +
         dy * ((1 - dx) * plane.at(row + 1, column) + dx * plane.at(row + 1, column + 1));
}

// ---- grid_sample

constexpr std::string_view kModes[] = {"bilinear", "nearest", "bicubic"};
constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};

Result<std::vector<TensorType>> infer_grid_sample(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("grid_sample", "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype("grid_sample", in));
  BYOC_TRY_STATUS(expect_rank("grid_sample", "x", in[0], 4));
  BYOC_TRY_STATUS(expect_rank("grid_sample", "grid", in[1], 4));
  BYOC_TRY_STATUS(one_of("grid_sample", attrs, "mode", kModes));
  BYOC_TRY_STATUS(one_of("grid_sample", attrs, "padding_mode", kPaddings));
  const Shape &x = in[0]->shape, &grid = in[1]->shape;
  if (x[0] != grid[0] || grid[3] != Dim(2)) {
    return invalid(cat("grid_sample: grid must be [n, h, w, 2] with x's n (x ", in[0], ", grid ",
                       in[1], ")"))
        .with_slug("op-shape");
  }
  return one_result({in[0]->dtype, {x[0], x[1], grid[1], grid[2]}});
}

// One dim of the plane, and the rule that brings positions outside of it back.
struct SampleAxis {
  int64_t size = 0;
  bool align_corners = false;
  std::string padding;

  // Converts [-1, 1] to cells; -1 and 1 are centres of the outer cells, or their outer edges.
  double position(double g) const {
    double n = static_cast<double>(size);
    return align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  }
  double padded(double at) const {
    double last = static_cast<double>(size - 1);
    if (padding == "zeros") return at;
    if (padding == "reflection")
      at = reflected(at, align_corners ? 0 : -0.5, align_corners ? last : last + 0.5);
    return std::clamp(at, 0.0, std::max(last, 0.0));
  }
  static double reflected(double at, double low, double high) {
    double span = high - low;
    if (!(span > 0)) return 0;
    double far = std::fabs(at - low), over = std::fmod(far, 2 * span);
    return low + (over <= span ? over : 2 * span - over);
  }
};

struct GridPlan {
  int64_t n, c, cells;  // cells of one output plane
  SampleAxis h, w;
  std::string mode;
};

void cubic_weights(double t, double weights[4]) {
  constexpr double a = -0.75;
  auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  weights[0] = far(1 + t), weights[1] = near(t), weights[2] = near(1 - t), weights[3] = far(2 - t);
}

template <class T>
double bicubic(const Plane<T>& plane, const GridPlan& plan, double y, double x) {
  int64_t row = floor_cell(y), column = floor_cell(x);
  double rows[4], columns[4], sum = 0;
  cubic_weights(y - std::floor(y), rows);
  cubic_weights(x - std::floor(x), columns);
  for (int64_t i = 0; i < 4; ++i) {
    int64_t at_row = floor_cell(plan.h.padded(static_cast<double>(row - 1 + i)));
    for (int64_t j = 0; j < 4; ++j) {
      int64_t at_column = floor_cell(plan.w.padded(static_cast<double>(column - 1 + j)));
      sum += rows[i] * columns[j] * plane.at(at_row, at_column);
    }
  }
  return sum;
}

template <class T>
double sample(const Plane<T>& plane, const GridPlan& plan, double y, double x) {
  if (plan.mode == "bicubic") return bicubic(plane, plan, y, x);
  y = plan.h.padded(y), x = plan.w.padded(x);
  if (plan.mode == "bilinear") return bilinear(plane, y, x);
  return plane.at(floor_cell(std::nearbyint(y)), floor_cell(std::nearbyint(x)));
}

Result<RefKernel> reference_grid_sample(Types in, Types out, const Attrs& attrs) {
  const Shape &x = in[0]->shape, &y = out[0]->shape;
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  bool align = attrs.b("align_corners", false);
  std::string padding = attrs.s("padding_mode", "zeros");
  GridPlan plan{x[0].extent(),
                x[1].extent(),
                y[2].extent() * y[3].extent(),
                {x[2].extent(), align, padding},
                {x[3].extent(), align, padding},
                attrs.s("mode", "bilinear")};
  return for_dtype("grid_sample", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [plan](const void* const* from, void* const* to) {
      Plane<T> plane{in_as<T>(from, 0), plan.h.size, plan.w.size};
      T* result = out_as<T>(to, 0);
      for (int64_t n = 0; n < plan.n; ++n) {
        for (int64_t c = 0; c < plan.c; ++c, plane.x += plane.h * plane.w) {
          const T* grid = in_as<T>(from, 1) + n * plan.cells * 2;
          for (int64_t k = 0; k < plan.cells; ++k, grid += 2) {
            double column = plan.w.position(static_cast<double>(grid[0]));
            double row = plan.h.position(static_cast<double>(grid[1]));
            *result++ = static_cast<T>(sample(plane, plan, row, column));
          }
        }
      }
    };
  });
}

// ---- roi_align

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
};

// The samples of one dim of one bin, at start + step * (k + 1/2).
struct BinAxis {
  double start = 0, step = 0;
  int64_t count = 1;
};

BinAxis bin_axis(double begin, double end, int64_t bin, int64_t bins, const RoiPlan& plan) {
  constexpr double kMostSamples = 1024;  // per bin: boxes come from data and may be huge
  double extent = std::max(end - begin, plan.least), size = extent / static_cast<double>(bins);
  BinAxis axis{.count = plan.ratio};
  if (plan.ratio == 0)
    axis.count = size > 0 ? static_cast<int64_t>(std::ceil(std::min(size, kMostSamples))) : 0;
  axis.step = size / static_cast<double>(std::max<int64_t>(axis.count, 1));
  axis.start = begin + static_cast<double>(bin) * size;
  return axis;
}

// Samples a position. Up to one cell outside it belongs to the edge cell; further
// out the value is 0.
template <class T>
double edge_bilinear(const Plane<T>& plane, double y, double x) {
  double last_row = static_cast<double>(plane.h - 1),
         last_column = static_cast<double>(plane.w - 1);
  if (!(y >= -1 && y <= last_row + 1 && x >= -1 && x <= last_column + 1)) return 0;
  return bilinear(plane, std::clamp(y, 0.0, last_row), std::clamp(x, 0.0, last_column));
}

template <class T>
double average_bin(const Plane<T>& plane, const BinAxis& rows, const BinAxis& columns) {
  double sum = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    for (int64_t j = 0; j < columns.count; ++j) {
      double y = rows.start + rows.step * (static_cast<double>(i) + 0.5);
      double x = columns.start + columns.step * (static_cast<double>(j) + 0.5);
      sum += edge_bilinear(plane, y, x);
    }
  }
  return sum / static_cast<double>(std::max<int64_t>(rows.count * columns.count, 1));
}

Result<RefKernel> reference_roi_align(Types in, Types out, const Attrs& attrs) {
  const Shape &x = in[0]->shape, &y = out[0]->shape;
  bool half_pixel = attrs.b("half_pixel", true);
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
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
               half_pixel ? 0.0 : 1.0};
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
            *result++ = static_cast<T>(average_bin(plane, rows, columns));
          }
        }
      }
    };
  });
}

Result<ValueCheck> check_roi_align(Types in, const Attrs&) {
  return index_check("roi_align", in[2], 2, {{0, in[0]->shape[0].extent()}});
}

}  // namespace

void add_sample_ops(OpRegistry& ops) {
  ops.add(
      {.name = "grid_sample",
       .doc = "x at the positions of `grid`, which are (column, row) in [-1, 1] over the plane.",
       .inputs = {{"x", "float [n, c, h, w]"}, {"grid", "as x: [n, rows, columns, 2]"}},
       .outputs = {{"y", "[n, c, rows, columns]"}},
       .attrs = {{"mode", "bilinear", "bilinear, nearest or bicubic"},
                 {"padding_mode", "zeros",
                  "outside of x: zeros, border (the edge cell) or reflection"},
                 {"align_corners", false,
                  "-1 and 1 are centres of the outer cells, not their edges"}},
       .infer = infer_grid_sample,
       .reference = reference_grid_sample,
       .compute = compute_grid_sample});
  ops.add(
      {.name = "roi_align",
       .doc =
           "The mean of bilinear samples in each of output_height x output_width bins of each box.",
       .inputs = {{"x", "float [n, c, h, w]"},
                  {"rois", "as x: [r, 4], x1 y1 x2 y2"},
                  {"batch_indices",
                   "i64 [r], the image of each box; one outside is an error of the run"}},
       .outputs = {{"y", "[r, c, output_height, output_width]"}},
       .attrs = {{"output_height", int64_t{1}, "bins, at least 1"},
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
