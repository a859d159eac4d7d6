// SPDX-License-Identifier: Apache-2.0
// grid_sample: an image read between its cells, at the positions of a grid.
// Source: ONNX opsets 16 to 22, GridSample; torch.nn.functional.grid_sample.
#include "core/op/kernel/sample.h"
#include "byoc/base/check.h"

#include <algorithm>
#include <cmath>

#include "byoc/op/registry.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr std::string_view kSampleModes[] = {"bilinear", "nearest", "bicubic"};
constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};

Status one_of(std::string_view op, const Attrs& attrs, const char* name,
              std::span<const std::string_view> words) {
  std::string word = attrs.s(name, words[0]), expected;
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  for (std::string_view w : words) expected += cat(expected.empty() ? "" : ", ", w);
  return invalid(cat(op, ": ", name, " is \"", word, "\", expected one of ", expected));
}

Result<std::vector<TensorType>> infer_grid_sample(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("grid_sample", "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype("grid_sample", in));
  const Shape &x = in[0]->shape, &grid = in[1]->shape;
  const size_t rank = x.size();
  if (rank < 3 || rank > 2 + kMostSpatial)
    return invalid(cat("grid_sample: x has rank ", rank, ", expects 3 to 5 (x ", in[0], ")"))
        .with_slug("op-shape");
  BYOC_TRY_STATUS(expect_rank("grid_sample", "grid", in[1], rank));
  BYOC_TRY_STATUS(one_of("grid_sample", attrs, "mode", kSampleModes));
  BYOC_TRY_STATUS(one_of("grid_sample", attrs, "padding_mode", kPaddings));
  if (x[0] != grid[0] || grid[rank - 1] != Dim(static_cast<int64_t>(rank - 2))) {
    const char* shapes[] = {"[n, w, 1]", "[n, h, w, 2]", "[n, d, h, w, 3]"};
    return invalid(cat("grid_sample: grid must be ", shapes[rank - 3], " with x's n (x ", in[0],
                       ", grid ", in[1], ")"))
        .with_slug("op-shape");
  }
  Shape y = {x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  return one_result({in[0]->dtype, std::move(y)});
}

// One dim of the image, and the rule that brings positions outside of it back.
struct SampleAxis {
  int64_t size = 0;
  bool align_corners = false;
  std::string padding, mode;

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
  SampleTaps taps(double at) const {
    if (mode == "bicubic") return cubic_taps(at);
    at = padded(at);
    if (mode == "bilinear") return linear_taps(at, size);
    return {{floor_cell(std::nearbyint(at))}, {1}, 1};
  }
  SampleTaps cubic_taps(double at) const {
    constexpr double a = -0.75;
    auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    double t = at - std::floor(at);
    SampleTaps taps{{}, {far(1 + t), near(t), near(1 - t), far(2 - t)}, 4};
    int64_t first = floor_cell(at) - 1;
    for (int64_t k = 0; k < 4; ++k)
      taps.cells[static_cast<size_t>(k)] = floor_cell(padded(static_cast<double>(first + k)));
    return taps;
  }
};

struct GridPlan {
  int64_t n, c, cells, image;  // cells of one output channel, and of one channel of x
  std::vector<SampleAxis> axes;
  std::vector<int64_t> extents;
};

template <class T>
void sample_channel(const GridPlan& plan, const T* x, const T* grid, T* y) {
  const size_t rank = plan.axes.size();
  BYOC_CHECK(rank <= kMostSpatial && plan.extents.size() == rank, rank, " axes for an image of ",
             plan.extents.size(), " dims");
  std::array<SampleTaps, kMostSpatial> taps;
  for (int64_t k = 0; k < plan.cells; ++k, grid += rank) {
    for (size_t d = 0; d < rank; ++d) {  // the last dim comes first in the grid
      double g = static_cast<double>(grid[rank - 1 - d]);
      taps[d] = plan.axes[d].taps(plan.axes[d].position(g));
    }
    y[k] = static_cast<T>(sampled(x, std::span(plan.extents), taps));
  }
}

Result<RefKernel> reference_grid_sample(Types in, Types out, const Attrs& attrs) {
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  std::vector<int64_t> x = static_extents(in[0]->shape), y = static_extents(out[0]->shape);
  BYOC_CHECK(x.size() >= 3 && x.size() == y.size(), in[0], " is sampled to ", out[0]);
  GridPlan plan{x[0], x[1], 1, 1, {}, {x.begin() + 2, x.end()}};
  for (size_t d = 2; d < x.size(); ++d) {
    plan.axes.push_back({x[d], attrs.b("align_corners", false), attrs.s("padding_mode", "zeros"),
                         attrs.s("mode", "bilinear")});
    plan.cells *= y[d];
    plan.image *= x[d];
  }
  return for_dtype("grid_sample", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [plan](const void* const* from, void* const* to) {
      const auto rank = static_cast<int64_t>(plan.axes.size());
      for (int64_t channel = 0; channel < plan.n * plan.c; ++channel) {
        sample_channel(plan, in_as<T>(from, 0) + channel * plan.image,
                       in_as<T>(from, 1) + channel / plan.c * plan.cells * rank,
                       out_as<T>(to, 0) + channel * plan.cells);
      }
    };
  });
}

}  // namespace

void add_sample_ops(OpRegistry& ops) {
  ops.add(
      {.name = "grid_sample",
       .doc = "x at the positions of `grid`, which are (column, row), with a depth after them in a "
              "volume, in [-1, 1] over the image.",
       .inputs = {{"x", "float [n, c, spatial...], rank 3 to 5"},
                  {"grid", "as x: [n, cells..., spatial dims], as many cell dims as spatial ones"}},
       .outputs = {{"y", "[n, c, cells...]"}},
       .attrs = {{"mode", "bilinear", "bilinear (linear in each dim), nearest or bicubic"},
                 {"padding_mode", "zeros",
                  "outside of x: zeros, border (the edge cell) or reflection"},
                 {"align_corners", false,
                  "-1 and 1 are centres of the outer cells, not their edges"}},
       .infer = infer_grid_sample,
       .reference = reference_grid_sample,
       .compute = compute_grid_sample});
}

}  // namespace byoc::op
