// SPDX-License-Identifier: Apache-2.0
#pragma once
// The broken plugins of tests/faults.
#include <string>

#include "byoc/host/plugins.h"
#include "support/paths.h"

namespace byoc::test {

/// Returns the path of a broken plugin, such as "faulty_no_entry".
inline std::string fault_path(const std::string& name) {
  return std::string(BYOC_BUILD_DIR) + "/tests/faults/" + name + "/libbyoc_" + name + ".so";
}

/// Returns a set of that plugin alone, with the option "fault" when one is given.
inline std::shared_ptr<const PluginSet> load_fault(const std::string& name,
                                                   const std::string& fault = "") {
  PluginSearch search;
  search.files = {fault_path(name)};
  if (!fault.empty()) search.options["faulty"]["fault"] = fault;
  return PluginSet::load(search);
}

}  // namespace byoc::test
