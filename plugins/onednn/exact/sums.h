// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of two tensors of integers with scales and zero points, in two multiply-adds per element.
#include "exact/loop.h"

namespace byoc::onednn {

/// The result is round(first * a + (second * b + shift)), halves to even, between the bounds.
struct SumOfIntegers {
  bool is_signed[2] = {false, false};  // a, b: i8, else u8
  bool is_result_signed = false;
  float factors[2] = {1, 1};        // scales divided by the result's
  float shift = 0;                  // what all zero points are together
  float least = 0, greatest = 255;  // bounds, which the result's type holds
};

/// Returns a sum whose shift is exact but for its last rounding. zero_points: of a, b, the result.
SumOfIntegers shifted(SumOfIntegers sum, const float (&zero_points)[3]);

/// Computes the sum cell by cell; may write over either operand.
Loop sum_of_integers_loop(const SumOfIntegers& sum, const Pieces& cells);

}  // namespace byoc::onednn
