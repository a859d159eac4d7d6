// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as commands state it: a file, and options by name. byoc/explain.h, verify.h, place.h and
// tune.h work on it, and the commands of these names call them.
#include <functional>

#include "byoc/options.h"
#include "byoc/runtime/sizes.h"

namespace byoc {

/// Called during long work: what is done, and how much of it; `total` 0 means that it is not known.
/// Called by the thread that called byoc.
using OnProgress = std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

/// A model's file and the way to compile it.
struct ModelRequest {
  std::string path;      ///< .onnx or .ir, or a folder with one such file
  OptionValues options;  ///< as the flags of commands
  /// Values of inputs, "x=a.npy" or "x=f32[1,3]=0.5", as --input; the others are random. They also
  /// set open sizes.
  std::vector<std::string> inputs;
  const Cancellation* cancel = nullptr;  ///< ends compiling; null: it cannot be ended
  OnProgress progress;                   ///< may be empty
};

/// Sets an option from text, as on a command line: set_option(request, "compiler", "onednn,llvm"),
/// set_option(request, "strict"). Options that may be repeated get one more value. Errors: slug
/// "usage", with the nearest name.
Status set_option(ModelRequest& request, std::string_view name, const std::string& value = "");

/// Reads the model; --shape, --bind and `inputs` set its open sizes. Errors: slug "model-file",
/// those of import_onnx.
Result<IRModule> load_model(const ModelRequest& request);
/// Loads the plugins and returns the options of build(). Errors: slug "usage", "plugin-option",
/// "plugin-refused".
Result<BuildOptions> build_options(const ModelRequest& request);

/// Compiles the model, once for each size when --shape lists several ("N=1,4"). The result can be
/// saved (byoc/runtime/sizes.h) or loaded. Costs a build per size. Errors: those of load_model,
/// build_options and build().
Result<std::vector<SizedExecutable>> compile_model(const ModelRequest& request);

}  // namespace byoc
