// SPDX-License-Identifier: Apache-2.0
#pragma once
// Policies are a program's decisions for a compilation: the computes that there are, which of them
// is used, and the schedules. BuildOptions::policies or a scope hands them in, and the pass
// choose_computes applies them.
#include <memory>
#include <set>

#include "byoc/op/registry.h"
#include "byoc/translate/translate.h"

namespace byoc::te {

/// The calls of a compilation that a selector chose a compute for.
struct SeenCalls {
  std::set<std::string> ops, nodes;  ///< names of ops, and of nodes of the user's model
  std::set<std::string> computes;    ///< of all these calls
};

/// Each part may be absent.
struct Policies {
  /// The computes of a call, in the place of direct_strategies(). Those that the function's plugin
  /// publishes (its knob `compute`) come after them, without schedules of their own.
  StrategyTable strategies;
  /// Chooses a compute for each call. Absent: from_history(by_level()).
  StrategySelector selector;
  /// Schedules functions of plugins with the flag BYOC_PLUGIN_LOOPS. nullopt: the plugin does.
  ScheduleProvider provider;
  /// Called after all choices. An error of it ends the compilation.
  std::function<Status(const SeenCalls&)> check;
};

/// A scope in which compilations of this thread use these policies. Scopes nest: of tables and
/// selectors the innermost is used, schedules come from the innermost provider that has one.
/// BuildOptions::policies comes after all scopes. Destroy scopes on the same thread, in reverse
/// order of creation.
class ApplyPolicies {
 public:
  explicit ApplyPolicies(Policies policies);
  ~ApplyPolicies();
  ApplyPolicies(const ApplyPolicies&) = delete;
  ApplyPolicies& operator=(const ApplyPolicies&) = delete;
  /// Returns the policies of this thread's scopes, innermost first.
  static std::vector<std::shared_ptr<const Policies>> active();
};
/// Returns one for all, of which the first ones come first. A check belongs to its selector.
Policies joined(std::span<const std::shared_ptr<const Policies>> all);
/// Returns the same without the check, for parts of a model, and for many models.
std::vector<std::shared_ptr<const Policies>> unchecked(
    std::span<const std::shared_ptr<const Policies>> all);

/// Returns the policies that rules in text describe, as --compute takes them:
///   by-level by-cost        the usual choice; the cheapest by its own estimate
///   only-generic            only computes that run well in plain loops
///   not-direct              another compute than the op's definition wherever a call has one
///   winograd                this compute wherever a call has it, or else the cheapest of its
///                           kinds, such as winograd_4x4
///   conv2d=direct           for calls of one op, blocked forms of it included
///   Conv_3=direct           for one node of the model, which must have it
/// Rules for a node come before those for an op, and these before a name alone. Where no rule
/// decides, a tuning history does, then the usual choice or the cheapest. Errors: slug "usage" for
/// two rules about one thing and for unknown words. The check: slug "unknown-compute" for computes,
/// ops and nodes that no call has.
Result<Policies> parse_rules(std::span<const std::string> rules, const OpRegistry& ops);

}  // namespace byoc::te
