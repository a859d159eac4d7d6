// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/regions.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/intern.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/count_work.h"
#include "core/codegen/request/input_of.h"
#include "core/codegen/tuned_points.h"
#include "core/region/function_key.h"

namespace byoc::tune {
namespace {

Status check_bounded_types(const Region& region) {
  for (const Node& node : region.function->nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (is_static(at_bounds(node.types[k]->shape))) continue;
      return invalid(cat("@", region.name, " has a value of type ", node.types[k],
                         "; a task needs numbers or bounds"))
          .with_slug("symbolic-shape")
          .with_help("bind the sizes, as in --shape N=1");
    }
  }
  return {};
}

std::vector<Pass> passes_after_fusion(const PassContext& context) {
  std::vector<Pass> passes = codegen_pipeline(context);
  const auto codegen = std::ranges::find(passes, "run_codegen", &Pass::name);
  BYOC_CHECK(codegen != passes.end(), "a pipeline of codegen without run_codegen");
  passes.erase(codegen, passes.end());
  const auto fused = std::ranges::find(passes, "fuse_ops", &Pass::name);
  if (fused != passes.end()) passes.erase(passes.begin(), fused + 1);
  return passes;
}

Result<std::vector<OwnPoint>> points_in(IRModule module, const BuildOptions& options,
                                        bool has_passes) {
  BYOC_TRY(PassContext context, make_context(module, options));
  const auto passes = has_passes ? passes_before_codegen(context) : passes_after_fusion(context);
  BYOC_TRY(module, run_passes(std::move(module), passes, context));
  std::vector<OwnPoint> out;
  for (const Region& region : distinct_regions(module)) {
    OwnPoint one{region.symbols, region.locs, "", ""};
    BYOC_TRY(std::optional<KnobbedRegion> found, knobbed(module, region, context));
    if (found) one.text = found->space.task, one.point = print(found->space.guesses.at(0));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<Pass> passes_before_codegen(const PassContext& context) {
  std::vector<Pass> passes = Pipeline::whole(context);
  auto end = std::ranges::find(passes, "run_codegen", &Pass::name);
  BYOC_CHECK(end != passes.end(), "a whole pipeline without run_codegen");
  passes.erase(end, passes.end());
  return passes;
}

std::vector<Region> distinct_regions(const IRModule& module) {
  const std::unordered_map<Symbol, size_t> calls = count_calls(module);
  std::unordered_map<std::string, size_t> index;  // by region_key
  std::vector<Region> out;
  for (const auto& [name, function] : module.functions) {
    if (!is_region(module, name, function)) continue;
    auto [at, is_new] = index.try_emplace(region_key(module, function), out.size());
    if (is_new) out.push_back({&function, name, {}, {}, 0});
    BYOC_CHECK(at->second < out.size(), "region ", at->second, " of ", out.size());
    Region& region = out[at->second];
    region.symbols.push_back(name.str());
    for (Symbol loc : all_locs(module, function)) region.locs.push_back(loc.str());
    if (auto counted = calls.find(name); counted != calls.end()) region.calls += counted->second;
  }
  return out;
}

Result<std::optional<KnobbedRegion>> knobbed(const IRModule& module, const Region& region,
                                             const PassContext& context) {
  BYOC_CHECK(region.function != nullptr, "region ", region.name, " has a function");
  BYOC_TRY_STATUS(check_bounded_types(region));
  BYOC_TRY(const Plugin* plugin,
           context.plugins->get(std::string(region.function->attr("compiler"))));
  CompileFunction input = input_of(module, *region.function, region.name);
  BYOC_TRY(std::optional<Space> space, knob_space(*plugin, input, context));
  if (!space) return std::optional<KnobbedRegion>();
  KnobbedRegion out{.plugin = plugin};
  if (std::string compute = region.function->attr(kComputeKnob); !compute.empty()) {
    BYOC_TRY(*space, narrowed(*std::move(space), kComputeKnob, compute));
    out.has_choice = size_of(*space) >= 2;
  }
  out.input = std::move(input), out.space = *std::move(space);
  return std::optional(std::move(out));
}

Result<std::vector<OwnPoint>> own_points(IRModule module, const BuildOptions& options,
                                         bool has_passes) {
  if (options.report != nullptr || !options.instruments.empty())
    return points_in(std::move(module), options, has_passes);
  InternArena arena;  // points contain no interned values
  InternScope scope(arena);
  return points_in(std::move(module), options, has_passes);
}

}  // namespace byoc::tune
