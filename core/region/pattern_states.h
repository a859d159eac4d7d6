// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds where patterns can match, for all patterns of all plugins in one sweep over a function.
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "byoc/pass/pattern.h"
#include "core/region/pattern_tree.h"

namespace byoc {

/// A bottom-up tree automaton over the nodes of many patterns, built while it is used (Hoffmann and
/// O'Donnell, "Pattern Matching in Trees", 1982): the state of a value lists which parts of which
/// patterns can match there, and follows from its op and from the states of its operands by one
/// lookup. The result is an upper bound: a part that is ruled out cannot match. Attributes, dtypes
/// and single readers are checked; the identity of captures (`same`) and the bounds of `repeat` are
/// not. States are kept, so that many functions share them. Not thread-safe.
class PatternStates {
 public:
  explicit PatternStates(std::vector<Pattern> patterns);
  PatternStates(const PatternStates&) = delete;

  /// The states of all nodes of a function, and the patterns that may match with a node as root.
  /// O(nodes + operands) lookups; memory grows with the number of different states alone.
  struct Labels {
    std::vector<uint32_t> view;   // per node: what readers see of it
    std::vector<uint32_t> roots;  // per node: for patterns_at()
  };
  Labels label(const Function& function, const UseCounts& uses);
  /// Returns the patterns, by their index in the list, that may match at a node with this entry of
  /// Labels::roots; ascending.
  const std::vector<uint32_t>& patterns_at(uint32_t roots) const { return root_lists_[roots]; }
  /// Returns whether the part `node` of pattern `pattern` may match at a value with that view.
  bool may_match(uint32_t view, uint32_t pattern, const PatternNode& node) const {
    uint32_t bit = first_[pattern] + node.id;
    return views_[view][bit / 64] >> (bit % 64) & 1;
  }
  const Pattern& pattern(uint32_t k) const { return patterns_[k]; }
  size_t num_patterns() const { return patterns_.size(); }
  /// Returns the number of distinct states that were met.
  size_t num_states() const { return transitions_.size(); }

 private:
  using Bits = std::vector<uint64_t>;  // one per node of every pattern
  struct OpPart {                      // a node {"op": ...} of a pattern
    uint32_t bit, first;               // `first`: the bit of that pattern's root
    const PatternNode* node;
    const PatternNode::Op* op;
  };
  struct OpParts {  // all parts of one op
    std::vector<OpPart> parts;
    size_t most_args = 0;
    bool tests_type = false, tests_attrs = false;
  };
  struct Choice {  // a node that matches when one of several others matches at the same value
    uint32_t bit;
    std::vector<uint32_t> of;
  };
  struct State {  // its view when one operand reads it, and when several do
    uint32_t view_of_one, view_of_many, roots;
  };

  void number(const PatternNode& node, uint32_t first, const std::vector<uint32_t>& dollar);
  void close(Bits& bits) const;
  const OpParts* parts_of(const OpDef& op);
  uint32_t signature(const Function& function, uint32_t node, const OpParts& of_op);
  bool fits(const OpPart& part, std::span<const uint32_t> arg_views, size_t num_args) const;
  State make_state(const OpParts& of_op, uint32_t signature, std::span<const uint32_t> arg_views,
                   size_t num_args);
  uint32_t intern_view(const Bits& bits);
  uint32_t intern_roots(const Bits& bits);

  std::vector<Pattern> patterns_;
  std::vector<uint32_t> first_;  // per pattern: the bit of its root
  uint32_t num_bits_ = 0;
  std::vector<Choice> choices_;  // inner ones first
  Bits anything_, constants_;    // parts that a value of unknown origin and a constant can match
  std::unordered_map<std::string, OpParts> by_name_;
  std::unordered_map<const OpDef*, const OpParts*> by_op_;
  std::unordered_map<std::string, uint32_t> signature_of_, view_ids_;
  std::vector<std::vector<uint8_t>> passing_;  // per signature: which of the op's parts
  std::vector<Bits> views_;
  std::vector<std::vector<uint32_t>> root_lists_;
  std::unordered_map<std::string, State> transitions_;
  std::string key_;  // of the lookup at hand
};

}  // namespace byoc
