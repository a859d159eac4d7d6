// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrices of Winograd's short convolutions F(m, r): m outputs y of a filter g with r taps,
// from the m + r - 1 inputs d that they read, with m + r - 1 products:
//   y = output ((filter g) * (input d)), where * multiplies element by element.
// Source: Toom and Cook's construction, as in Blahut, Fast Algorithms for Signal Processing, 5.2.
#include <cstdint>
#include <vector>

namespace byoc::llvm_plugin::winograd {

using Matrix = std::vector<std::vector<double>>;  // rows

struct Transforms {
  int64_t m = 1, r = 1;
  Matrix output;  // m x products()
  Matrix filter;  // products() x r
  Matrix input;   // products() x products()
  int64_t products() const { return m + r - 1; }
};

/// Returns F(m, r) for m + r - 1 of 1, 4, 6 or 8, with points 0, infinity, and pairs p, -p that are
/// near 1, so that errors stay small, and are short in binary, so that the matrices of inputs and
/// outputs are exact. m = r = 1 has matrices of one 1.
Transforms transforms_of(int64_t m, int64_t r);

}  // namespace byoc::llvm_plugin::winograd
