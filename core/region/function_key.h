// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "byoc/ir/module.h"

namespace byoc {

enum class Locs { kIgnored, kCompared };

/// Bytes that are equal for functions that are equal node by node: ops, attributes, types, operands,
/// constants, the function's attributes; never the names of parameters. Built from interned values,
/// so it means something in this process alone. Linear.
std::string function_key(const Function& function, Locs locs);

}  // namespace byoc
