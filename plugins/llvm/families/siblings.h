// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of one value over the same axes, such as the least and the greatest element: one loop
// over the value computes all of them.
#include "byoc/ir/module.h"
#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin {

/// Returns the sets of reductions that are to be one kernel each, their nodes in order: of a value
/// with known extents that the first cache cannot keep, over its last axes. O(nodes).
std::vector<std::vector<uint32_t>> sibling_reductions(const Function& function);

/// Makes one stage of reductions that read the same tensors over equal axes, in the place of the
/// first. Its outputs are those of all. O(stages + loads).
void join_siblings(te::Dag& dag);

}  // namespace byoc::llvm_plugin
