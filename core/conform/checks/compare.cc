// SPDX-License-Identifier: Apache-2.0
#include "core/conform/checks/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "byoc/base/literal.h"

namespace byoc::conform {
namespace {

bool all_bytes(const std::byte* at, size_t n, std::byte value) {
  return std::all_of(at, at + n, [&](std::byte b) { return b == value; });
}

std::string place(const Shape& shape, int64_t flat) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0;) {
    out = cat(flat % shape[d].extent(), out.empty() ? "" : ",", out);
    flat /= shape[d].extent();
  }
  return cat("[", out, "]");
}

}  // namespace

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 1e-5;
    case DType::kF64:
      return 1e-12;
    case DType::kF16:
      return 0x1p-8;
    case DType::kBF16:
      return 0x1p-5;
    default:
      return 0;
  }
}

double negligible(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 0x1p-149;
    case DType::kF64:
      return 0x1p-1074;
    case DType::kF16:
      return 0x1p-24;
    case DType::kBF16:
      return 0x1p-126 - 0x1p-133;
    default:
      return 0;
  }
}

double rounding_of_chain(DType dtype) {
  constexpr double kSteps = 4;
  return dtype == DType::kF32 ? kSteps * 0x1p-24 : dtype == DType::kF64 ? kSteps * 0x1p-53 : 0;
}

Comparison compare(const TensorType& type, const std::byte* got, const std::byte* expected,
                   std::byte filled, bool exact_specials, double rounding) {
  Comparison out;
  const size_t size = dtype_size(type.dtype);
  const int64_t n = *num_elements(type.shape);
  double largest = 0;
  auto value = [&](const std::byte* from, int64_t k) {
    return element_value(type.dtype, from + k * static_cast<int64_t>(size));
  };
  for (int64_t k = 0; k < n; ++k) {
    double w = value(expected, k);
    if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
  }
  for (int64_t k = 0; k < n; ++k) {
    const std::byte *g = got + k * static_cast<int64_t>(size),
                    *w = expected + k * static_cast<int64_t>(size);
    if (std::memcmp(g, w, size) == 0) continue;
    if (out.unwritten < 0 && all_bytes(g, size, filled)) {
      out.unwritten = k;
      continue;
    }
    double a = element_value(type.dtype, g), b = element_value(type.dtype, w);
    bool same = is_float(type.dtype) &&
                (a == b || (std::isnan(a) && std::isnan(b)) ||
                 (std::isfinite(b) && std::abs(a - b) <= tolerance(type.dtype) * largest) ||
                 std::abs(a - b) <= std::max(negligible(type.dtype), rounding) ||
                 (!exact_specials && !std::isfinite(a) && !std::isfinite(b)));
    if (same || all_bytes(g, size, filled)) continue;
    out.difference = cat("gives ", a, " instead of ", b, " at ", place(type.shape, k), " of ", type,
                         " (largest ", largest, ")");
    break;
  }
  return out;
}

}  // namespace byoc::conform
