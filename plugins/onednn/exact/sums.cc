// SPDX-License-Identifier: Apache-2.0
#include "exact/sums.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <type_traits>

namespace byoc::onednn {
namespace {

using Row = void (*)(const SumOfIntegers& sum, const void* a, const void* b, void* y, int64_t n);

// Returns one result: the vectors below compute the same.
template <class Y>
Y add_cell(const SumOfIntegers& sum, float a, float b) {
  float x = std::fma(a, sum.factors[0], std::fma(b, sum.factors[1], sum.shift));
  x = x < sum.least ? sum.least : x;
  x = x > sum.greatest ? sum.greatest : x;
  return static_cast<Y>(std::nearbyint(x));
}

template <class A, class B, class Y>
void add_row(const SumOfIntegers& sum, const void* a, const void* b, void* y, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    static_cast<Y*>(y)[k] = add_cell<Y>(sum, static_cast<float>(static_cast<const A*>(a)[k]),
                                        static_cast<float>(static_cast<const B*>(b)[k]));
  }
}

#if defined(__x86_64__)
#define BYOC_SUMS_AVX2 __attribute__((target("avx2,fma")))

template <class T>
BYOC_SUMS_AVX2 inline __m256 eight(const T* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(std::is_signed_v<T> ? _mm256_cvtepi8_epi32(bytes)
                                                : _mm256_cvtepu8_epi32(bytes));
}

// The numbers of a sum in all lanes.
struct Wide {
  __m256 first, second, shift, least, greatest;
  BYOC_SUMS_AVX2 explicit Wide(const SumOfIntegers& sum)
      : first(_mm256_set1_ps(sum.factors[0])),
        second(_mm256_set1_ps(sum.factors[1])),
        shift(_mm256_set1_ps(sum.shift)),
        least(_mm256_set1_ps(sum.least)),
        greatest(_mm256_set1_ps(sum.greatest)) {}
  template <class A, class B>
  BYOC_SUMS_AVX2 __m256i add(const A* a, const B* b) const {
    __m256 x = _mm256_fmadd_ps(eight(a), first, _mm256_fmadd_ps(eight(b), second, shift));
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(x, least), greatest));
  }
};

template <class A, class B, class Y>
BYOC_SUMS_AVX2 void add_row_avx2(const SumOfIntegers& sum, const void* in_a, const void* in_b,
                                 void* out, int64_t n) {
  auto* a = static_cast<const A*>(in_a);
  auto* b = static_cast<const B*>(in_b);
  auto* y = static_cast<Y*>(out);
  const Wide wide(sum);
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    const __m256i halves =
        _mm256_packs_epi32(wide.add(a + k, b + k), wide.add(a + k + 8, b + k + 8));
    const __m256i words = _mm256_permute4x64_epi64(halves, 0b11011000);  // the order of elements
    const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + k), std::is_signed_v<Y>
                                                            ? _mm_packs_epi16(low, high)
                                                            : _mm_packus_epi16(low, high));
  }
  add_row<A, B, Y>(sum, a + k, b + k, y + k, n - k);
}
#endif

template <class A, class B, class Y>
Row best_row() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_row_avx2<A, B, Y>;
#endif
  return add_row<A, B, Y>;
}

template <class A, class B>
Row row_of(bool is_result_signed) {
  return is_result_signed ? best_row<A, B, int8_t>() : best_row<A, B, uint8_t>();
}

Row row_of(const SumOfIntegers& sum) {
  if (sum.is_signed[0])
    return sum.is_signed[1] ? row_of<int8_t, int8_t>(sum.is_result_signed)
                            : row_of<int8_t, uint8_t>(sum.is_result_signed);
  return sum.is_signed[1] ? row_of<uint8_t, int8_t>(sum.is_result_signed)
                          : row_of<uint8_t, uint8_t>(sum.is_result_signed);
}

}  // namespace

SumOfIntegers shifted(SumOfIntegers sum, const float (&zero_points)[3]) {
  sum.shift =
      zero_points[2] - std::fma(sum.factors[0], zero_points[0], sum.factors[1] * zero_points[1]);
  return sum;
}

Loop sum_of_integers_loop(const SumOfIntegers& sum, const Pieces& cells) {
  return [sum, cells, row = row_of(sum)](const void* const* in, void* out) {
    visit_pieces(cells, [&](int64_t first, int64_t count) {
      row(sum, static_cast<const uint8_t*>(in[0]) + first,
          static_cast<const uint8_t*>(in[1]) + first, static_cast<uint8_t*>(out) + first, count);
    });
  };
}

}  // namespace byoc::onednn
