// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a kernel's description of itself and checks it before other code relies on it.
#include "byoc/host/plugins.h"

namespace byoc {

/// Returns the error for a defect in the results of plugin `id`: kInternal, slug "plugin-defect".
Status plugin_defect(std::string_view id, std::string_view what);

/// The kernel's shape according to the graph.
struct KernelShape {
  std::string_view symbol;
  uint32_t n_in = 0, n_out = 0;
  size_t n_consts = 0;
  bool gives_counted = false;  // some output has a counted dim
};

/// Returns "main_0" or "main_0 and 3 more": the functions of a call, each with a member `symbol`.
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
