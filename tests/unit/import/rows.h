// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds a model of one ONNX node, and prints the ops that it is imported as.
#include "byoc/text/text.h"
#include "onnx_models.h"

namespace byoc::test {

inline void set(onnx::NodeProto& node, const std::string& name, int value) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::INT);
  attr->set_i(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, float value) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::FLOAT);
  attr->set_f(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const char* value) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::STRING);
  attr->set_s(value);
}
inline void set(onnx::NodeProto& node, const std::string& name,
                const std::vector<int64_t>& values) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attr->add_ints(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const std::vector<float>& values) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::FLOATS);
  for (float value : values) attr->add_floats(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const Strings& values) {
  auto* attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attr->add_strings(value);
}
inline onnx::TensorProto& ints(OnnxModel& model, const std::string& name,
                               const std::vector<int64_t>& values) {
  auto* tensor = model.graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor->add_int64_data(value);
  return *tensor;
}

/// A model of one node with f32 inputs "a", "b", ... of these shapes and outputs "y0", "y1", ...
class OneNode {
 public:
  OneNode(const char* op, int opset, const std::vector<std::vector<DimSpec>>& inputs,
          int outputs = 1)
      : model(opset) {
    auto& node = model.node(op, {}, {}, "n");
    for (size_t k = 0; k < inputs.size(); ++k) {
      std::string name(1, static_cast<char>('a' + k));
      model.input(name, inputs[k]);
      node.add_input(name);
    }
    for (int k = 0; k < outputs; ++k) {
      node.add_output("y" + std::to_string(k));
      model.output("y" + std::to_string(k));
    }
  }
  template <class T>
  OneNode& with(const std::string& attr, const T& value) {
    set(*model.graph().mutable_node(0), attr, value);
    return *this;
  }
  /// Adds a constant as the next input. An empty `name` means that this input is omitted.
  OneNode& constant(const std::string& name, const std::vector<int64_t>& values) {
    if (!name.empty()) ints(model, name, values);
    model.graph().mutable_node(0)->add_input(name);
    return *this;
  }
  OneNode& scalar(const std::string& name, int64_t value) {
    ints(model, name, {value});
    model.graph().mutable_initializer(model.graph().initializer_size() - 1)->clear_dims();
    model.graph().mutable_node(0)->add_input(name);
    return *this;
  }
  OneNode& constant(const std::string& name, const std::vector<float>& values) {
    model.initializer(name, {static_cast<int64_t>(values.size())}, values);
    model.graph().mutable_node(0)->add_input(name);
    return *this;
  }

  OnnxModel model;
};

/// Returns the ops of "main", one per line and without locations, or the error.
inline std::string ops_of(const OnnxModel& model) {
  auto module = model.import();
  if (!module.ok()) return module.status().to_string();
  std::string text = print(module->function("main"), "main"), ops;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find(" = ") == std::string::npos) continue;
    line = line.substr(0, line.find(" loc("));
    ops += line.substr(line.find('%')) + "\n";
  }
  return ops;
}

inline std::string ops_of(const OneNode& node) { return ops_of(node.model); }

}  // namespace byoc::test
