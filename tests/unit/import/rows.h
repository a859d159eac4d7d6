#pragma once
// One ONNX node as a model: its attributes, and what became of it.
#include "byoc/ir/text.h"
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
inline onnx::TensorProto& ints(OnnxModel& model, const std::string& name,
                               const std::vector<int64_t>& values) {
  auto* tensor = model.graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor->add_int64_data(value);
  return *tensor;
}

/// The ops of "main", one a line, without locations; or the error.
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

}  // namespace byoc::test
