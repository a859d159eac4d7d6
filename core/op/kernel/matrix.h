// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a matrix product with any strides; a bound of the weights of products of bytes.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/tile.h"

namespace byoc::op {

/// The extents and strides of a [m, k] times b [k, n] -> y [m, n], y compact; strides in elements.
struct MatrixProduct {
  int64_t m = 0, k = 0, n = 0;
  int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0;
};

/// Computes y = finish(sum over k of A(a) * B(b)), the sum in Acc; A and B convert to Acc.
template <class Acc, class A, class B, class Y, class Finish>
void multiply_matrices(const A* a, const B* b, const MatrixProduct& p, Y* y, Finish&& finish) {
  BYOC_CHECK(p.m >= 0 && p.k >= 0 && p.n >= 0, "a product of ", p.m, " x ", p.k, " x ", p.n);
  using Sums = Tile<Acc>;
  Sums tile;
  alignas(64) Acc lanes[Sums::kLanes] = {};
  Acc weights[Sums::kRows];
  for (int64_t row = 0; row < p.m; row += Sums::kRows) {
    int64_t rows = std::min(p.m - row, Sums::kRows);
    for (int64_t column = 0; column < p.n; column += Sums::kLanes) {
      int64_t columns = std::min(p.n - column, Sums::kLanes);
      tile.clear(rows);
      for (int64_t k = 0; k < p.k; ++k) {
        const B* line = b + k * p.b_k + column * p.b_n;
        for (int64_t l = 0; l < columns; ++l) lanes[l] = static_cast<Acc>(line[l * p.b_n]);
        for (int64_t r = 0; r < rows; ++r)
          weights[r] = static_cast<Acc>(a[(row + r) * p.a_m + k * p.a_k]);
        tile.add(weights, rows, lanes, columns);
      }
      for (int64_t r = 0; r < rows; ++r) {
        const Acc* sums = tile.finish(r);
        std::transform(sums, sums + columns, y + (row + r) * p.n + column, finish);
      }
    }
  }
}

// The attribute "most_weight" of products of integers of 8 bits bounds their constant weights:
// processors without an instruction for four products of bytes multiply small ones faster.
inline AttrSpec most_weight_attr() {
  return {"most_weight", int64_t{128}, "no constant weight is greater in magnitude: 0 to 128"};
}

inline Status check_most_weight(std::string_view op, const Attrs& attrs) {
  const int64_t most = attrs.i("most_weight", 128);
  if (0 <= most && most <= 128) return {};
  return invalid(cat(op, ": most_weight is ", most, ", expected 0 to 128"));
}

}  // namespace byoc::op
