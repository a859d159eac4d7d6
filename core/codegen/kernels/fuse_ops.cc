// SPDX-License-Identifier: Apache-2.0
// Groups the ops that no plugin took into functions of the default codegens. Composites of other
// plugins are replaced by their ops. The default codegens judge each op one after the other, and
// the ops that one of them takes are grouped into regions, or into kernels for a plugin with the
// flag ONE_ANCHOR or with groups of its own.
//   before: fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             %1 = tanh(%0)
//             %2 = exp(%1)
//             return %2
//           }
//   after:  fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             %1 = @llvm_main_0(%0)
//             return %1
//           }
#include <algorithm>
#include <unordered_set>

#include "byoc/pass/codegen.h"
#include "byoc/pass/partition.h"
#include "core/codegen/kernels/fuse.h"
#include "core/codegen/kernels/group_kernels.h"
#include "core/region/annotate_function.h"
#include "core/region/annotations.h"
#include "core/region/inline_call.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

constexpr size_t kNamed = 8;  // ops that an error lists

Result<std::vector<const Plugin*>> default_plugins(const std::vector<std::string>& ids,
                                                   const PassContext& context) {
  std::vector<const Plugin*> out;
  for (const std::string& id : ids) {
    if (!context.plugins)
      return not_found(cat("no plugins are loaded, so \"", id, "\" cannot be used"))
          .with_slug("unknown-plugin");
    BYOC_TRY(const Plugin* plugin, context.plugins->get(id));
    out.push_back(plugin);
  }
  return out;
}

std::string type_list(const Function& function, uint32_t node) {
  std::string out;
  for (ValueId arg : function.args(function.nodes[node]))
    out += cat(out.empty() ? "" : ", ", function.type(arg));
  return out;
}

// Returns an error with the ops that no plugin takes, each with the reason of every plugin.
Status no_codegen(const IRModule& module, const Function& function, Symbol name,
                  const std::vector<uint32_t>& refused, const std::vector<const Plugin*>& plugins,
                  const PassContext& context) {
  std::string what = cat(refused.size(), refused.size() == 1 ? " op has" : " ops have",
                         " no code generator in @", name, ":");
  Judge judge(module, context);
  UseCounts uses(function);
  for (size_t k = 0; k < std::min(refused.size(), kNamed); ++k) {
    uint32_t node = refused[k];
    what += cat(k ? "; " : " ", node_name(function, node), " (", type_list(function, node), ")");
    for (const Plugin* plugin : plugins)
      what += cat(", ", plugin->id(), ": ", judge.takes(*plugin, function, uses, node).reason);
  }
  if (refused.size() > kNamed) what += cat("; and ", refused.size() - kNamed, " more");
  return unimplemented(std::move(what))
      .with_slug("no-codegen")
      .with_help(plugins.empty()
                     ? "add a plugin with the flag DEFAULT (json, llvm) or name one with --default"
                     : "see: byoc plugins, byoc explain MODEL");
}

// Checks --strict: an op that the first default codegen refuses is an error, even when another one
// takes it.
Status check_strict(const Function& annotated, Symbol name, const std::string& first) {
  BYOC_TRY(Annotations annotations, read_annotations(annotated, name));
  for (uint32_t node = 0; node < annotated.nodes.size(); ++node) {
    uint32_t region = annotations.region_of[node];
    if (region == kOutside || !annotations.regions[region].open ||
        annotations.regions[region].compiler.text() == first)
      continue;
    return failed(cat("--strict: ", node_name(annotated, node),
                      " is refused by the default codegen \"", first, "\" and would be taken by \"",
                      annotations.regions[region].compiler, "\""))
        .with_slug("strict")
        .at(cat("@", name));
  }
  return {};
}

bool is_ungrouped(const Function& function) {
  return !function.attrs.has("composite") && !function.attrs.has("primitive") &&
         !function.attrs.has("compiler");
}

}  // namespace

Result<IRModule> fuse_ops_with(IRModule module, const std::vector<std::string>& defaults,
                               const PassContext& context) {
  BYOC_TRY(std::vector<const Plugin*> plugins, default_plugins(defaults, context));
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  std::vector<std::string> foreign;
  for (const auto& [name, function] : module.functions) {
    std::string owner = composite_owner(function);
    if (!owner.empty() && std::find(defaults.begin(), defaults.end(), owner) == defaults.end())
      foreign.push_back(owner);
  }
  std::sort(foreign.begin(), foreign.end());
  foreign.erase(std::unique(foreign.begin(), foreign.end()), foreign.end());
  std::unordered_set<Symbol> plain;
  for (const auto& [name, function] : module.functions) {
    if (is_ungrouped(function)) plain.insert(name);
  }
  for (Symbol name : order) {
    if (!plain.contains(name)) continue;
    Function function = foreign.empty()
                            ? module.function(name)
                            : inline_composites_in(module, module.function(name), foreign);
    Taken taken;
    BYOC_TRY(Function annotated,
             annotate_function(module, function, name, plugins, context, &taken));
    if (!taken.refused.empty())
      return no_codegen(module, function, name, taken.refused, plugins, context);
    if (context.strict && !defaults.empty())
      BYOC_TRY_STATUS(check_strict(annotated, name, defaults[0]));
    BYOC_TRY(module.functions[name], group_kernels(module, std::move(annotated), name, context));
  }
  drop_uncalled_composites(module);
  BYOC_TRY(module, merge_compiler_regions(std::move(module), context));
  return partition_graph(std::move(module), context);
}

Result<IRModule> fuse_ops(IRModule module, const PassContext& context) {
  return fuse_ops_with(std::move(module), context.defaults, context);
}

}  // namespace byoc
