// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/runnable.h"

#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"

namespace byoc::driver {

Status check_artifact_flags(const ModelOptions& options) {
  bool compiles = !options.shapes.empty() || !options.bind.empty() || !options.compilers.empty() ||
                  !options.default_codegen.empty() || options.exact_sums;
  if (!compiles) return {};
  return cli::usage_error(
      "--shape, --bind, --compiler, --default and --exact-sums change compiling; the model is "
      "compiled already");
}

Result<Runnable> make_runnable(const ModelOptions& options, const std::string& path,
                               const cli::CommonOptions& common) {
  Runnable out;
  if (is_artifact(path)) {
    BYOC_TRY_STATUS(check_artifact_flags(options));
    BYOC_TRY(out.plugins, load_plugins(options.plugins, common));
    BYOC_TRY(out.executable, load_artifact(path));
    return out;
  }
  BYOC_TRY(IRModule module, load_model(options));
  BYOC_TRY(BuildOptions build_with, build_options(options, common));
  out.plugins = build_with.plugins;
  CompileProgress progress(user_cancellation(), common);
  BYOC_TRY(out.executable, build(std::move(module), build_with));
  return out;
}

}  // namespace byoc::driver
