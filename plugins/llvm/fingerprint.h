// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a loop function computes and how, as bytes that are equal for equal functions: names play no
// part, nor where in memory its nodes lie.
#include <string>

#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// Linear in the number of distinct nodes.
std::string fingerprint(const te::LoopFunction& function);

}  // namespace byoc::llvm_plugin
