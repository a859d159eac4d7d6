// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "byoc/ir/module.h"

namespace byoc {

enum class Locs { kIgnored, kCompared };

/// Returns bytes that are equal for functions that are equal node by node: in ops, attributes,
/// types, operands, constants and the function's attributes, but not in the names of parameters.
/// The bytes are made of interned values and are valid in this process only. Cost: linear.
std::string function_key(const Function& function, Locs locs);

/// Returns bytes that are equal for regions that their plugin compiles to the same kernel: those
/// with equal plugins and equal graphs, including the bodies of the functions they invoke. Symbols,
/// locs, names of parameters and of invoked functions are ignored. Constants are compared by
/// content. Valid in this process, for regions of one module. Cost: linear.
std::string region_key(const IRModule& module, const Function& region);

}  // namespace byoc
