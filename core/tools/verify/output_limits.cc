// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/output_limits.h"

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
  BYOC_CHECK(given.size() + states.size() == entry.num_params(), given.size(), " inputs and ",
             states.size(), " states for ", entry.num_params(), " parameters");
  std::vector<bool> is_state(entry.num_params(), false);
  for (const StatePair& pair : states) is_state[pair.param] = true;
  std::vector<Tensor> out;
  size_t next = 0;  // of the given ones
  for (uint32_t k = 0; k < entry.num_params(); ++k) {
    const TensorType& type = *entry.nodes[k].types[0];
    BYOC_TRY(Tensor value, is_state[k] ? Tensor::make({type.dtype, static_extents(type.shape)})
                                       : given[next++].copy());
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
  std::vector<bool> is_state(out.values.size(), false);
  for (const StatePair& pair : states) is_state.at(pair.result) = true;
  size_t count = 0;  // of those that a run returns
  for (size_t k = 0; k < is_state.size(); ++k) {
    if (is_state[k]) continue;
    if (count != k) {
      out.values[count] = std::move(out.values[k]);
      out.limits[count] = std::move(out.limits[k]);
    }
    ++count;
  }
  out.values.erase(out.values.begin() + static_cast<ptrdiff_t>(count), out.values.end());
  out.limits.erase(out.limits.begin() + static_cast<ptrdiff_t>(count), out.limits.end());
  return out;
}

}  // namespace byoc::driver
