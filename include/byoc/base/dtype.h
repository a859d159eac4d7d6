// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types. f16 and bf16 are stored as 16-bit patterns; bool is one byte, 0 or 1.
#include <cstdint>
#include <optional>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool
};
inline constexpr int kDTypeCount = 13;

std::string_view dtype_name(DType dtype);  // "f32"
std::optional<DType> parse_dtype(std::string_view name);
constexpr size_t dtype_size(DType dtype) {
  constexpr size_t kBytes[] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return kBytes[static_cast<int>(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype <= DType::kBF16; }
constexpr bool is_signed_int(DType d) {
  return d == DType::kI8 || d == DType::kI16 || d == DType::kI32 || d == DType::kI64;
}
constexpr bool is_int(DType dtype) { return !is_float(dtype) && dtype != DType::kBool; }
inline void print_to(std::string& out, DType dtype) { out.append(dtype_name(dtype)); }

}  // namespace byoc
