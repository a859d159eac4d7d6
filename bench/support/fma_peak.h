// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace byoc::bench {

/// f32 GFLOP/s of one core: twelve chains of fused multiply-adds that stay in registers, of 256
/// bits, or 512 with `wide`. The best of several short runs. 0 where the CPU has no such
/// instructions.
double fma_peak(bool wide);
/// One such run, of some milliseconds: what the core gives just now.
double fma_rate(bool wide);
/// The instructions of the loop.
const char* fma_loop();
bool has_avx512();

}  // namespace byoc::bench
