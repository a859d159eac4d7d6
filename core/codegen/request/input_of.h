// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/host/plugins.h"
#include "byoc/ir/module.h"

namespace byoc {

/// Returns what a plugin receives for `function` under the symbol `name`. The function may be one
/// of `module` or be made of nodes of one: its composites are the module's.
CompileFunction input_of(const IRModule& module, const Function& function, Symbol name);

}  // namespace byoc
