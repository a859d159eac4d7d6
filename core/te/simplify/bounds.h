// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interval analysis of integer and bool expressions.
#include "byoc/te/simplify.h"

namespace byoc::te {

__extension__ typedef __int128 Wide;  // holds every sum and product of two int64_t

/// [lo, hi] when a value of the type can be all of it, else all there is.
Interval within(DType dtype, Wide lo, Wide hi);
/// Every value of the type; of u64, whose upper half Interval cannot say, the default.
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
