// SPDX-License-Identifier: Apache-2.0
#pragma once
// Smaller expressions of the same value, and the values an expression can have.
#include <limits>
#include <unordered_map>

#include "byoc/te/stmt.h"

namespace byoc::te {

/// All values from `lo` to `hi`. The default is what is known of a value of which nothing is known.
struct Interval {
  int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();
  friend bool operator==(const Interval&, const Interval&) = default;
};
/// What is known of variables, by Var::id().
using Ranges = std::unordered_map<const void*, Interval>;

/// The values of an integer or bool expression, or more. Wrapping around is accounted for.
Interval bounds_of(const Expr& x, const Ranges& ranges = {});

/// An expression of the same value for all values that `ranges` allows. Integers: constants, linear
/// sums, divisions by positive constants, comparisons, min and max that ranges decide. Floats: what
/// gives the same bits alone. Work follows the number of nodes, shared ones counted once.
Expr simplify(const Expr& x, const Ranges& ranges = {});

/// The same for each expression of a statement, whose loops add to `ranges`; loops of one iteration
/// and branches that are never taken go.
Stmt simplify(const Stmt& stmt, Ranges ranges = {});

}  // namespace byoc::te
