// SPDX-License-Identifier: Apache-2.0
#include "exact/extrema.h"

#include <bit>

namespace byoc::onednn {
namespace {

// Computes a row. step: 1, or 0 for a second operand of one cell.
template <bool is_max, int64_t step>
inline __attribute__((always_inline)) void extrema(const float* a, const float* b, float* y,
                                                   int64_t n) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    float x = a[k], z = b[k * step];
    float greater = (is_max ? x > z : x < z) ? x : z;
    y[k] = x != x ? x : greater;
  }
}

template <bool is_max, int64_t step>
void extrema_anywhere(const float* a, const float* b, float* y, int64_t n) {
  extrema<is_max, step>(a, b, y, n);
}
#if defined(__x86_64__)
template <bool is_max, int64_t step>
__attribute__((target("avx2"))) void extrema_avx2(const float* a, const float* b, float* y,
                                                  int64_t n) {
  extrema<is_max, step>(a, b, y, n);
}
#endif

template <bool is_max, int64_t step>
ExtremaCells best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return extrema_avx2<is_max, step>;
#endif
  return extrema_anywhere<is_max, step>;
}

}  // namespace

namespace {

// Returns whether all bits of an exponent are set.
inline __attribute__((always_inline)) bool any_special(const float* x, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
#pragma omp simd reduction(| : found)
  for (int64_t k = 0; k < n; ++k)
    found |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x[k]) & kExponent) == kExponent);
  return found != 0;
}

bool any_special_anywhere(const float* x, int64_t n) { return any_special(x, n); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) bool any_special_avx2(const float* x, int64_t n) {
  return any_special(x, n);
}
#endif

}  // namespace

bool has_special(const float* x, int64_t cells) {
  constexpr int64_t kAtOnce = 4096;
  auto any = any_special_anywhere;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) any = any_special_avx2;
#endif
  for (int64_t first = 0; first < cells; first += kAtOnce) {
    if (any(x + first, std::min(kAtOnce, cells - first))) return true;
  }
  return false;
}

ExtremaCells extrema_cells(bool is_max, bool second_is_one) {
  if (is_max) return second_is_one ? best<true, 0>() : best<true, 1>();
  return second_is_one ? best<false, 0>() : best<false, 1>();
}

Loop extrema_loop(bool is_max, const Pieces& cells, bool second_is_one) {
  ExtremaCells f = extrema_cells(is_max, second_is_one);
  return [=](const void* const* in, void* to) {
    visit_pieces(cells, [&](int64_t first, int64_t count) {
      f(static_cast<const float*>(in[0]) + first,
        static_cast<const float*>(in[1]) + (second_is_one ? 0 : first),
        static_cast<float*>(to) + first, count);
    });
  };
}

}  // namespace byoc::onednn
