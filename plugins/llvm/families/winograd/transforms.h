// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrices of Winograd's short convolutions F(m, r): m outputs y of a filter g with r taps,
// from the inputs d that they read:
//   y = output ((filter g) * (input d)), where * multiplies element by element.
// Source: Toom and Cook's construction, as in Blahut, Fast Algorithms for Signal Processing, 5.2.
// Outputs with a stride of t are the sum of t convolutions, of every t-th input and every t-th tap
// (polyphase decomposition, as in 8.3 there). All are evaluated at the same points, so that
// the columns of `output` for a point are equal.
#include <cstdint>
#include <vector>

namespace byoc::llvm_plugin::winograd {

using Matrix = std::vector<std::vector<double>>;  // rows

struct Transforms {
  int64_t m = 1, r = 1, stride = 1;
  Matrix output;  // m x products()
  Matrix filter;  // products() x r
  Matrix input;   // products() x reach()
  /// Returns the points at which all phases are evaluated, infinity among them.
  int64_t points() const { return m + (r + stride - 1) / stride - 1; }
  int64_t products() const { return static_cast<int64_t>(filter.size()); }
  int64_t reach() const { return stride * (m - 1) + r; }
};

/// Returns F(m, r) for a stride of at most r and at most 10 products of every stride-th tap, 9 not
/// among them. The points are infinity, 0 for an even number of products, and pairs p, -p that are
/// near 1, so that errors stay small, and short in binary, so that the matrices of inputs and
/// outputs are exact. m = r = 1 has matrices of one 1.
Transforms transforms_of(int64_t m, int64_t r, int64_t stride = 1);

}  // namespace byoc::llvm_plugin::winograd
