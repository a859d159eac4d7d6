// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string_view>

#include "byoc/ir/module.h"

namespace byoc {

/// Returns the symbols that no function of the module may be compiled under: those of compiled
/// functions, and those that `call_dps_packed` nodes call, which the host program provides. They
/// are views of the module's texts. Cost: O(nodes).
std::set<std::string_view> external_symbols(const IRModule& module);

}  // namespace byoc
