// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/region_limits.h"

#include <algorithm>

#include "byoc/pass/partition.h"
#include "core/tools/model/execute.h"
#include "core/tools/rounding/limits.h"
#include "core/tools/rounding/moved_rounding.h"

namespace byoc::driver {
namespace {

/// Runs all regions on right inputs by the reference, with moved rounding.
Result<std::vector<Tensor>> run_moved(const RegionValues& values, const CutModule& cut,
                                      const IRModule& plain, Moved which) {
  const PassContext& context = values.reference();
  BYOC_TRY(Executable executable, compile_regions(with_moved_rounding(plain, which), context));
  BYOC_TRY(auto inputs, values.inputs_of(cut));
  return execute(std::move(executable), context.plugins, context.threads, inputs);
}

const Tensor* at(const std::vector<Tensor>& tensors, size_t k) {
  return k < tensors.size() ? &tensors[k] : nullptr;
}

}  // namespace

double border_tolerance(const IRModule& module, double tolerance) {
  if (tolerance >= 0) return tolerance;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) {
        const DType dtype = node.types[k]->dtype;
        if (dtype == DType::kF16 || dtype == DType::kBF16)
          tolerance = std::max(tolerance, default_tolerance(dtype));
      }
    }
  }
  return tolerance;
}

Result<RegionLimits> region_limits(const RegionValues& values, double tolerance) {
  const ProbedModule& probed = values.probed();
  RegionLimits out;
  out.steps.resize(probed.values.size());
  out.limits.resize(probed.values.size(), {.tolerance = tolerance});
  if (!values.rounds()) return out;
  const CutModule cut = cut_at_borders(probed);
  IRModule plain = with_all_regions_for(cut.module, values.reference_plugin());
  BYOC_TRY(plain, inline_composites(std::move(plain), {}, values.reference()));
  for (const RegionCall& region : probed.regions) {
    std::vector<ValueSteps> steps = result_steps(plain, plain.function(region.function));
    for (size_t k = 0; k < region.num_outputs; ++k)
      out.steps[region.first_output + k] = std::move(steps[k]);
  }
  std::vector<Tensor> some, last;
  if (needs_some(out.steps)) {
    BYOC_TRY(some, run_moved(values, cut, plain, Moved::kSome));
  }
  if (needs_last(out.steps)) {
    BYOC_TRY(last, run_moved(values, cut, plain, Moved::kLast));
  }
  for (size_t k = 0; k < out.steps.size(); ++k) {
    out.limits[k] = limit_of(out.steps[k], {&values.right()[k], at(some, k), at(last, k)},
                             tolerance, values.reference_plugin());
  }
  return out;
}

bool rounds_several_times(const RegionLimits& limits, const RegionCall& region) {
  const auto steps = std::span(limits.steps).subspan(region.first_output, region.num_outputs);
  return needs_some(steps) || needs_last(steps);
}

std::vector<Limit> part_limits(const IRModule& plain, Symbol region, double tolerance) {
  const Function& function = plain.function(region);
  std::vector<Limit> out(function.results.size(), Limit{.tolerance = tolerance});
  const std::vector<ValueSteps> steps = result_steps(plain, function);
  for (size_t k = 0; k < out.size(); ++k) {
    if (steps[k].has_size()) out[k] = limit_of(steps[k], {}, tolerance, "");
  }
  return out;
}

}  // namespace byoc::driver
