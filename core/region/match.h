// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matches patterns in a whole function; skips the matches that a bottom-up sweep rules out.
#include "core/region/pattern_states.h"

namespace byoc {

class PatternSweep;

/// Limits and inputs of a search at one root.
struct MatchSearch {
  size_t limit = 1;                     // matches
  size_t max_ops = SIZE_MAX;            // of a match
  uint64_t* steps = nullptr;            // counts the pattern nodes that were tried
  const PatternSweep* sweep = nullptr;  // null: everything is tried
  uint32_t pattern = 0;                 // index of the pattern in the sweep
};
std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, const MatchSearch& search);

/// Finds the matches of many patterns in one function. Borrows the arguments of its constructor.
class PatternSweep {
 public:
  PatternSweep(PatternStates& states, const Function& function, const UseCounts& uses);
  /// Returns the patterns, by their index in `states`, that may match with that root; ascending.
  const std::vector<uint32_t>& patterns_at(uint32_t root) const {
    return states_.patterns_at(labels_.roots[root]);
  }
  /// Returns the same as matches_at(), but tries only ops that the sweep does not rule out. Linear
  /// in practice, and always bounded.
  std::vector<Match> matches(uint32_t pattern, uint32_t root, size_t limit);
  bool may_match(uint32_t pattern, const PatternNode& part, ValueId value) const {
    return states_.may_match(labels_.view[value.node], pattern, part);
  }
  uint64_t steps() const { return steps_; }

 private:
  PatternStates& states_;
  const Function& function_;
  const UseCounts& uses_;
  PatternStates::Labels labels_;
  uint64_t steps_ = 0;
};

}  // namespace byoc
