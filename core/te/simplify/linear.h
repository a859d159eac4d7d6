// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes integer expressions as sums: coefficient * term + ... + constant, modulo 2^bits.
#include <unordered_set>

#include "core/te/simplify/bounds.h"

namespace byoc::te {

struct Linear {
  struct Term {
    Expr x;  // interned, no sum, no multiple
    int64_t factor;
  };
  DType dtype = DType::kI64;
  std::vector<Term> terms;
  int64_t constant = 0;

  void add(const Linear& other, int64_t times);
  /// Returns the sum as an expression: terms by the size of their factors, the constant last.
  Expr expr() const;
};

/// Returns the sum of an interned expression whose operands are simplified. Expressions in `opaque`
/// are terms as they are.
Linear linear_of(const Expr& x, const std::unordered_set<const void*>& opaque);

/// The values of a sum while none wraps around; nullopt when they do not fit.
struct WideInterval {
  Wide lo, hi;
};
std::optional<WideInterval> range_of(const Linear& sum, Bounds& bounds);
/// Returns true when the sum never wraps around.
bool is_exact(const Linear& sum, Bounds& bounds);

}  // namespace byoc::te
