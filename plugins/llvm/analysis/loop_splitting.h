// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits a loop into prologue, body and epilogue, so that bounds checks run in the first and last
// iterations only.
#include <vector>

#include "plugins/llvm/analysis/ranges.h"

namespace byoc::llvm_plugin {

/// The iterations [first, last) of a loop, counted from its begin.
struct LoopRange {
  int64_t first, last;
};

/// Splits a loop of constant bounds into at most three ranges, so that conditions inside are
/// constant in at least one of them. Returns the whole loop as one range when no condition becomes
/// constant, or when the code, which the caller emits `copies` times, would become too long.
std::vector<LoopRange> split_loop(const te::For& loop, Ranges ranges, int64_t copies);

}  // namespace byoc::llvm_plugin
