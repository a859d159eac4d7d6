// SPDX-License-Identifier: Apache-2.0
#include "exact/interpolate.h"

#include <algorithm>
#include <cmath>

namespace byoc::onednn {
namespace {

// An input row that an output row reads, and the product of its weights along the other dims.
struct RowTap {
  int64_t row;
  float weight;
};

// The dims before the last one as a list of rows.
struct Rows {
  int64_t planes, lanes, rows_in = 1, rows_out = 1, taps = 1;
  std::vector<RowTap> read;  // [rows_out][taps]
  LinearAxis columns;
};

// Appends a dim to the rows: its taps are innermost, as in the sum that defines the op.
void add_axis(Rows& rows, const LinearAxis& axis) {
  std::vector<RowTap> read;
  for (int64_t row = 0; row < rows.rows_out; ++row) {
    for (int64_t cell = 0; cell < axis.out; ++cell) {
      for (int64_t outer = 0; outer < rows.taps; ++outer) {
        const RowTap& from = rows.read[static_cast<size_t>(row * rows.taps + outer)];
        for (int64_t tap = 0; tap < axis.taps; ++tap) {
          const auto at = static_cast<size_t>(tap * axis.out + cell);
          read.push_back({from.row * axis.in + axis.cells[at], from.weight * axis.weights[at]});
        }
      }
    }
  }
  rows.read = std::move(read);
  rows.rows_in *= axis.in;
  rows.rows_out *= axis.out;
  rows.taps *= axis.taps;
}

Rows rows_of(const Interpolation& images) {
  Rows rows{.planes = images.planes, .lanes = images.lanes, .read = {{0, 1}}};
  for (size_t d = 0; d + 1 < images.axes.size(); ++d) add_axis(rows, images.axes[d]);
  rows.columns = images.axes.back();
  return rows;
}

// Sums one output row whose cells are single numbers, tap by tap.
inline __attribute__((always_inline)) void plain_row(const Rows& p, const RowTap* taps,
                                                     const float* plane, float* y) {
  const int64_t n = p.columns.out;
  std::fill_n(y, n, 0.0f);
  for (int64_t t = 0; t < p.taps; ++t) {
    const float* from = plane + taps[t].row * p.columns.in;
    for (int64_t c = 0; c < p.columns.taps; ++c) {
      const int32_t* cells = p.columns.cells.data() + c * n;
      const float *weights = p.columns.weights.data() + c * n, weight = taps[t].weight;
#pragma omp simd
      for (int64_t k = 0; k < n; ++k) y[k] += (weight * weights[k]) * from[cells[k]];
    }
  }
}

// The same for two rows of an image, in one pass.
inline __attribute__((always_inline)) void image_row(const Rows& p, const RowTap* taps,
                                                     const float* plane, float* y) {
  const int64_t n = p.columns.out;
  const float *top = plane + taps[0].row * p.columns.in,
              *bottom = plane + taps[1].row * p.columns.in;
  const float above = taps[0].weight, below = taps[1].weight;
  const int32_t *left = p.columns.cells.data(), *right = left + n;
  const float *first = p.columns.weights.data(), *second = first + n;
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    float sum = 0.0f + (above * first[k]) * top[left[k]];
    sum += (above * second[k]) * top[right[k]];
    sum += (below * first[k]) * bottom[left[k]];
    y[k] = sum + (below * second[k]) * bottom[right[k]];
  }
}

// Sums `count` lanes of output cell k.
template <int count>
inline __attribute__((always_inline)) void lanes_of_cell(const Rows& p, const RowTap* taps,
                                                         int64_t k, const float* x, float* y) {
  float sums[count] = {};
  for (int64_t t = 0; t < p.taps; ++t) {
    for (int64_t c = 0; c < p.columns.taps; ++c) {
      const int64_t at = c * p.columns.out + k;
      const float weight = taps[t].weight * p.columns.weights[static_cast<size_t>(at)];
      const float* from =
          x + (taps[t].row * p.columns.in + p.columns.cells[static_cast<size_t>(at)]) * p.lanes;
      for (int lane = 0; lane < count; ++lane) sums[lane] += weight * from[lane];
    }
  }
  for (int lane = 0; lane < count; ++lane) y[lane] = sums[lane];
}

inline __attribute__((always_inline)) void any_row(const Rows& p, int64_t row, const float* plane,
                                                   float* y) {
  const RowTap* taps = p.read.data() + row * p.taps;
  const bool is_image = p.taps == 2 && p.columns.taps == 2;
  if (p.lanes == 1) return is_image ? image_row(p, taps, plane, y) : plain_row(p, taps, plane, y);
  for (int64_t k = 0; k < p.columns.out; ++k, y += p.lanes) {
    int64_t lane = 0;
    for (; lane + 16 <= p.lanes; lane += 16) lanes_of_cell<16>(p, taps, k, plane + lane, y + lane);
    for (; lane + 8 <= p.lanes; lane += 8) lanes_of_cell<8>(p, taps, k, plane + lane, y + lane);
    for (; lane < p.lanes; ++lane) lanes_of_cell<1>(p, taps, k, plane + lane, y + lane);
  }
}

using InterpolateRow = void (*)(const Rows&, int64_t row, const float* plane, float* y);

void row_anywhere(const Rows& p, int64_t row, const float* plane, float* y) {
  any_row(p, row, plane, y);
}
#if defined(__x86_64__)
// AVX2 without its multiply-add, to which the compiler would join a product and a sum.
__attribute__((target("avx2,no-fma"))) void row_avx2(const Rows& p, int64_t row, const float* plane,
                                                     float* y) {
  any_row(p, row, plane, y);
}
#endif

InterpolateRow row_of_this_cpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return row_avx2;
#endif
  return row_anywhere;
}

}  // namespace

LinearAxis kept_axis(int64_t extent) {
  LinearAxis axis{extent, extent, 1, {}, std::vector<float>(static_cast<size_t>(extent), 1)};
  for (int64_t k = 0; k < extent; ++k) axis.cells.push_back(static_cast<int32_t>(k));
  return axis;
}

LinearAxis linear_axis(int64_t in, const std::vector<double>& positions) {
  LinearAxis axis{in, static_cast<int64_t>(positions.size()), 2, {}, {}};
  for (int64_t tap = 0; tap < 2; ++tap) {
    for (const double position : positions) {
      const double last = static_cast<double>(in - 1), at = std::clamp(position, 0.0, last),
                   first = std::floor(at), part = at - first;
      const bool is_edge = first >= last;  // both taps read the last cell
      axis.cells.push_back(static_cast<int32_t>(std::min(first + static_cast<double>(tap), last)));
      axis.weights.push_back(is_edge ? 0.5f : static_cast<float>(tap == 0 ? 1 - part : part));
    }
  }
  return axis;
}

Loop interpolation_loop(const Interpolation& images) {
  return [p = rows_of(images), sum = row_of_this_cpu()](const void* const* in, void* to) {
    const int threads = loop_threads();
    const int64_t plane_in = p.rows_in * p.columns.in * p.lanes, row = p.columns.out * p.lanes;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < p.planes * p.rows_out; ++k) {
      sum(p, k % p.rows_out, static_cast<const float*>(in[0]) + k / p.rows_out * plane_in,
          static_cast<float*>(to) + k * row);
    }
  };
}

}  // namespace byoc::onednn
