// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/region_probe.h"

#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "byoc/extend/loops.h"
#include "byoc/ir/states.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "byoc/translate/policies.h"

namespace byoc::driver {

Result<ProbedModule> expose_region_outputs(const IRModule& fused) {
  ProbedModule probed{fused, {}, {}};
  Function& entry = probed.module.function(fused.entry);
  std::map<ValueId, size_t> output_of;
  for (uint32_t k = 0; k < entry.nodes.size(); ++k) {
    const Node& node = entry.nodes[k];
    auto* invoke = std::get_if<Invoke>(&node.kind);
    const Function* callee = invoke ? fused.find(invoke->function) : nullptr;
    const bool is_region = callee != nullptr && callee->attrs.has("compiler");
    if (!is_region && !std::holds_alternative<Control>(node.kind)) continue;
    if (is_region) {
      RegionCall region{
          invoke->function, callee->attr("compiler"), {}, probed.values.size(), node.types.size()};
      for (ValueId arg : entry.args(node)) {
        auto found = output_of.find(arg);
        region.args.push_back({arg, found == output_of.end() ? SIZE_MAX : found->second});
      }
      BYOC_CHECK(region.num_outputs == callee->results.size(), "@", region.function, " returns ",
                 callee->results.size(), " values, its call ", region.num_outputs);
      probed.regions.push_back(std::move(region));
    }
    for (uint32_t output = 0; output < node.types.size(); ++output) {
      output_of[{k, output}] = probed.values.size();
      probed.values.push_back({k, output});
    }
  }
  Strings names;
  for (size_t k = 0; k < probed.values.size() + entry.results.size(); ++k)
    names.push_back(cat("v", k));
  entry.results.insert(entry.results.begin(), probed.values.begin(), probed.values.end());
  entry.attrs.set("output_names", names);
  set_states(entry, {});
  return probed;
}

CutModule cut_at_borders(const ProbedModule& probed) {
  CutModule out{probed.module, {}};
  const Function& entry = probed.module.function(probed.module.entry);
  std::map<ValueId, size_t> number_of;
  for (size_t k = 0; k < probed.values.size(); ++k) number_of.emplace(probed.values[k], k);
  Rewriter rewriter(entry);
  const auto params = static_cast<uint32_t>(entry.num_params());
  for (uint32_t k = 0; k < params; ++k) rewriter.copy(k);
  std::map<ValueId, ValueId> param_of;
  for (const Node& node : entry.nodes) {
    for (ValueId arg : entry.args(node)) {
      auto found = number_of.find(arg);
      if (found == number_of.end() || param_of.contains(arg)) continue;
      if (!is_static(entry.type(arg)->shape)) continue;
      param_of[arg] = {rewriter.to().add_param(cat("cut", found->second), entry.type(arg)), 0};
      out.values.push_back(found->second);
    }
  }
  for (uint32_t k = params; k < entry.nodes.size(); ++k) {
    std::vector<ValueId> args;
    for (ValueId arg : entry.args(entry.nodes[k])) {
      auto cut = param_of.find(arg);
      args.push_back(cut == param_of.end() ? rewriter.map(arg) : cut->second);
    }
    rewriter.replace(k, rewriter.to().add_copy(entry.nodes[k], args));
  }
  Function function = std::move(rewriter).finish();
  function.attrs.erase("input_names");  // there are more
  out.module.functions[out.module.entry] = std::move(function);
  return out;
}

IRModule with_all_regions_for(IRModule module, const std::string& plugin) {
  for (auto& [name, function] : module.functions) {
    if (name == module.entry || !function.attrs.has("compiler")) continue;
    function.attrs.set("compiler", plugin);
    if (plugin == kReferencePlugin) function = with_library_op(function);
    if (!te::has_loops(function)) function.attrs.erase("compute");  // a choice of the other plugin
  }
  return module;
}

IRModule module_calling(const IRModule& from, Symbol name, Function function) {
  IRModule module;
  module.constants = from.constants;
  for (const auto& [other, body] : from.functions) {
    if (body.attrs.has("composite")) module.functions[other] = body;
  }
  Function entry;
  std::vector<ValueId> args;
  for (size_t k = 0; k < function.num_params(); ++k) {
    Symbol param = std::get<Param>(function.nodes[k].kind).name;
    args.push_back({entry.add_param(param, function.nodes[k].types[0]), 0});
  }
  uint32_t call = entry.add_invoke(name, args, function.result_types());
  for (uint32_t k = 0; k < function.results.size(); ++k) entry.results.push_back({call, k});
  module.functions[module.entry] = std::move(entry);
  module.functions[name] = std::move(function);
  return module;
}

Result<Executable> compile_regions(IRModule fused, const PassContext& whole) {
  PassContext context = whole;
  context.policies = te::unchecked(whole.policies);
  BYOC_TRY(auto passes, Pipeline::after("fuse_ops", context));
  BYOC_TRY(fused, run_passes(std::move(fused), passes, context));
  return make_executable(fused);
}

}  // namespace byoc::driver
