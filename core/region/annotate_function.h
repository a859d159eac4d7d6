// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Returns the plugins that may take ops of `function`: the one that its attribute `compiler`
/// names, otherwise the listed ones. Errors: slug "unknown-plugin".
Result<std::vector<const Plugin*>> plugins_for(const Function& function,
                                               const std::vector<std::string>& listed,
                                               const PassContext& context);

/// Returns whether an op of `function` that a plugin calls slow goes to another one that takes it.
/// The attribute `compiler` names one plugin, which gets them all.
bool avoids_slow_kernels(const Function& function, const PassContext& context);

/// Returns true for ops and for calls of composites. Calls of plain or compiled functions, externs
/// and annotations are left as they are.
bool is_candidate(const IRModule& module, const Node& node);

struct Taken {
  uint64_t ops = 0;               // taken now, composites counted by their ops
  std::vector<uint32_t> refused;  // nodes that no plugin took
};
/// Returns `function` with an open region around every op that lies outside regions and that one of
/// `plugins` takes.
Result<Function> annotate_function(const IRModule& module, const Function& function, Symbol name,
                                   const std::vector<const Plugin*>& plugins,
                                   const PassContext& context, Taken* taken = nullptr);

}  // namespace byoc
