// SPDX-License-Identifier: Apache-2.0
// Offers the ops of functions that their plugins declined in compile to the plugins after those,
// but for the parts of functions that were cut, which stay with their plugin.
//   before: fn a_main_0(%i0) {declined_by="a"} {
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
#include <algorithm>
#include <map>
#include <set>

#include "byoc/op/annotation.h"
#include "byoc/pass/passes.h"
#include "core/codegen/kernels/fuse.h"
#include "core/region/inline_call.h"

namespace byoc {
namespace {

constexpr std::string_view kPrimitive = "primitive";

// While it exists, all functions but `names` have the attribute `primitive`, so that passes do not
// change them.
class HiddenFunctions {
 public:
  HiddenFunctions(const std::set<Symbol>& names, IRModule& module) {
    for (auto& [name, function] : module.functions) {
      if (names.contains(name) || function.attrs.has(kPrimitive)) continue;
      function.attrs.set(kPrimitive, true);
      names_.push_back(name);
    }
  }
  void show(IRModule& module) const {
    for (Symbol name : names_) {
      auto at = module.functions.find(name);  // fuse_ops drops composites without calls
      if (at != module.functions.end()) at->second.attrs.erase(kPrimitive);
    }
  }

 private:
  std::vector<Symbol> names_;
};

// Returns the plugins of a list that come after `plugin`.
std::vector<std::string> after(const std::string& plugin, const std::vector<std::string>& all) {
  auto self = std::ranges::find(all, plugin);
  return self == all.end() ? std::vector<std::string>()
                           : std::vector<std::string>(self + 1, all.end());
}

// Makes functions of the parts that run_codegen cut a declined function into, and ops of composites
// that are in no part.
Result<IRModule> cut(IRModule module, const std::set<Symbol>& names, const PassContext& context) {
  const bool has_parts = std::ranges::any_of(names, [&](Symbol name) {
    return std::ranges::any_of(module.function(name).nodes, is_annotation);
  });
  if (has_parts) {
    BYOC_TRY(module, partition_graph(std::move(module), context));
  }
  for (Symbol name : names)
    module.function(name) = inline_composites_in(module, module.function(name), {});
  return module;
}

// Partitions the visible functions for the listed plugins, then for the default codegens. Without
// any of these the ops stay where they are, and the next inline_functions moves them back.
Result<IRModule> offer(IRModule module, const std::string& declined_by,
                       const PassContext& context) {
  const std::vector<std::string> listed = after(declined_by, context.compilers);
  if (!listed.empty()) {
    BYOC_TRY(module, merge_composites(std::move(module), listed, context));
    BYOC_TRY(module, annotate_target(std::move(module), listed, context));
    BYOC_TRY(module, merge_compiler_regions(std::move(module), context));
    BYOC_TRY(module, partition_graph(std::move(module), context));
  }
  if (context.defaults.empty()) return module;
  const bool is_default = std::ranges::count(context.defaults, declined_by) > 0;
  PassContext lenient = context;  // run_codegen has applied --strict
  lenient.strict = false;
  return fuse_ops_with(std::move(module),
                       is_default ? after(declined_by, context.defaults) : context.defaults,
                       lenient);
}

}  // namespace

Result<IRModule> place_declined(IRModule module, const PassContext& context) {
  std::map<std::string, std::set<Symbol>> declined;  // by plugin
  for (auto& [name, function] : module.functions) {
    if (!function.attrs.has(kDeclinedAttr)) continue;
    declined[function.attr(kDeclinedAttr)].insert(name);
    function.attrs.erase(kDeclinedAttr);
  }
  for (const auto& [plugin, names] : declined) {
    const HiddenFunctions hidden(names, module);
    BYOC_TRY(module, cut(std::move(module), names, context));
    BYOC_TRY(module, offer(std::move(module), plugin, context));
    hidden.show(module);
  }
  return module;
}

}  // namespace byoc
