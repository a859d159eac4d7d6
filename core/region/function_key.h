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

}  // namespace byoc
