// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/decline.h"

#include "byoc/te/module.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/split_region.h"
#include "core/codegen/tuned_points.h"
#include "core/region/assign_loops.h"
#include "core/region/inline_call.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

// Reports ops that go to another plugin. Errors: slug "strict".
Status remark_left(const Decline& decline, Symbol name, std::vector<Symbol> locs,
                   const PassContext& context) {
  const std::string& id = decline.plugin.id();
  context.remark(
      {Report::Remark::kDeclined, id, name.str(), std::move(locs), decline.why.message()});
  if (!context.strict) return {};
  return failed(cat("--strict: ", id, " took @", name,
                    " and declined it in compile: ", decline.why.message()))
      .with_slug("strict");
}

void remark_cut(const Decline& decline, const IRModule& module, const Node& cut,
                const PassContext& context) {
  std::string words = decline.why.message();
  if (const std::string own = cat(decline.plugin.id(), ": "); words.starts_with(own))
    words.erase(0, own.size());
  context.remark({Report::Remark::kNote, decline.plugin.id(), op_label(module, cut),
                  op_locs(module, cut), cat("another region begins here: ", words)});
}

// Returns false for a function that cannot be cut.
Result<bool> cut(const Decline& decline, IRModule& module, Symbol name,
                 const PassContext& context) {
  Function& function = module.function(name);
  const Plugin& plugin = decline.plugin;
  auto parts =
      split_region(function, decline.node, plugin.id(), plugin.is_horizontal(), *context.ops);
  if (!parts) return false;
  const Node& node = function.nodes[parts->node];
  if (!parts->is_left) remark_cut(decline, module, node, context);
  else BYOC_TRY_STATUS(remark_left(decline, name, op_locs(module, node), context));
  function = std::move(parts->function);
  function.attrs.set(kDeclinedAttr, plugin.id());
  return true;
}

}  // namespace

Status apply(const Decline& decline, IRModule& module, Symbol name, const PassContext& context) {
  Function& function = module.function(name);
  const bool has_loops = te::has_loops(function);
  if (!has_loops) {
    BYOC_TRY(bool is_cut, cut(decline, module, name, context));
    if (is_cut) return {};
  }
  BYOC_TRY_STATUS(remark_left(decline, name, all_locs(module, function), context));
  if (has_loops) return reassign_loops(function, name, decline.plugin.id(), decline.why, context);
  Function plain = inline_composites_in(module, function, {});
  for (Symbol attr : {"compiler", "global_symbol", "primitive", kComputeKnob})
    plain.attrs.erase(attr);
  plain.attrs.set(kDeclinedAttr, decline.plugin.id());
  function = std::move(plain);
  return {};
}

}  // namespace byoc
