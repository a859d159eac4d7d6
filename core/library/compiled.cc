// SPDX-License-Identifier: Apache-2.0
#include "core/library/compiled.h"

#include "byoc/base/clock.h"
#include "core/library/request.h"
#include "core/tools/sizes/open_ranges.h"
#include "core/tools/sizes/open_sizes.h"
#include "core/tools/sizes/size_lists.h"
#include "runtime/limits/limits.h"

namespace byoc {

namespace driver {
namespace {

/// Replaces constants that an earlier size has as well by those, so that memory holds them once.
void share_constants(const std::vector<SizedExecutable>& sizes, Executable& executable) {
  for (auto& [key, buffer] : executable.constants) {
    for (const SizedExecutable& size : sizes) {
      auto found = size.executable.constants.find(key);
      if (found != size.executable.constants.end()) buffer = found->second;
    }
  }
}

}  // namespace

Result<CompiledModel> compile_file(const ModelOptions& options, const CompileHooks& hooks) {
  CompiledModel out;
  BYOC_TRY(const WorkLimits limits, limits_of(options));
  const LimitScope limited(limits);
  BYOC_TRY(BuildOptions build_with, build_options(options));
  out.plugins = build_with.plugins;
  BYOC_TRY(auto choices, expand_sizes(options[option::kShape]));
  build_with.shared_weights = build_with.shared_weights || choices.size() > 1;
  BuildOptions reported = build_with;
  reported.report = &out.report;
  reported.compile_only = true;
  for (SizeChoice& choice : choices) {
    ModelOptions model = options;
    model[option::kShape] = std::move(choice.shapes);
    BYOC_TRY(RangedModel loaded, load_ranged(model));
    out.ranges = std::move(loaded.ranges);
    if (hooks.imported) BYOC_TRY_STATUS(hooks.imported(loaded.module, build_with));
    const uint64_t begin_ns = now_ns();
    BYOC_TRY(Executable executable, hooks.build ? hooks.build(std::move(loaded.module), reported)
                                                : build(std::move(loaded.module), reported));
    out.compile_ns += ns_since(begin_ns);
    share_constants(out.sizes, executable);
    out.sizes.push_back({std::move(choice.label), std::move(executable)});
  }
  return out;
}

}  // namespace driver

Result<std::vector<SizedExecutable>> compile_model(const ModelRequest& request) {
  driver::ModelOptions options = driver::options_of(request);
  if (!request.inputs.empty())
    BYOC_TRY_STATUS(driver::set_open_sizes(options, request.inputs).status());
  uint64_t built = 0;
  const SpillScope spill = driver::spill_for_runs();
  driver::CompileHooks hooks;
  hooks.build = [&](IRModule module, BuildOptions build_with) -> Result<Executable> {
    if (request.progress) request.progress("compiling", built++, 0);
    build_with.report = nullptr;  // which would keep names of the model after the call
    return build(std::move(module), build_with);
  };
  BYOC_TRY(driver::CompiledModel compiled, driver::compile_file(options, hooks));
  return std::move(compiled.sizes);
}

}  // namespace byoc
