// SPDX-License-Identifier: Apache-2.0
#pragma once
// The caches of one core: how many bytes it reads of each in a cycle, and which places in memory
// share a set of the first one.
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Bytes a cycle that a core reads in a row, while it computes.
struct ReadRates {
  double l2 = 32, l3 = 18, memory = 6;
};
/// Returns a vector a cycle for the second cache, or half a line where vectors are shorter. Source:
/// `byoc doctor` on Zen 3 (31.6, 17.9 and 6.6 at 3.24 GHz). Code must not depend on what a machine
/// measures at present, or the same input would have other bytes the next time.
ReadRates read_rates(const te::Target& target);

/// Returns true when of `count` places, `step` bytes apart, more begin in one set of the first
/// cache than it has ways: their lines evict each other. Sets of 4096 bytes in all are usual, as
/// caches are indexed by the bits that translation keeps.
bool has_conflicts(int64_t count, int64_t step, int64_t l1_bytes);

}  // namespace byoc::llvm_plugin::topi
