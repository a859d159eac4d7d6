// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matching with the knowledge of a whole function: what a bottom-up sweep rules out is not tried.
#include "core/region/pattern_states.h"

namespace byoc {

class PatternSweep;

/// What to look for at one root.
struct MatchSearch {
  size_t limit = 1;                     // matches
  size_t max_ops = SIZE_MAX;            // of a match
  uint64_t* steps = nullptr;            // counts what was tried
  const PatternSweep* sweep = nullptr;  // null: everything is tried
  uint32_t pattern = 0;                 // its place in the sweep
};
std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, const MatchSearch& search);

/// The matches of many patterns in one function. All that it is made of outlives it.
class PatternSweep {
 public:
  PatternSweep(PatternStates& states, const Function& function, const UseCounts& uses);
  /// Patterns, by their place in `states`, that may match with that root; ascending.
  const std::vector<uint32_t>& patterns_at(uint32_t root) const {
    return states_.patterns_at(labels_.roots[root]);
  }
  /// As matches_at(). Ops that no sweep rules out are tried: linear in practice, bounded always.
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
