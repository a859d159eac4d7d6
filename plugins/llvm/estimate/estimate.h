// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of an op as this plugin's kernels run it, from the description of a machine.
#include "byoc/ir/module.h"
#include "byoc/plugin/sdk/machine.h"

namespace byoc::llvm_plugin {

/// Returns the estimated ns of one run of the ops of the entry function, whose types are static.
/// The first `inputs` parameters are inputs, the others constants. The time of an op is the larger
/// of arithmetic and memory, at the shares of the machine's peaks that kernels of its kind reach.
/// A kernel of several ops takes less than their sum; the host has the savings of fusion.
double estimate_ns(const IRModule& module, size_t inputs, const sdk::Machine& machine);

}  // namespace byoc::llvm_plugin
