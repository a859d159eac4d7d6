// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/nearest.h"

#include <algorithm>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {
namespace {

// Returns the optimal string alignment distance; keeps three rows of the table at a time.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kLongest = 256;  // longer than this is no misspelt name
  std::string best;
  size_t fewest = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (name.size() > kLongest || candidate.size() > kLongest) continue;
    size_t n = edits(name, candidate);
    if (n >= fewest) continue;
    fewest = n;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : cat("; did you mean \"", nearest, "\"?");
}

}  // namespace byoc
