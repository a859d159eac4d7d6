// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small integers in a fixed irregular order: products and sums of them are exact in f32.
#include "support/run_op.h"

namespace byoc::testing {

/// Returns a tensor with (k * step) % modulus - shift as element k. The generators of the expected
/// values use the same rule.
inline Values pattern(const std::vector<int64_t>& dims, int64_t step, int64_t modulus,
                      int64_t shift, DType dtype = DType::kF32) {
  int64_t n = *num_elements(make_shape(dims));
  std::vector<double> values;
  for (int64_t k = 0; k < n; ++k) values.push_back(static_cast<double>(k * step % modulus - shift));
  return tensor(dtype, dims, std::move(values));
}
inline Values pattern(const std::vector<int64_t>& dims) { return pattern(dims, 7, 11, 5); }
/// Returns a pattern that differs from the default one, for weights.
inline Values weights(const std::vector<int64_t>& dims) { return pattern(dims, 5, 7, 3); }

inline TensorType f32_type(const Shape& shape) { return {DType::kF32, shape}; }

}  // namespace byoc::testing
