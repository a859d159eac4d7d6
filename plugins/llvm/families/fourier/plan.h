// SPDX-License-Identifier: Apache-2.0
#pragma once
// Discrete Fourier transforms by steps, one per factor of the length.
#include <optional>
#include <vector>

#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin::fourier {

inline constexpr const char* kCompute = "fourier";

/// A transform along one dim of x [..., length, ..., parts].
struct Plan {
  size_t axis = 0;
  int64_t length = 0;
  int64_t used = 0;     ///< elements of x along the axis that count; zeros follow
  int64_t results = 0;  ///< elements of y along the axis
  bool is_inverse = false, is_complex = false;
  bool is_real_result = false;   ///< x is one side of the spectrum of a real signal
  std::vector<int64_t> factors;  ///< their product is the length
};

/// Returns the factors with the least estimated work: each step multiplies by a matrix of its
/// factor and reads and writes all elements. The first one fills the lanes of vectors. Empty where
/// a prime factor has more than 1024, or the length more than 2^22.
/// Cost: O(sqrt(length) + divisors^2).
std::vector<int64_t> factors_of(int64_t length, const te::Target& target);

/// Returns the plan of a call; nullopt for other ops, and where there are no factors.
std::optional<Plan> plan_of(const te::Site& site);

}  // namespace byoc::llvm_plugin::fourier
