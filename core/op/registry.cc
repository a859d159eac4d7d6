// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/registry.h"

#include "byoc/base/check.h"
#include "byoc/base/nearest.h"

namespace byoc {

void OpRegistry::add(OpDef op) {
  std::string name = op.name;
  BYOC_CHECK(!name.empty() && op.infer, "op \"", name, "\" has no name or no type inference");
  auto [at, is_new] = ops_.emplace(name, std::make_unique<OpDef>(std::move(op)));
  BYOC_CHECK(is_new, "op ", name, " is registered twice");
}

const OpDef* OpRegistry::find(std::string_view name) const {
  auto at = ops_.find(name);
  return at == ops_.end() ? nullptr : at->second.get();
}

Result<const OpDef*> OpRegistry::get(std::string_view name) const {
  if (const OpDef* op = find(name)) return op;
  std::vector<std::string> names;
  for (const auto& [known, op] : ops_) names.push_back(known);
  return not_found(cat("no op is called \"", name, "\"", did_you_mean(name, names)))
      .with_slug("unknown-op")
      .with_help("byoc ops lists every op");
}

std::vector<const OpDef*> OpRegistry::all() const {
  std::vector<const OpDef*> ops;
  for (const auto& [name, op] : ops_) ops.push_back(op.get());
  return ops;
}

}  // namespace byoc
