// SPDX-License-Identifier: Apache-2.0
#include "core/bind/entry.h"

#include "byoc/base/nearest.h"

namespace byoc::simplify {

Result<const Function*> entry_function(const IRModule& module) {
  if (const Function* entry = module.find(module.entry)) return entry;
  return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
}

std::vector<std::string> input_names(const Function& entry) {
  Strings given = input_names_of(entry);
  std::vector<std::string> names;
  size_t params = entry.num_params();
  for (size_t k = 0; k < params; ++k) {
    names.push_back(k < given.size() ? given[k] : std::get<Param>(entry.nodes[k].kind).name.str());
  }
  return names;
}

std::optional<uint32_t> input_number(const Function& entry, const std::string& name) {
  std::vector<std::string> names = input_names(entry);
  for (uint32_t k = 0; k < names.size(); ++k) {
    if (names[k] == name) return k;
  }
  for (uint32_t k = 0; k < names.size(); ++k) {
    if (std::get<Param>(entry.nodes[k].kind).name == name) return k;
  }
  return std::nullopt;
}

Status unknown_input(std::string_view what, const std::string& name,
                     const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += cat(list.empty() ? "" : ", ", one);
  return not_found(cat("the model has no ", what, " \"", name, "\"", did_you_mean(name, known)))
      .with_slug("unknown-input")
      .with_help(list.empty() ? "the model has none" : cat("the model has: ", list));
}

}  // namespace byoc::simplify
