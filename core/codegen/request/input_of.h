// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/host/plugins.h"
#include "byoc/ir/module.h"

namespace byoc {

/// Returns what a plugin receives for `function` under the symbol `name`. The function may be one
/// of `module` or be made of nodes of one: its composites are the module's.
CompileFunction input_of(const IRModule& module, const Function& function, Symbol name);
/// Returns the same without names of the model, under a symbol of `plugin`'s that follows from the
/// graph, the constants and the point: equal functions of all models are equal, and others have
/// other symbols.
CompileFunction unnamed_input_of(const IRModule& module, const Function& function,
                                 const std::string& plugin, const std::string& point_json);

}  // namespace byoc
