// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of PTX as bits of a register.
#include <bit>
#include <cmath>
#include <cstdint>

#include "fake/thread.h"

namespace fake_cuda {

inline uint64_t mask_of(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
/// Returns an integer of `type`, extended to 64 bits.
inline int64_t extended(uint64_t bits, const Type& type) {
  bits &= mask_of(type.bits);
  if (type.is_signed() && type.bits < 64 && (bits >> (type.bits - 1) & 1) != 0)
    bits |= ~mask_of(type.bits);
  return static_cast<int64_t>(bits);
}

inline double half_to_number(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double out = 0;
  if (exponent == 31) out = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0) out = std::ldexp(fraction, -24);
  else out = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -out : out;
}
/// Rounds to nearest even.
inline uint16_t half_of(double x) {
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (std::isnan(x)) return 0x7fff;
  const double size = std::fabs(x);
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  if (size > 0) std::frexp(size, &exponent);
  else exponent = -24;
  const int step = std::max(exponent - 11, -24);  // the last place
  const auto whole = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, -step)));
  const uint32_t bits = whole + (static_cast<uint32_t>(step + 24) << 10);
  return static_cast<uint16_t>(sign | bits);
}

/// Returns a float of any size as a double: exactly.
inline double number_of(uint64_t bits, const Type& type) {
  if (type.bits == 64) return std::bit_cast<double>(bits);
  if (type.bits == 16) return half_to_number(static_cast<uint16_t>(bits));
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
/// Rounds a double once.
inline uint64_t bits_of(double x, const Type& type) {
  if (type.bits == 64) return std::bit_cast<uint64_t>(x);
  if (type.bits == 16) return half_of(x);
  return std::bit_cast<uint32_t>(static_cast<float>(x));
}

}  // namespace fake_cuda
