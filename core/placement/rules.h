// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pins and bans: rules of the user about which plugin may run an op.
#include <string>
#include <string_view>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::placement {

/// `WHAT=PLUGIN` pins, `WHAT!=PLUGIN` bans. WHAT is an op such as `relu`, a node `#Conv_3`, a
/// function `@main`, or `*`. Rules of a call's own attribute have no WHAT.
struct Rule {
  enum What { kAll, kFunction, kOp, kNode, kAttribute };  // from general to special
  What what = kAll;
  std::string name, plugin, text;
  bool is_ban = false;
};

/// Several rules. Of the pins that fit an op only the most special ones count, and of these the
/// last one; all bans count.
class Rules {
 public:
  /// Parses rules between commas or line breaks. WHAT may be quoted. Errors: slug "placement-rule",
  /// with the rule.
  static Result<Rules> parse(std::string_view text);
  /// Parses the attribute of a call: `PLUGIN` pins, `!PLUGIN` bans. Errors: slug "placement-rule".
  static Result<Rules> parse_attribute(std::string_view text);
  /// Returns "" when `plugin` may run the op, otherwise the text of the rule that forbids it.
  const std::string& forbids(std::string_view plugin, std::string_view op, std::string_view node,
                             std::string_view function) const;
  bool empty() const { return rules_.empty(); }
  const std::vector<Rule>& all() const { return rules_; }
  void add(const Rules& more) {
    rules_.insert(rules_.end(), more.rules_.begin(), more.rules_.end());
  }

 private:
  std::vector<Rule> rules_;
};

/// Returns a text for each rule about an op, a node or a function that the module does not have,
/// with the nearest name.
std::vector<std::string> unused_rules(const IRModule& module, const Rules& rules);

/// The attribute of functions that has rules for their ops.
inline constexpr std::string_view kRulesAttribute = "placement";

}  // namespace byoc::placement
