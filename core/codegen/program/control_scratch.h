// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that control flow uses while it runs, besides its results.
#include "byoc/ir/module.h"

namespace byoc {

/// Offsets in bytes from the begin of the scratch memory, multiples of 64. The bodies' own arena is
/// at offset 0; the two bodies of an `if` share it.
struct ControlScratch {
  uint64_t counter = 0, condition = 0;  ///< of a loop
  std::vector<uint64_t> results;        ///< of a loop: what the body returns
  uint64_t bytes = 0;                   ///< the size of all
};

/// Lays out the scratch memory of a Control whose bodies have their memory plans.
/// Errors: those of size_bytes.
Result<ControlScratch> control_scratch(const IRModule& module, const Control& control);

/// Returns the size of a tensor in whole units of alignment, with the bounds of counted dims.
/// Errors: those of size_bytes.
Result<uint64_t> arena_bytes(const TensorType& type);

}  // namespace byoc
