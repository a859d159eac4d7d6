// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <unordered_set>

#include "byoc/import.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/inputs.h"

namespace byoc {
namespace {

Result<std::vector<ModelInput>> read_inputs(const std::string& path) {
  BYOC_TRY(auto model, onnx_import::read_model_file(path));
  std::unordered_set<std::string> initializers;
  for (const auto& tensor : model->graph().initializer()) initializers.insert(tensor.name());
  std::vector<ModelInput> inputs;
  for (const auto& info : model->graph().input()) {
    BYOC_TRY(ModelInput input, onnx_import::describe_input(info));
    input.has_default = initializers.count(info.name()) > 0;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace

Result<std::vector<ModelInput>> onnx_inputs(const std::string& path) {
  try {
    auto inputs = read_inputs(path);
    if (!inputs.ok()) return std::move(inputs.status()).at(path);
    return inputs;
  } catch (const std::exception& e) {  // allocation fails in a library
    return Status(Code::kResourceExhausted, cat("reading ", path, " failed: ", e.what()))
        .with_slug("model-file");
  }
}

}  // namespace byoc
