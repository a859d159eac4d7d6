// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random operands whose products and sums are exact in f32.
#include <random>
#include <vector>

namespace byoc {

/// Returns n integers of -3 to 3 as floats.
inline std::vector<float> small_integers(int64_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return out;
}

}  // namespace byoc
