// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects the groups of ops that default codegens compile to one kernel each.
#include "byoc/pass/pass.h"
#include "core/region/annotations.h"

namespace byoc {

/// Ops of a function that their plugin compiles to one kernel.
struct KernelGroup {
  std::string name;  // the plugin's, for messages
  Symbol plugin;
  std::vector<uint32_t> nodes;  // ascending, at least two
};

/// Returns the groups of each plugin with the slot `partition` for the ops that it has in open
/// regions: plugin by plugin, in order of their first ops, each plugin's in its order. Calls the
/// slot once per plugin. Errors: the plugin's and slug "bad-groups", at the function. Cost: linear.
Result<std::vector<KernelGroup>> requested_groups(const IRModule& module, const Function& function,
                                                  const Annotations& annotations, Symbol name,
                                                  const PassContext& context);

}  // namespace byoc
