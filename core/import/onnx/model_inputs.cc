// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <set>
#include <unordered_set>

#include "byoc/import.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/inputs.h"

namespace byoc {
namespace {

Result<std::vector<ModelInput>> read_inputs(const std::string& path) {
  BYOC_TRY(const auto file, onnx_import::read_model_file(path));
  std::unordered_set<std::string> initializers;
  for (const auto& tensor : file.model->graph().initializer()) initializers.insert(tensor.name());
  std::vector<ModelInput> inputs;
  for (const auto& info : file.model->graph().input()) {
    BYOC_TRY(ModelInput input, onnx_import::describe_input(info));
    input.has_default = initializers.count(info.name()) > 0;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<std::string>> read_operators(const std::string& path) {
  BYOC_TRY(const auto file, onnx_import::read_model_file(path));
  std::set<std::string> operators;
  for (const auto& node : file.model->graph().node()) operators.insert(node.op_type());
  return std::vector<std::string>(operators.begin(), operators.end());
}

// Returns the result of `read` for the file; errors name the file.
template <typename T>
Result<T> read_from(const std::string& path, Result<T> (*read)(const std::string&)) {
  try {
    auto value = read(path);
    if (!value.ok()) return std::move(value.status()).at(path);
    return value;
  } catch (const std::exception& e) {  // allocation fails in a library
    return Status(Code::kResourceExhausted, cat("reading ", path, " failed: ", e.what()))
        .with_slug("model-file");
  }
}

}  // namespace

Result<std::vector<ModelInput>> onnx_inputs(const std::string& path) {
  return read_from(path, read_inputs);
}

Result<std::vector<std::string>> onnx_operators(const std::string& path) {
  return read_from(path, read_operators);
}

}  // namespace byoc
