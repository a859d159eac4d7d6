// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel says of itself, asked for and checked before anything relies on it.
#include "byoc/host/plugins.h"

namespace byoc {

/// A defect in what the plugin `id` gave us: kInternal, slug "plugin-defect".
Status plugin_defect(std::string_view id, std::string_view what);

/// What the graph says about the kernel.
struct KernelShape {
  std::string_view symbol;
  uint32_t n_in = 0, n_out = 0;
  size_t n_consts = 0;
};

/// "main_0" or "main_0 and 3 more": the functions of a call, each with a member `symbol`.
template <class Functions>
std::string symbols_of(const Functions& functions) {
  if (functions.empty()) return {};
  std::string first = functions.begin()->symbol;
  return functions.size() == 1 ? first : cat(first, " and ", functions.size() - 1, " more");
}

/// Calls `kernel` and `info`. Errors: the plugin's own, or a defect that names kernel and value.
Result<LoadedModule::Kernel> read_kernel(const byoc_plugin& table, const std::string& id,
                                         byoc_module* module, const KernelShape& shape);

}  // namespace byoc
