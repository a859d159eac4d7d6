// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps a DType to the C++ type of its elements.
#include <Eigen/Core>  // half and bfloat16
#include <cstdint>

#include "byoc/base/dtype.h"

namespace byoc {

/// Calls fn(T{}) for the C++ type T of the elements of `dtype`, and returns what it returns. Floats
/// of 16 bits are Eigen's; bool is uint8_t.
template <class Fn>
auto with_element_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32:
      return fn(float{});
    case DType::kF64:
      return fn(double{});
    case DType::kF16:
      return fn(Eigen::half{});
    case DType::kBF16:
      return fn(Eigen::bfloat16{});
    case DType::kI8:
      return fn(int8_t{});
    case DType::kU8:
    case DType::kBool:
      return fn(uint8_t{});
    case DType::kI16:
      return fn(int16_t{});
    case DType::kU16:
      return fn(uint16_t{});
    case DType::kI32:
      return fn(int32_t{});
    case DType::kU32:
      return fn(uint32_t{});
    case DType::kI64:
      return fn(int64_t{});
    default:
      return fn(uint64_t{});
  }
}

}  // namespace byoc
