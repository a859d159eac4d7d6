// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/conv_kernel.h"

#include "byoc/base/check.h"
#include "core/op/kernel/tile.h"

namespace byoc::op {
namespace {

// Loads cells of one output row: x[q] is the value that tap k reads for output cell
// first + q, as Acc.
template <class T, class Acc>
void gather_row(const T* line, const ConvAxis& axis, int64_t k, int64_t first, int64_t count,
                Acc* x) {
  if (axis.divide == 1) {
    int64_t cell = first * axis.multiply + axis.offset + k * axis.step;
    for (int64_t q = 0; q < count; ++q, cell += axis.multiply) {
      bool inside = static_cast<uint64_t>(cell) < static_cast<uint64_t>(axis.in);
      x[q] = inside ? static_cast<Acc>(line[cell]) : Acc{};
    }
    return;
  }
  for (int64_t q = 0; q < count; ++q) {
    int64_t cell = axis.source(k, first + q);
    x[q] = cell >= 0 ? static_cast<Acc>(line[cell]) : Acc{};
  }
}

// The output cells first .. first + count of one plane, in row-major order over (d, h, w).
struct Cells {
  int64_t first = 0, count = 0;
};

// Loads the values that tap (kd, kh, kw) reads for these cells.
template <class T, class Acc>
void gather(const T* plane, const ConvPlan& plan, std::array<int64_t, 3> tap, Cells cells, Acc* x) {
  const auto& [d, h, w] = plan.axes;
  int64_t row = cells.first / w.out, column = cells.first % w.out;
  for (int64_t done = 0; done < cells.count; ++row, column = 0) {
    int64_t count = std::min(cells.count - done, w.out - column);
    int64_t source_d = d.source(tap[0], row / h.out), source_h = h.source(tap[1], row % h.out);
    if (source_d < 0 || source_h < 0) {
      std::fill_n(x + done, count, Acc{});
    } else {
      gather_row(plane + (source_d * h.in + source_h) * w.in, w, tap[2], column, count, x + done);
    }
    done += count;
  }
}

// Sums up to eight output channels over these cells; `weight` is at the first of the channels.
template <class T, class Acc>
void convolve_tile(const T* x, const T* weight, const ConvPlan& plan, int64_t rows, Cells cells,
                   Tile<Acc>& tile) {
  const auto& [d, h, w] = plan.axes;
  alignas(64) Acc lanes[Tile<Acc>::kLanes] = {};
  Acc weights[Tile<Acc>::kRows];
  tile.clear(rows);
  for (int64_t c = 0; c < plan.c; ++c, x += d.in * h.in * w.in) {
    const T* at_tap = weight + c * plan.weight_c;
    for (int64_t kd = 0; kd < d.kernel; ++kd) {
      for (int64_t kh = 0; kh < h.kernel; ++kh) {
        for (int64_t kw = 0; kw < w.kernel; ++kw, ++at_tap) {
          gather(x, plan, {kd, kh, kw}, cells, lanes);
          for (int64_t r = 0; r < rows; ++r)
            weights[r] = static_cast<Acc>(at_tap[r * plan.weight_o]);
          tile.add(weights, rows, lanes, cells.count);
        }
      }
    }
  }
}

// Computes one group of one image.
template <class T, class Acc>
void convolve_group(const T* x, const T* weight, const ConvPlan& plan, T* y) {
  const auto& [d, h, w] = plan.axes;
  const int64_t cells = d.out * h.out * w.out;
  Tile<Acc> tile;
  for (int64_t o = 0; o < plan.o; o += Tile<Acc>::kRows) {
    int64_t rows = std::min(plan.o - o, Tile<Acc>::kRows);
    for (int64_t first = 0; first < cells; first += Tile<Acc>::kLanes) {
      int64_t count = std::min(cells - first, Tile<Acc>::kLanes);
      convolve_tile<T, Acc>(x, weight + o * plan.weight_o, plan, rows, {first, count}, tile);
      for (int64_t r = 0; r < rows; ++r) {
        const Acc* sums = tile.finish(r);
        for (int64_t q = 0; q < count; ++q)
          y[(o + r) * cells + first + q] = static_cast<T>(sums[q]);
      }
    }
  }
}

template <class T, class Acc>
void convolve(const T* x, const T* weight, const ConvPlan& plan, T* y) {
  const auto& [d, h, w] = plan.axes;
  const int64_t group_in = plan.c * d.in * h.in * w.in, group_out = plan.o * d.out * h.out * w.out;
  const int64_t group_weight = std::max(plan.o * plan.weight_o, plan.c * plan.weight_c);
  for (int64_t image = 0; image < plan.n; ++image) {
    for (int64_t g = 0; g < plan.groups; ++g, x += group_in, y += group_out) {
      convolve_group<T, Acc>(x, weight + g * group_weight, plan, y);
    }
  }
}

}  // namespace

int64_t ConvAxis::source(int64_t k, int64_t y) const {
  int64_t t = y * multiply + offset + k * step;
  if (t < 0 || t % divide != 0 || t / divide >= in) return -1;
  return t / divide;
}

ConvPlan make_conv_plan(const TensorType& x, const TensorType& weight, const TensorType& y,
                        std::span<const Window> windows, int64_t groups, bool transposed) {
  BYOC_CHECK(windows.size() >= 1 && windows.size() <= 3 && groups > 0, windows.size(),
             " windows in ", groups, " groups");
  BYOC_CHECK(x.shape.size() == windows.size() + 2 && y.shape.size() == x.shape.size(), x,
             " becomes ", y, " by ", windows.size(), " windows");
  ConvPlan plan{.n = x.shape[0].extent(),
                .groups = groups,
                .c = x.shape[1].extent() / groups,
                .o = y.shape[1].extent() / groups};
  int64_t taps = 1;
  for (size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    ConvAxis& axis = plan.axes[3 - windows.size() + d];
    axis = {.in = x.shape[2 + d].extent(), .out = y.shape[2 + d].extent(), .kernel = w.kernel};
    axis.multiply = transposed ? 1 : w.stride;
    axis.divide = transposed ? w.stride : 1;
    axis.offset = transposed ? w.pad_begin : -w.pad_begin;
    axis.step = transposed ? -w.dilation : w.dilation;
    taps *= w.kernel;
  }
  // A plain weight is [o, c, taps], a transposed one [c, o, taps]; both within one group.
  plan.weight_o = transposed ? taps : taps * weight.shape[1].extent();
  plan.weight_c = transposed ? taps * weight.shape[1].extent() : taps;
  return plan;
}

Result<RefKernel> conv_kernel(std::string_view op, DType dtype, const ConvPlan& plan) {
  return for_dtype(op, dtype, ConvTypes{}, [&]<class T>() -> RefKernel {
    using Acc = std::conditional_t<std::is_integral_v<T>, uint32_t, Compute<T>>;
    return [plan](const void* const* in, void* const* out) {
      convolve<T, Acc>(in_as<T>(in, 0), in_as<T>(in, 1), plan, out_as<T>(out, 0));
    };
  });
}

}  // namespace byoc::op
