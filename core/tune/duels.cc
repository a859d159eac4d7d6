// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/duels.h"

namespace byoc::tune {

void Duels::add(const Point& loser, const Point& winner) {
  if (loser != winner) winners_[loser].insert(winner);
}

const std::set<Point>& Duels::winners_of(const Point& loser) const {
  static const std::set<Point> kNone;
  auto at = winners_.find(loser);
  return at == winners_.end() ? kNone : at->second;
}

Point Duels::choose(const Point& fastest, const std::function<bool(const Point&)>& counts) const {
  Point at = fastest;
  for (std::set<Point> visited = {at};;) {
    const Point* next = nullptr;
    bool has_lost = false;
    for (const Point& winner : winners_of(at)) {
      if (!counts(winner)) continue;
      has_lost = true;
      if (next == nullptr && visited.insert(winner).second) next = &winner;
    }
    if (next == nullptr) return has_lost ? fastest : at;
    at = *next;
  }
}

}  // namespace byoc::tune
