// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/output_limits.h"

#include "byoc/base/check.h"
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

}  // namespace byoc::driver
