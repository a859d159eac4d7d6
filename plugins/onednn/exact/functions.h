// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of one operand by their definition, where oneDNN's kernels lose NaN or digits. A loop
// replaces the primitive, or computes some of its cells again after it.
#include "exact/loop.h"

namespace byoc::onednn {

// These run instead of the primitive. They may write over their operand.

/// Computes x < 0 ? 0 : x, which keeps NaN.
Loop relu_loop(const Pieces& cells);
/// Computes min(max(x, low), high), which keeps NaN.
Loop clip_loop(const Pieces& cells, float low, float high);
/// Computes ln x. oneDNN's is up to 1.4e-6 off near x = 1, where the result is 0.
Loop log_loop(const Pieces& cells);
/// Computes ln(1 + e^x). oneDNN's does not fall below 7.6e-6 as x goes to -infinity.
Loop softplus_loop(const Pieces& cells);

// These run after the primitive, whose operand is still in memory.

/// Computes f again where `is_odd` holds for the operand.
Loop where_odd(const Pieces& cells, bool (*is_odd)(float), float (*f)(float));
/// Computes alpha * (e^x - 1) again where the subtraction would lose digits.
Loop elu_again(int64_t cells, float alpha);

}  // namespace byoc::onednn
