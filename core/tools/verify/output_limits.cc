// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/output_limits.h"

#include <algorithm>
#include <functional>
#include <map>

#include "byoc/base/check.h"
#include "byoc/ir/states.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/rounding/limits.h"
#include "core/tools/rounding/moved_rounding.h"

namespace byoc::driver {
namespace {

Result<std::vector<Tensor>> run_moved(const IRModule& module, Moved which,
                                      const BuildOptions& build_with,
                                      const ReferenceRun& reference) {
  BYOC_TRY(Executable executable,
           build(with_moved_rounding(module, which), all_by(reference.plugin, build_with)));
  return execute(std::move(executable), build_with.plugins, build_with.threads, reference.inputs);
}

/// Returns a value per parameter of the entry: zeros for states.
Result<std::vector<Tensor>> with_zero_states(const Function& entry,
                                             const std::vector<StatePair>& states,
                                             std::span<const Tensor> given) {
  std::map<uint32_t, const TensorType*> zeros;
  for (const StatePair& pair : states) zeros[pair.param] = &*entry.nodes[pair.param].types[0];
  BYOC_CHECK(given.size() + zeros.size() == entry.num_params(), given.size(), " inputs and ",
             zeros.size(), " states for ", entry.num_params(), " parameters");
  std::vector<Tensor> out;
  for (uint32_t k = 0; k < entry.num_params(); ++k) {
    const auto zero = zeros.find(k);
    BYOC_TRY(Tensor value,
             zero == zeros.end()
                 ? given[k - std::distance(zeros.begin(), zeros.lower_bound(k))].copy()
                 : Tensor::make({zero->second->dtype, static_extents(zero->second->shape)}));
    out.push_back(std::move(value));
  }
  return out;
}

const Tensor* at(const std::vector<Tensor>& tensors, size_t k) {
  return k < tensors.size() ? &tensors[k] : nullptr;
}

}  // namespace

Result<std::vector<Limit>> output_limits(const IRModule& module, const BuildOptions& build_with,
                                         const ReferenceRun& reference,
                                         std::span<const Tensor> right, double tolerance) {
  std::vector<Limit> out(right.size(), Limit{.tolerance = tolerance});
  const Function* entry = module.find(module.entry);
  if (entry == nullptr || !rounds(module)) return out;
  const std::vector<ValueSteps> steps = result_steps(module, *entry);
  BYOC_CHECK(steps.size() == right.size(), steps.size(), " results, ", right.size(), " outputs");
  std::vector<Tensor> some, last;
  if (needs_some(steps)) {
    BYOC_TRY(some, run_moved(module, Moved::kSome, build_with, reference));
  }
  if (needs_last(steps)) {
    BYOC_TRY(last, run_moved(module, Moved::kLast, build_with, reference));
  }
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = limit_of(steps[k], {&right[k], at(some, k), at(last, k)}, tolerance, reference.plugin);
  return out;
}

Result<RightOutputs> right_outputs(const IRModule& module, const BuildOptions& build_with,
                                   const ReferenceRun& reference) {
  const Function& entry = module.function(module.entry);
  BYOC_TRY(const std::vector<StatePair> states, states_of(entry));
  BYOC_TRY(const auto inputs, with_zero_states(entry, states, reference.inputs));
  const IRModule stateless = without_states(module);
  BYOC_TRY(Executable executable, build(stateless, all_by(reference.plugin, build_with)));
  RightOutputs out;
  BYOC_TRY(out.values,
           execute(std::move(executable), build_with.plugins, build_with.threads, inputs));
  BYOC_TRY(out.limits,
           output_limits(stateless, build_with, {reference.plugin, inputs}, out.values, -1));
  std::vector<uint32_t> kept;
  for (const StatePair& pair : states) kept.push_back(pair.result);
  std::ranges::sort(kept, std::greater());
  for (uint32_t result : kept) {
    out.values.erase(out.values.begin() + result);
    out.limits.erase(out.limits.begin() + result);
  }
  return out;
}

}  // namespace byoc::driver
