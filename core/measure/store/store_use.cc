// SPDX-License-Identifier: Apache-2.0
#include "core/measure/store/store_use.h"

#include "byoc/base/json.h"

namespace byoc::measure {
namespace {

std::string list_of(const std::map<std::string, size_t>& counts, const char* before) {
  std::string out;
  for (const auto& [name, n] : counts) out += cat(out.empty() ? "" : ", ", n, before, name);
  return out;
}

}  // namespace

void StoreUse::add_known(const Observation& one) {
  ++known;
  ++known_by[one.by.empty() ? "place" : one.by];  // files of earlier versions are place's
}

StoreUse use_of(const Store& store, const Scope& scope) {
  StoreUse out{.path = store.path()};
  out.usable = store.count(scope, out.unusable);
  return out;
}

std::string text_of(const StoreUse& use) {
  if (use.path.empty()) return "";
  std::string out = cat("observations: ", use.usable, " usable, ", use.known, " known");
  if (use.known > 0) out += cat(" (", list_of(use.known_by, " by "), ")");
  out += cat(", ", use.measured, " measured now");
  if (!use.unusable.empty()) out += cat("; unusable: ", list_of(use.unusable, " "));
  return out + "\n";
}

Json json_of(const StoreUse& use) {
  if (use.path.empty()) return nullptr;
  return {{"file", use.path},         {"usable", use.usable},
          {"known", use.known},       {"known_by", Json(use.known_by)},
          {"measured", use.measured}, {"unusable", Json(use.unusable)}};
}

}  // namespace byoc::measure
