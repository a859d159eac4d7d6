// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places the operands of concats in their results.
#include <vector>

#include "core/codegen/devices/value_devices.h"

namespace byoc {

/// The place of a value that is a part of another one.
struct JoinedPlace {
  bool is_part = false;  ///< false: the value is no part of another one
  uint32_t whole = 0;    ///< the value that it is a part of, which is no part of any other
  uint64_t offset = 0;   ///< in bytes, a multiple of 64
  uint64_t bytes = 0;    ///< of the whole, in units of alignment
};

/// Returns a place per value. Operands of the externs in the attribute `joins` of the function are
/// parts of the extern's result when all of them can be: each is the result of another extern, has
/// no other reader and is no result of the function, which holds for the extern's result too; all
/// but the last have a multiple of 64 bytes. `first` has, per node, the number of its first value.
/// Errors: those of size_bytes. Cost: linear.
Result<std::vector<JoinedPlace>> joined_places(const Function& function,
                                               const std::vector<uint32_t>& first,
                                               const ValueDevices& devices);

}  // namespace byoc
