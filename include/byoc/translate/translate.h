// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translates a function of ops to a Dag of tensor expressions without a schedule. One strategy is
// chosen per call.
#include <map>

#include "byoc/ir/module.h"
#include "byoc/op/op.h"
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::te {

/// One call of an op with its types, on which a choice may depend.
struct Site {
  const Function* function;             ///< that has the call
  uint32_t node;                        ///< the call in `function`
  const OpDef* op;                      ///< its op
  const Attrs* attrs;                   ///< its attributes; never null
  std::vector<TypeId> inputs, outputs;  ///< types of operands and of results
  std::vector<bool> is_constant;        ///< per input
  const Target* target;                 ///< the machine to compile for
  /// The compute in the best record that a tuning history has for the function; empty: none.
  std::string recorded = {};
};

/// One way to compute an op: "direct", "packed", "winograd", ...
struct Strategy {
  std::string name;                            ///< unique among the strategies of a call
  int level = 10;                              ///< the highest that applies is the usual choice
  ComputeFn compute;                           ///< makes the tensor expression
  std::function<bool(const Site&)> applies;    ///< absent: always
  std::function<double(const Site&)> cost_ns;  ///< absent: unknown
  bool has_generic_schedule = true;            ///< runs well enough in plain loops
};
/// Returns the strategies for a call, in a fixed order; OpDef::compute is "direct" at level 10.
using StrategyTable = std::function<std::vector<Strategy>(const Site&)>;
StrategyTable direct_strategies();  ///< the table with OpDef::compute alone

/// Returns the index of one of the strategies that apply. Called exactly once per call of an op.
using StrategySelector = std::function<Result<size_t>(const Site&, std::span<const Strategy>)>;
StrategySelector by_level();  ///< the highest level; of equal ones the first
StrategySelector by_cost();   ///< unknown costs last, then by level
StrategySelector only_generic(StrategySelector inner);  ///< computes with a generic schedule
/// Uses the choice that `chosen` has for the call's key (op, types, attributes), else
/// `inner`'s choice.
StrategySelector from_history(std::map<std::string, std::string> chosen, StrategySelector inner);
/// Uses the compute that a tuning history has for the call (Site::recorded), else `inner`'s choice.
StrategySelector from_history(StrategySelector inner);
/// Chooses among the strategies for which `allows` is true. Errors: slug "no-strategy" when there
/// is none.
StrategySelector only(std::function<bool(const Site&, const Strategy&)> allows,
                      StrategySelector inner);
/// Uses the strategy of that name where there is one, else `inner`'s choice.
StrategySelector prefer(std::string name, StrategySelector inner);
/// Returns the text that from_history looks up: op, operands with their types, and attributes.
std::string site_key(const Site& site);

/// Translates a function. Stages carry op, compute (the choice) and node. Composites are walked
/// through; constants are inputs after the parameters, in the order of their nodes.
/// Types may have open dims where the computes take them; the sizes of the Dag are those in the
/// types of all nodes. Errors: kUnimplemented naming an op that has no compute, or a dim that is
/// counted or that the computes of its op do not take;
/// kFailedPrecondition naming a choice that does not apply.
Result<Dag> translate_to_te(const IRModule& module, const Function& function, const Target& target,
                            const StrategySelector& selector,
                            const StrategyTable& strategies = direct_strategies());

/// The op that a function is named after: the anchor or reduction with most flops,
/// else its last op.
struct Anchor {
  uint32_t node = 0;  ///< the op's index in the function
  std::string name;   ///< "conv2d_add_relu"
};
/// Returns the anchor of a function that has at least one op.
Anchor find_anchor(const Function& function);

}  // namespace byoc::te
