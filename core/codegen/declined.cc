// SPDX-License-Identifier: Apache-2.0
// Partitions a function that its plugin declined in compile for the plugins after that one.
//   before: fn a_main_0(%i0) {
//             %0 = relu(%i0)
//             %1 = tanh(%0)
//             return %1
//           }
//   after:  fn a_main_0(%i0) {
//             %0 = @b_a_main_0_0(%i0)
//             return %0
//           }
//           fn b_a_main_0_0(%i0) {compiler="b", ...} {
//             %0 = relu(%i0)
//             %1 = tanh(%0)
//             return %1
//           }
#include "core/codegen/declined.h"

#include <algorithm>
#include <set>

#include "byoc/pass/passes.h"

namespace byoc {
namespace {

constexpr std::string_view kPrimitive = "primitive";

// Sets the attribute `primitive` on all functions but `names`, so that the passes do not change
// them. Returns the functions that had no such attribute.
std::vector<Symbol> hide_all_but(const std::set<Symbol>& names, IRModule& module) {
  std::vector<Symbol> hidden;
  for (auto& [name, function] : module.functions) {
    if (names.contains(name) || function.attrs.has(kPrimitive)) continue;
    function.attrs.set(kPrimitive, true);
    hidden.push_back(name);
  }
  return hidden;
}

void show_again(const std::vector<Symbol>& hidden, IRModule& module) {
  for (Symbol name : hidden) module.function(name).attrs.erase(kPrimitive);
}

}  // namespace

std::vector<std::string> plugins_after(const std::string& plugin, const PassContext& context) {
  const std::vector<std::string>& chosen = context.compilers;
  auto self = std::find(chosen.begin(), chosen.end(), plugin);
  if (self == chosen.end()) return {};
  return {self + 1, chosen.end()};
}

Result<IRModule> offer_functions(IRModule module, const std::vector<Symbol>& names,
                                 const std::vector<std::string>& plugins,
                                 const PassContext& context) {
  if (names.empty() || plugins.empty()) return module;
  const std::vector<Symbol> hidden = hide_all_but({names.begin(), names.end()}, module);
  BYOC_TRY(module, merge_composites(std::move(module), plugins, context));
  BYOC_TRY(module, annotate_target(std::move(module), plugins, context));
  BYOC_TRY(module, merge_compiler_regions(std::move(module), context));
  BYOC_TRY(module, partition_graph(std::move(module), context));
  show_again(hidden, module);
  return module;
}

}  // namespace byoc
