// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes expressions smaller without changing their value, and bounds the values that they can have.
#include <limits>
#include <unordered_map>

#include "byoc/te/stmt.h"

namespace byoc::te {

/// All values from `lo` to `hi`. The default is the interval of an unknown value.
struct Interval {
  /// Both ends are included.
  int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();
  friend bool operator==(const Interval&, const Interval&) = default;
};
/// Intervals of variables, by Var::id().
using Ranges = std::unordered_map<const void*, Interval>;

/// Returns an interval that contains all values of an integer or bool expression, taking into
/// account that integers wrap around.
Interval bounds_of(const Expr& x, const Ranges& ranges = {});

/// Returns an expression of the same value for all values that `ranges` allows. Integers:
/// constants, linear sums, divisions by positive constants, comparisons, min and max that ranges
/// decide. Floats: only rewrites that give the same bits. Cost: O(nodes), shared ones counted once.
Expr simplify(const Expr& x, const Ranges& ranges = {});

/// Does the same for each expression of a statement, whose loops add to `ranges`; removes loops of
/// one iteration and branches that are never taken.
Stmt simplify(const Stmt& stmt, Ranges ranges = {});

}  // namespace byoc::te
