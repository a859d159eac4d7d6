// SPDX-License-Identifier: Apache-2.0
// The patterns of plugins that cannot be read.
#include "byoc/host/plugins.h"
#include "byoc/pass/pattern.h"

namespace byoc {

std::vector<LeftOutPattern> left_out_patterns(const Plugin& plugin) {
  std::vector<LeftOutPattern> out;
  for (uint32_t k = 0; k < plugin.patterns().size(); ++k) {
    const Status status = Pattern::parse(plugin.patterns()[k].dag_json).status();
    const std::string place = status.where().empty() ? "" : cat(" at ", status.where());
    if (!status.ok()) out.push_back({k, plugin.patterns()[k].name, status.message() + place});
  }
  return out;
}

std::string left_out_text(const Plugin& plugin, const LeftOutPattern& pattern) {
  return cat("the pattern \"", pattern.name, "\" of ", plugin.id(), " is left out: ", pattern.why);
}

}  // namespace byoc
