// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves elements without reading their values: loops by element width instead of type.
#include <vector>

#include "byoc/base/check.h"
#include "core/op/kernel/util.h"

namespace byoc::op {

/// Calls make.operator()<U>() with the unsigned integer as wide as one element.
template <class Make>
RefKernel for_width(DType dtype, Make&& make) {
  switch (dtype_size(dtype)) {
    case 1:
      return make.template operator()<uint8_t>();
    case 2:
      return make.template operator()<uint16_t>();
    case 4:
      return make.template operator()<uint32_t>();
    default:
      BYOC_CHECK(dtype_size(dtype) == 8, "no elements are as wide as ", dtype);
      return make.template operator()<uint64_t>();
  }
}

/// Returns a kernel that writes y in row-major order over `extents` and reads x at offset + sum of
/// index * stride (in elements).
RefKernel strided_kernel(DType dtype, const std::vector<int64_t>& extents,
                         const std::vector<int64_t>& strides, int64_t offset = 0);

/// Returns the kernel of y[i, j, ...] = x[tables[0][i] + tables[1][j] + ...], or `fill`
/// where one of the entries is negative. Entries are offsets in elements; each table is as
/// long as its dim of y.
RefKernel table_kernel(DType dtype, const std::vector<std::vector<int64_t>>& tables,
                       uint64_t fill = 0);

/// Checks that a table of dim `d` of y has at most 2^26 entries, half a GiB. Errors:
/// kUnimplemented. `op`: for the message.
inline Status check_table(std::string_view op, TypeId y, size_t d) {
  constexpr int64_t kMost = int64_t{1} << 26;
  if (y->shape[d].extent() <= kMost) return {};
  return unimplemented(
      cat(op, ": the reference kernel has no dim longer than 2^26, dim ", d, " of ", y, " is"));
}

/// Returns the bytes of one element, in the low bytes.
uint64_t bits_of(DType dtype, double value);

/// Returns "message (x f32[2,3])", slug "op-shape".
Status shape_error(std::string message, TypeId x);

/// Returns 0, for ops without arithmetic.
inline double no_flops(Types, Types, const Attrs&) { return 0; }

}  // namespace byoc::op
