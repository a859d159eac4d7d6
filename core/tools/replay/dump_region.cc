// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/dump_region.h"

#include "byoc/base/check.h"
#include "byoc/base/version.h"
#include "byoc/ir/dim.h"
#include "byoc/options.h"
#include "byoc/te/module.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/tuned_points.h"

namespace byoc::driver {
namespace {

/// Returns the point at which a build of the module compiles a function; "" for the choice that the
/// plugin makes by itself.
Result<std::string> point_of(const IRModule& module, Symbol name, const Plugin& plugin,
                             const PassContext& context) {
  TunedPoints points(context);
  const Function& function = module.function(name);
  const std::string compute = te::has_loops(function) ? "" : function.attr(kComputeKnob);
  if (context.histories.empty() && compute.empty()) return std::string();
  CompileFunction input = compile_input(module, name);
  BYOC_TRY_STATUS(points.choose(plugin, input, compute, 1).status());
  return std::move(input.point_json);
}

}  // namespace

Result<ReplayCase> replay_case(const IRModule& module, Symbol name, const PassContext& context,
                               const std::string& reference) {
  ReplayCase out;
  set_function(out, module, name);
  out.producer = cat("byoc ", version());
  out.reference = reference;
  out.target_json = context.target_json;
  out.threads = context.threads;
  if (context.made_of) out.options_json = function_options_json(*context.made_of);
  BYOC_TRY(const Plugin* plugin, context.plugins->get(module.function(name).attr("compiler")));
  out.plugin = plugin->id();
  out.plugin_version = plugin->version();
  const auto& options = context.plugins->search().options;
  if (auto found = options.find(plugin->id()); found != options.end())
    out.plugin_options = found->second;
  BYOC_TRY(out.point_json, point_of(module, name, *plugin, context));
  return out;
}

Result<ReplayCase> replay_case(const RegionValues& values, const RegionCall& region,
                               const RegionLimits& limits) {
  BYOC_TRY(ReplayCase out,
           replay_case(values.fused(), region.function, values.ours(), values.reference_plugin()));
  const auto first = limits.limits.begin() + static_cast<ptrdiff_t>(region.first_output);
  out.limits.assign(first, first + static_cast<ptrdiff_t>(region.num_outputs));
  BYOC_TRY(auto inputs, values.inputs_of(region));
  BYOC_TRY(auto outputs, values.outputs_of(region));
  set_tensors(out, values.fused().function(region.function), std::move(inputs), std::move(outputs));
  set_sizes(out, values.fused().function(region.function), values.sizes());
  return out;
}

void set_sizes(ReplayCase& to, const Function& function,
               const std::map<std::string, int64_t>& numbers) {
  to.sizes.clear();
  for (const Node& node : function.nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      for (Dim dim : node.types[k]->shape) {
        if (!is_open(dim)) continue;
        for (Dim size : sizes_in(dim)) {
          const auto found = numbers.find(size.name().str());
          if (found != numbers.end()) to.sizes.insert(*found);
        }
      }
    }
  }
}

void set_tensors(ReplayCase& to, const Function& function, std::vector<Tensor> inputs,
                 std::vector<Tensor> outputs) {
  BYOC_CHECK(inputs.size() == function.num_params() && outputs.size() == function.results.size(),
             inputs.size(), " inputs and ", outputs.size(), " outputs for another function");
  to.inputs.clear();
  to.outputs.clear();
  for (size_t k = 0; k < inputs.size(); ++k) {
    Symbol name = std::get<Param>(function.nodes[k].kind).name;
    to.inputs.push_back({name.str(), std::move(inputs[k])});
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    to.outputs.push_back({cat("output", k), std::move(outputs[k])});
}

}  // namespace byoc::driver
