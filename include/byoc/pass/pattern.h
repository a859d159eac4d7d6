// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graph patterns (plugin-abi.md section 3): parsed once, matched from the root down.
#include <memory>

#include "byoc/ir/visit.h"

namespace byoc {

/// One parsed pattern; immutable, cheap to copy.
class Pattern {
 public:
  /// Errors: kInvalidArgument, slug "pattern-syntax", with the JSON path of what is wrong.
  static Result<Pattern> parse(std::string_view dag_json);
  struct Tree;
  const Tree& tree() const { return *tree_; }
  /// Fewest and most ops a match can have.
  size_t min_ops() const;
  size_t max_ops() const;
  /// One op by its name alone: fits every node of that op.
  bool is_bare_op() const;
  /// Ops that may stand at the root.
  const std::vector<std::string>& root_ops() const;

 private:
  std::shared_ptr<const Tree> tree_;
};

struct Match {
  uint32_t root = 0;
  std::vector<uint32_t> nodes;  // ops of the match, ascending
  std::vector<ValueId> inputs;  // values from outside, in order of first use
  /// capture name -> values: an op's node (output 0) in graph order, or an outside value.
  std::map<std::string, std::vector<ValueId>> captures;
};

/// Matches of `pattern` rooted at node `root`, best first, at most `limit`: inner values have no
/// user outside the match and are no results of the function; annotation ops never match. The
/// search for one root is bounded, so the cost of a sweep over a function is linear in its size.
std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, size_t limit = 1);

/// Rewriting with the same matcher, on the nodes of `function`: for every match, later roots first
/// and no two overlapping, `replace` adds what takes the place of the root's value and returns it;
/// nullopt leaves the match alone. Matched nodes nobody reads any more are dropped.
using Replacement = std::function<Result<std::optional<ValueId>>(const Match&, Rewriter& rewriter)>;
Result<Function> rewrite(const Function& function, const Pattern& pattern,
                         const Replacement& replace);

}  // namespace byoc
