// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and types that tests of several ops use.
#include <limits>

#include "support/run_op.h"

namespace byoc::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kSmall = 1e-6;  // the expected values are written with seven digits
inline constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};

}  // namespace byoc::testing
