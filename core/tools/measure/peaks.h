// SPDX-License-Identifier: Apache-2.0
#pragma once
// The most that this machine gives, measured now: arithmetic and memory.
#include <cstdint>

namespace byoc::driver {

/// The roofs of a roofline, of all threads together.
struct Peaks {
  uint32_t threads = 1;
  double gflop_per_s = 0;  // f32 fused multiply-adds; 0 where the CPU has no such instructions
  double gb_per_s = 0;     // reading memory that no cache holds; 1 GB is 10^9 bytes
};

/// Measures both with `threads` threads at the same time, 0 for all cores. The best of several
/// runs. Cost: about 0.3 s, and 256 MiB of memory until it returns.
Peaks measure_peaks(uint32_t threads);

}  // namespace byoc::driver
