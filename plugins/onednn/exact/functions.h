// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of one operand as they are defined, where oneDNN's kernels lose NaN or digits: the
// whole function in the primitive's place, or some of its cells again after it.
#include "exact/loop.h"

namespace byoc::onednn {

// In the primitive's place. They may write over their operand.

/// x < 0 ? 0 : x, which keeps NaN.
Loop relu_loop(int64_t cells);
/// min(max(x, low), high), which keeps NaN.
Loop clip_loop(int64_t cells, float low, float high);
/// ln x. oneDNN's is up to 1.4e-6 off near x = 1, where the result is 0.
Loop log_loop(int64_t cells);
/// ln(1 + e^x). oneDNN's does not fall below 7.6e-6 as x goes to -infinity.
Loop softplus_loop(int64_t cells);

// After the primitive, whose operand is still there.

/// f again where `is_odd` holds for the operand.
Loop where_odd(int64_t cells, bool (*is_odd)(float), float (*f)(float));
/// alpha * (e^x - 1) again where the subtraction would lose digits.
Loop elu_again(int64_t cells, float alpha);

}  // namespace byoc::onednn
