#include "core/tools/model/runnable.h"

namespace byoc::driver {

Status check_artifact_flags(const ModelOptions& options) {
  bool compiles = !options.shapes.empty() || !options.bind.empty() || !options.compilers.empty() ||
                  !options.default_codegen.empty();
  if (!compiles) return {};
  return cli::usage_error(
      "--shape, --bind, --compiler and --default say how to compile; the model is compiled "
      "already");
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
  BYOC_TRY(out.executable, build(std::move(module), build_with));
  return out;
}

}  // namespace byoc::driver
