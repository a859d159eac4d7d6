// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions as ONNX models, in memory and in artifacts.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/base/status.h"

namespace byoc::ort_plugin {

/// An input or an output of a model.
struct Value {
  std::string name;
  int element = 0;  // ONNX's number of the element type
};

/// A constant that the model names, and the session gets.
struct Weight {
  Value value;
  std::vector<int64_t> dims;
  ContentKey key;  // of its bytes
  size_t size = 0;
};

struct Model {
  std::string bytes;  // ModelProto
  std::vector<Value> inputs, outputs;
  std::vector<Weight> weights;
};

/// Finds the bytes of a constant of the graph; null: the constant becomes an input of the model.
using FindConstant = std::function<std::shared_ptr<const Buffer>(const ContentKey&)>;

/// Writes a function, which is graph JSON. Errors: those of read_graph_json and make_onnx.
Result<Model> model_of(std::string_view graph_json, const FindConstant& find);

/// A function of an artifact.
struct SavedModel {
  std::string symbol, signature;
  std::vector<uint8_t> const_use;  // byoc_const_use per constant
  Model model;
};
/// Appends the bytes of a function, which read_models reads.
void write_model(const SavedModel& saved, std::string& out);
/// Reads all functions. Errors: kDataLoss for bytes that are cut short or changed.
Result<std::vector<SavedModel>> read_models(std::string_view bytes);

}  // namespace byoc::ort_plugin
