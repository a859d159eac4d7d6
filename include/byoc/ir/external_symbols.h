// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string_view>

#include "byoc/base/status.h"
#include "byoc/ir/module.h"

namespace byoc {

/// Returns the symbols that no function of the module may be compiled under: those of compiled
/// functions, and those that `call_dps_packed` nodes call, which the host program provides. They
/// are views of the module's texts. Cost: O(nodes).
std::set<std::string_view> external_symbols(const IRModule& module);

/// Gives functions with `compiler` and another `global_symbol` that symbol as their name, under
/// which they are compiled, and redirects their callers. The entry keeps its name. Errors:
/// kAlreadyExists, slug "global-symbol", when a function of the module, a compiled function or one
/// of the host has the symbol. Cost: O(nodes).
Status name_by_symbols(IRModule& module);

}  // namespace byoc
