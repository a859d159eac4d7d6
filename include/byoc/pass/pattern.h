// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graph patterns (docs/patterns.md): parsed once, matched from the root down.
#include <memory>

#include "byoc/ir/visit.h"

namespace byoc {

class Plugin;

/// One parsed pattern; immutable, cheap to copy.
class Pattern {
 public:
  /// Parses a pattern. Errors: kInvalidArgument, slug "pattern-syntax", with the JSON path of
  /// the fault.
  static Result<Pattern> parse(std::string_view dag_json);
  struct Tree;
  const Tree& tree() const { return *tree_; }  ///< the parsed form, for core/region
  /// The fewest and the most ops that a match can have.
  size_t min_ops() const;
  size_t max_ops() const;  ///< see min_ops
  /// Returns true for a pattern that is one op by its name alone: it fits every node of that op.
  bool is_bare_op() const;
  /// Returns the ops that can be the root.
  const std::vector<std::string>& root_ops() const;

 private:
  std::shared_ptr<const Tree> tree_;
};

/// A pattern of a plugin that cannot be read, and so matches nothing.
struct LeftOutPattern {
  uint32_t index;    ///< in Plugin::patterns()
  std::string name;  ///< as the plugin has it
  std::string why;   ///< the mistake and its place in the JSON
};
/// Returns them in the order of the plugin's list. Thread-safe.
std::vector<LeftOutPattern> left_out_patterns(const Plugin& plugin);
/// Returns `the pattern "relu" of mychip is left out: ...`.
std::string left_out_text(const Plugin& plugin, const LeftOutPattern& pattern);

/// A match at one root.
struct Match {
  uint32_t root = 0;            ///< the node whose value is matched
  std::vector<uint32_t> nodes;  ///< ops of the match, ascending
  std::vector<ValueId> inputs;  ///< values from outside, in order of first use
  /// capture name -> values: an op's node (output 0) in graph order, or an outside value.
  std::map<std::string, std::vector<ValueId>> captures;
};

/// Returns the matches of `pattern` rooted at node `root`, best first, at most `limit`: inner
/// values have no user outside the match and are no results of the function; annotation ops never
/// match. The search for one root is bounded, so the cost of a sweep over a function is linear in
/// its size.
std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, size_t limit = 1);

/// Rewrites the nodes of `function` with the same matcher. For every match, later roots first and
/// no two overlapping, `replace` adds the nodes that replace the root's value and returns the new
/// value; nullopt leaves the match alone. Matched nodes that have no reader left are dropped.
using Replacement = std::function<Result<std::optional<ValueId>>(const Match&, Rewriter& rewriter)>;
/// Rewrites all matches, from the first node to the last.
Result<Function> rewrite(const Function& function, const Pattern& pattern,
                         const Replacement& replace);

}  // namespace byoc
