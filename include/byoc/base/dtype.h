// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types. f16 and bf16 are stored as 16-bit patterns; bool is one byte, 0 or 1.
#include <cstdint>
#include <optional>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

/// The types of elements, in the order of the tables that are indexed by them.
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
inline constexpr int kDTypeCount = 13;  ///< the number of enumerators of DType

std::string_view dtype_name(DType dtype);  ///< "f32"
/// Reads what dtype_name returns; nothing for any other text.
std::optional<DType> parse_dtype(std::string_view name);
/// Returns the size of an element in bytes.
constexpr size_t dtype_size(DType dtype) {
  constexpr size_t kBytes[] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return kBytes[static_cast<int>(dtype)];
}
/// True for f32, f64, f16 and bf16.
constexpr bool is_float(DType dtype) { return dtype <= DType::kBF16; }
/// True for i8, i16, i32 and i64.
constexpr bool is_signed_int(DType d) {
  return d == DType::kI8 || d == DType::kI16 || d == DType::kI32 || d == DType::kI64;
}
/// True for integers with and without a sign; bool is none.
constexpr bool is_int(DType dtype) { return !is_float(dtype) && dtype != DType::kBool; }
/// Appends the name.
inline void print_to(std::string& out, DType dtype) { out.append(dtype_name(dtype)); }

}  // namespace byoc
