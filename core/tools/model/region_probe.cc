#include "core/tools/model/region_probe.h"

#include <algorithm>
#include <map>

#include "byoc/ir/visit.h"
#include "core/tools/model/partial_pipeline.h"

namespace byoc::driver {

Result<Probe> probe_borders(const IRModule& fused) {
  Probe probe{fused, {}};
  Function& entry = probe.module.function(fused.entry);
  std::map<ValueId, size_t> border_of;
  std::vector<ValueId> borders;
  for (uint32_t k = 0; k < entry.nodes.size(); ++k) {
    auto* invoke = std::get_if<Invoke>(&entry.nodes[k].kind);
    const Function* callee = invoke ? fused.find(invoke->function) : nullptr;
    if (callee == nullptr || !callee->attrs.has("compiler")) continue;
    RegionBorder region{invoke->function,
                        callee->attr("compiler"),
                        {},
                        borders.size(),
                        entry.nodes[k].types.size()};
    for (ValueId arg : entry.args(entry.nodes[k])) {
      auto found = border_of.find(arg);
      region.args.push_back({arg, found == border_of.end() ? SIZE_MAX : found->second});
    }
    for (uint32_t output = 0; output < region.num_outputs; ++output) {
      border_of[{k, output}] = borders.size();
      borders.push_back({k, output});
    }
    probe.regions.push_back(std::move(region));
  }
  Strings names;
  for (size_t k = 0; k < borders.size() + entry.results.size(); ++k) names.push_back(cat("v", k));
  entry.results.insert(entry.results.begin(), borders.begin(), borders.end());
  entry.attrs.set("output_names", names);
  return probe;
}

IRModule with_all_regions_for(IRModule module, const std::string& plugin) {
  for (auto& [name, function] : module.functions) {
    if (name != module.entry && function.attrs.has("compiler"))
      function.attrs.set("compiler", plugin);
  }
  return module;
}

IRModule calling(const IRModule& from, Symbol name, Function function) {
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

Result<Executable> compile_regions(IRModule fused, const PassContext& context) {
  BYOC_TRY(fused, run_passes(std::move(fused), passes_behind("fuse_ops", context), context));
  return make_executable(fused);
}

}  // namespace byoc::driver
