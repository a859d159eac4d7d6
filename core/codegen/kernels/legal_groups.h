// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the groups that functions can be made of.
#include "core/codegen/kernels/requested_groups.h"

namespace byoc {

/// Returns the groups that can be kernels at the same time, in their order. The others are refused,
/// each with a remark (op "group") that has its name, plugin, ops and the reason:
/// - it has more ops or bytes than a region of its plugin;
/// - an op belongs also to a group before it;
/// - it is not convex: a path leaves it and comes back;
/// - it and another group would depend on each other. Of a cycle, the group that spans most of the
///   function is refused; after a few such rounds, all groups that are left in cycles.
/// Cost: linear.
std::vector<KernelGroup> legal_groups(const IRModule& module, const Function& function,
                                      const Annotations& annotations,
                                      std::vector<KernelGroup> requested,
                                      const PassContext& context);

}  // namespace byoc
