// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes whose work is quadratic in the nodes, in the ways in which passes become so.
#include "byoc/pass/pass.h"

namespace byoc::test {

/// Searches all nodes for the readers of each.
Result<IRModule> search_readers(IRModule module, const PassContext&);
/// Copies the whole function for each node.
Result<IRModule> copy_per_node(IRModule module, const PassContext&);
/// Removes nodes one by one from the front of a list.
Result<IRModule> erase_from_front(IRModule module, const PassContext&);

}  // namespace byoc::test
