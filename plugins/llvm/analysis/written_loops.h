// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that users write as loops.
#include "byoc/ir/module.h"
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// Returns the loops of the entry of a module that read_graph_json made. Errors: kUnimplemented for
/// loops that would become too much code, so that another plugin takes them.
Result<te::LoopFunction> written_loops(const IRModule& module);

}  // namespace byoc::llvm_plugin
