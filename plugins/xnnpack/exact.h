// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain loops that compute a unit as its op is defined, for operands where XNNPACK does not: its
// bounds turn NaN into a number, and it takes denormals for 0.
#include "unit.h"

namespace byoc::xnnpack {

/// The magnitudes in a tensor.
struct Range {
  float largest = 0;  // infinite when there is an infinity or NaN
  bool has_denormals = false;
};
Range range_of(const float* x, uint64_t n);

/// The operands of a unit, in the layout that its operator reads.
struct Operands {
  const float *a = nullptr, *b = nullptr;          // b: of kBinary
  const float *weight = nullptr, *bias = nullptr;  // as the graph has them; bias may be null
  std::vector<int64_t> a_dims, b_dims, y_dims;     // of kBinary
};
void compute(const Unit& unit, const Operands& in, uint64_t elements, float* y);

/// Returns the largest |x| of an operand with which XNNPACK is right; above it, a sum may overflow
/// or a result lose its digits.
float largest_operand(const Unit& unit, const float* weight, const float* bias);

}  // namespace byoc::xnnpack
