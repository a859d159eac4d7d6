// SPDX-License-Identifier: Apache-2.0
#pragma once
// The duels of the points of one task. The tuner replaces its best point only by one that wins a
// duel clearly. A loser may still have the smaller sample by luck; it never counts as the better.
#include <functional>
#include <set>

#include "byoc/tune/space.h"

namespace byoc::tune {

/// The losers of duels, each with the points that won against it. Thread-compatible.
class Duels {
 public:
  /// Adds the duel of a record that has one (Record::lost_to).
  void add(const Point& loser, const Point& winner);
  bool is_empty() const { return winners_.empty(); }
  /// Returns the point to be used when `fastest` has the smallest time: itself, or the one that won
  /// against it, or the one that won against that, and so on. Points for which `counts` returns
  /// false are left out. When the winners form a circle, `fastest` is returned.
  /// Cost: O(d log d) for d duels.
  Point choose(const Point& fastest, const std::function<bool(const Point&)>& counts) const;
  /// Returns the points that won against this one.
  const std::set<Point>& winners_of(const Point& loser) const;

 private:
  std::map<Point, std::set<Point>> winners_;
};

}  // namespace byoc::tune
