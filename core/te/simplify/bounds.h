// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interval analysis of integer and bool expressions.
#include "byoc/te/simplify.h"

namespace byoc::te {

__extension__ typedef __int128 Wide;  // holds every sum and product of two int64_t

/// Returns [lo, hi] when all of it is within the type, else the interval of the type.
Interval within(DType dtype, Wide lo, Wide hi);
/// Returns the interval of every value of the type; for u64, whose upper half Interval cannot
/// represent, the default.
Interval all_of(DType dtype);

/// Bounds of many expressions under one set of ranges, which may grow by new variables.
class Bounds {
 public:
  explicit Bounds(const Ranges& ranges) : ranges_(ranges) {}
  Interval operator()(const Expr& x);

 private:
  Interval compute(const Expr& x);
  Interval unary(const Unary& x, DType dtype);
  Interval binary(const Binary& x);
  const Ranges& ranges_;
  std::unordered_map<const void*, std::pair<Expr, Interval>> known_;
};

}  // namespace byoc::te
