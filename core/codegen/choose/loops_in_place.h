// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop functions in the place of functions of ops.
#include <unordered_map>

#include "byoc/ir/module.h"
#include "byoc/te/stmt.h"

namespace byoc {

/// A constant that a replaced function read.
struct LiftedConstant {
  const Buffer* data;
  TypeId type;
};
/// The constants of replaced functions, which their callers pass after the arguments.
using LiftedConstants = std::unordered_map<Symbol, std::vector<LiftedConstant>>;

/// Returns `loops` as the function @name of the module, for the same plugin. The attributes `locs`,
/// `ops` and `flops` keep what reports need of the ops. Errors: kInvalidArgument, slug
/// "provider-loops", when inputs or outputs of the loops have other types than the parameters, the
/// constants and the results of the function.
Result<Function> loops_in_place_of(const IRModule& module, Symbol name,
                                   const te::LoopFunction& loops);
/// Returns the constants of @name in the order in which te::translate_to_te makes them inputs.
std::vector<LiftedConstant> constants_of(const IRModule& module, const Function& function);
/// Adds the constants to all calls of these functions. Linear.
void pass_constants(IRModule& module, const LiftedConstants& lifted);

}  // namespace byoc
