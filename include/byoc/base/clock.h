// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock that byoc uses to measure times.
#include <chrono>
#include <cstdint>

namespace byoc {

/// Returns nanoseconds of the steady clock, which counts from an arbitrary moment and never goes
/// back. now_ns of the host table returns the same, so times that plugins report can be compared
/// with byoc's. Cost: about 20 ns.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

/// Returns the nanoseconds since `begin_ns`, a value of now_ns.
inline double ns_since(uint64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns); }

}  // namespace byoc
