// SPDX-License-Identifier: Apache-2.0
#pragma once
// The peaks of a core, measured by assembly: loops of independent multiplications with additions.
#include <cstdint>

namespace byoc::machine {

/// The instructions of a loop, by operands and bits of a register.
enum class Peak : uint8_t { kF32x256, kF32x512, kF16x512, kBf16x512, kI8x256, kI8x512 };

/// Returns false where the processor lacks the instructions. k256 of i8 are those of AVX2, which
/// multiply and add in three instructions.
bool has_peak(Peak peak);
/// Returns 10^9 operations per second of one run, of some milliseconds: the core's present speed. A
/// multiplication with an addition is two. 0 where the processor lacks the instructions.
double rate_of(Peak peak);
/// Returns the operations of one such run.
double operations_of(Peak peak);

bool has_avx512();
/// Returns f32 GFLOP/s of one core, with registers of 512 bits when `wide`: the best of several
/// short runs.
double fma_peak(bool wide);
/// Returns the instructions of the loop of f32.
const char* fma_loop(bool wide);

}  // namespace byoc::machine
