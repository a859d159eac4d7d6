// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop functions in modules: beside functions of ops, a module has functions whose body is loops.
// Others call them in the same way, and a plugin with the flag BYOC_PLUGIN_LOOPS compiles them.
//   te::Schedule schedule(dag);
//   BYOC_TRY_STATUS(schedule.vectorize("relu", "i1"));
//   BYOC_TRY_STATUS(te::add_loops(module, "f", te::lower(schedule)));
// In the text of a module: `loops f(x: f32[8]) -> (y: f32[8]) { ... }`, as te/text.h has it.
// The Function has the parameters, the text as its attribute `loops`, the attribute `primitive`, so
// that passes leave it alone, and one Extern, which gives the results their types.
#include "byoc/ir/module.h"
#include "byoc/te/stmt.h"

namespace byoc::te {

/// Adds the function `name`, whose parameters are the inputs and whose results are the outputs of
/// `loops`. `attrs`: `compiler` chooses the plugin. Errors: those of `loops`; kAlreadyExists;
/// kInvalidArgument for extents that are no numbers nor made of `sizes`, for sizes that no
/// parameter or result has, and for loops that are not well-formed.
Status add_loops(IRModule& module, Symbol name, const Result<LoopFunction>& loops,
                 const Attrs& attrs = {});

/// Returns the function that add_loops adds. Errors: as above.
Result<Function> function_of(const LoopFunction& loops);

/// Returns true for functions that have loops as their body.
bool has_loops(const Function& function);
/// Returns the loops of such a function. Errors: kInvalidArgument, when its text is none.
Result<LoopFunction> loops_of(const Function& function, std::string_view name);
/// Checks that parameters and results of such a function are those of its loops.
Status check_loops(const Function& function);

/// Returns the dim of an extent that is a number or is made of sizes; extent_of() of tensor.h is
/// the way back. Errors: kInvalidArgument, slug "loops-type", for other extents; as the arithmetic
/// of dims has them (ir/dim.h).
Result<Dim> dim_of(const Expr& extent);

}  // namespace byoc::te
