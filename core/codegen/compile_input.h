// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/host/plugins.h"
#include "byoc/ir/module.h"

namespace byoc {

/// Returns what a plugin receives for `function`, a function of `module`, under the symbol `name`.
CompileFunction input_of(const IRModule& module, const Function& function, Symbol name);

}  // namespace byoc
