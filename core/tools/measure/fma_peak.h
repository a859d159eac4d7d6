// SPDX-License-Identifier: Apache-2.0
#pragma once
// The f32 peak of a core, measured by assembly.

namespace byoc::driver {

/// Returns f32 GFLOP/s of one core: twelve chains of fused multiply-adds that stay in
/// registers, of 256 bits, or 512 with `wide`. The best of several short runs. 0 where the CPU
/// has no such instructions.
double fma_peak(bool wide);
/// Returns the rate of one such run, of some milliseconds: the core's present speed.
double fma_rate(bool wide);
/// Returns the operations of one such run.
double fma_flops(bool wide);
/// Returns the instructions of the loop of `fma_rate(wide)`.
const char* fma_loop(bool wide);
bool has_avx512();

}  // namespace byoc::driver
