// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the work of the sources that CMakeLists.txt lists, without a clock: one per basic block
// that is executed, and one per 64 bytes that memmove moves. Counts of one build are the same in
// every run, but for the order of pointers in hash tables.
#include <cstdint>

namespace byoc::test {

/// Returns the work of this process so far.
uint64_t work_done();

}  // namespace byoc::test
