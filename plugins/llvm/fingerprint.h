// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes the computation of a loop function as bytes that are equal for equal functions,
// independent of addresses of nodes and of names.
#include <string>

#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// Returns the bytes. Linear in the number of distinct nodes.
std::string fingerprint(const te::LoopFunction& function);

}  // namespace byoc::llvm_plugin
