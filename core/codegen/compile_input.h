// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/ir/module.h"

namespace byoc {

/// Returns true when a plugin compiles the function `name`: it has the attribute `compiler` and is
/// neither the entry nor a composite.
bool is_region(const IRModule& module, Symbol name, const Function& function);
/// Returns each loc once: one node of the user's model may have become several ops.
std::vector<Symbol> all_locs(const IRModule& module, const Function& function);

/// Returns an error, slug "symbolic-shape", when a value of the function @name has no upper bound
/// of its bytes.
Status check_static(const Function& function, Symbol name);

}  // namespace byoc
