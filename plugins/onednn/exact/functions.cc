// SPDX-License-Identifier: Apache-2.0
#include "exact/functions.h"

#include <cmath>

namespace byoc::onednn {
namespace {

// Computes y = f(x), compiled for AVX2 as well. `a` and `b` are parameters of the function.
using Cells = void (*)(const float* x, float* y, int64_t n, float a, float b);

inline __attribute__((always_inline)) void relu(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) y[k] = x[k] < 0 ? 0 : x[k];
}

inline __attribute__((always_inline)) void clip(const float* x, float* y, int64_t n, float low,
                                                float high) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    float raised = x[k] < low ? low : x[k];
    y[k] = raised > high ? high : raised;
  }
}

void relu_anywhere(const float* x, float* y, int64_t n, float, float) { relu(x, y, n); }
void clip_anywhere(const float* x, float* y, int64_t n, float low, float high) {
  clip(x, y, n, low, high);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void relu_avx2(const float* x, float* y, int64_t n, float, float) {
  relu(x, y, n);
}
__attribute__((target("avx2"))) void clip_avx2(const float* x, float* y, int64_t n, float low,
                                               float high) {
  clip(x, y, n, low, high);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
constexpr Cells relu_avx2 = relu_anywhere, clip_avx2 = clip_anywhere;
bool has_avx2() { return false; }
#endif

void log_cells(const float* x, float* y, int64_t n, float, float) {
  for (int64_t k = 0; k < n; ++k) y[k] = std::log(x[k]);
}

// e^x alone would overflow for large x. NaN goes through both terms.
void softplus_cells(const float* x, float* y, int64_t n, float, float) {
  for (int64_t k = 0; k < n; ++k)
    y[k] = (x[k] < 0 ? 0 : x[k]) + std::log1p(std::exp(-std::abs(x[k])));
}

Loop over(const Pieces& cells, Cells f, float a = 0, float b = 0) {
  return [=](const void* const* in, void* to) {
    visit_pieces(cells, [&](int64_t first, int64_t count) {
      f(static_cast<const float*>(in[0]) + first, static_cast<float*>(to) + first, count, a, b);
    });
  };
}

}  // namespace

Loop relu_loop(const Pieces& cells) { return over(cells, has_avx2() ? relu_avx2 : relu_anywhere); }
Loop clip_loop(const Pieces& cells, float low, float high) {
  return over(cells, has_avx2() ? clip_avx2 : clip_anywhere, low, high);
}
Loop log_loop(const Pieces& cells) { return over(cells, log_cells); }
Loop softplus_loop(const Pieces& cells) { return over(cells, softplus_cells); }

Loop where_odd(const Pieces& cells, bool (*is_odd)(float), float (*f)(float)) {
  return [=](const void* const* in, void* to) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(to);
    visit_pieces(cells, [&](int64_t first, int64_t count) {
      for (int64_t k = first; k < first + count; ++k) {
        if (is_odd(x[k])) y[k] = f(x[k]);
      }
    });
  };
}

// Computes e^x - 1 by its series near 0. At the border, -1/16, the omitted terms are 1e-9 of the
// result. oneDNN's subtraction loses 2e-6 there, and all digits near 0.
Loop elu_again(int64_t cells, float alpha) {
  return [=](const void* const* in, void* to) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(to);
#pragma omp simd
    for (int64_t k = 0; k < cells; ++k) {
      float z = x[k];
      float sum = z * (1 + z * (1.0f / 2 + z * (1.0f / 6 + z * (1.0f / 24 + z * (1.0f / 120)))));
      y[k] = z < 0 && z > -1.0f / 16 ? alpha * sum : y[k];
    }
  };
}

}  // namespace byoc::onednn
