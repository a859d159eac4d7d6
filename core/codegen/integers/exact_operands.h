// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands in i32 that are bytes, less a zero point.
#include <optional>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::integers {

/// x - zero in i32, of bytes x. A zero point is one value.
struct ByteOperand {
  ValueId x;
  std::optional<ValueId> zero;        // i32, known at run time; nullopt: none, or a constant
  std::optional<ValueId> zero_bytes;  // the same before the cast to i32, of the type of x
  int32_t constant_zero = 0;          // 0 with `zero`
};

/// Constant weights as i8: weight k is bytes[k] + offset.
struct ByteWeights {
  std::vector<int8_t> bytes;
  int32_t offset = 0;
};

/// Returns the call of this op that makes the value, or null.
const Call* call_of(const Function& function, ValueId value, std::string_view op);

/// Returns the operand that an i32 value is; nullopt: it was not made of bytes.
std::optional<ByteOperand> byte_operand_of(const Function& function, ValueId value);

/// Reads constants of i32, or of bytes before a cast, less a constant zero point. Returns nullopt
/// for others, for none, and where the largest is more than 255 above the least.
std::optional<ByteWeights> byte_weights_of(const Function& function, ValueId value);

/// Returns true for products of known sizes with one b for all rows of x, or one for each of the
/// leading dims, that are large enough to pay for putting b into panels in each run.
bool are_large_matrices(const Shape& x, const Shape& b);

}  // namespace byoc::integers
