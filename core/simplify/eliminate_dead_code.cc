// SPDX-License-Identifier: Apache-2.0
// Removes nodes whose results are not read, and the nodes that only those read.
//   before: %0 = relu(%x)
//           %1 = tanh(%x)
//           %2 = exp(%1)
//           return %0
//   after:  %0 = relu(%x)
//           return %0
// Parameters are the function's signature and annotations describe the partition: both stay. An op
// that reads a compiler_begin stays too, because a region without ops is refused later.
// call_dps_packed has no effect except its results, so it is removed when these are not read.
#include <set>

#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

// The keys of all constants that the module still uses.
class UsedConstants {
 public:
  explicit UsedConstants(const IRModule& module) {
    add(module.attrs);
    for (const auto& [name, function] : module.functions) add(function);
    for (const ExternalModule& external : module.external_mods) add(external);
  }
  bool contains(const ContentKey& key) const { return keys_.contains(key); }

 private:
  void add(const Attrs& attrs) {
    for (const auto& [name, value] : attrs) {
      if (auto* constant = std::get_if<ConstantRef>(&value)) keys_.insert(constant->key);
    }
  }
  void add(const Function& function) {
    add(function.attrs);
    for (const Node& node : function.nodes) {
      if (auto* constant = std::get_if<Constant>(&node.kind)) keys_.insert(constant->data->key());
      if (auto* call = std::get_if<Call>(&node.kind)) add(*call->attrs);
    }
  }
  void add(const ExternalModule& external) {
    for (const ExternalFunction& function : external.functions) {
      for (const ExternalConstant& constant : function.constants) keys_.insert(constant.key);
      for (const auto& [key, alignment] : function.packed) keys_.insert(key);
    }
    for (const auto& [name, key] : external.packed) keys_.insert(key);
  }

  std::set<ContentKey> keys_;
};

}  // namespace

Result<IRModule> eliminate_dead_code(IRModule module, const PassContext&) {
  BYOC_TRY(std::vector<Symbol> reachable, callees_first(module, module.entry));
  keep_functions(module, reachable);
  for (auto& [name, function] : module.functions) {
    if (!is_settled(function)) function = without_dead_nodes(std::move(function));
  }
  // Removes functions that only dead nodes called.
  BYOC_TRY(reachable, callees_first(module, module.entry));
  keep_functions(module, reachable);
  UsedConstants used(module);
  std::erase_if(module.constants, [&](const auto& entry) { return !used.contains(entry.first); });
  return module;
}

}  // namespace byoc
