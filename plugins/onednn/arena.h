// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arena of a plan: one block of memory for all values between its steps.
#include "plan.h"

namespace byoc::onednn {

/// Returns the size of a buffer for a value in this format: buffers begin at multiples of 64 bytes.
uint64_t buffer_bytes(const Desc& desc);

/// Gives each buffer of the arena its offset, and the plan the sizes of its arena and scratchpad.
/// Buffers that are touched by overlapping ranges of steps do not overlap in memory.
/// O(n^2) in the number of buffers.
void place_arena(Plan& plan);

}  // namespace byoc::onednn
