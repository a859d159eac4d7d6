// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs for the attributes of nodes with control flow.
#include "unit/import/onnx_models.h"

namespace byoc::test {

/// A graph for an attribute, in parts.
struct InnerGraph {
  onnx::GraphProto proto;

  InnerGraph& input(const std::string& name) {
    proto.add_input()->set_name(name);
    return *this;
  }
  InnerGraph& output(const std::string& name) {
    proto.add_output()->set_name(name);
    return *this;
  }
  InnerGraph& node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
    auto* node = proto.add_node();
    node->set_op_type(op);
    for (const auto& text : inputs) node->add_input(text);
    for (const auto& text : outputs) node->add_output(text);
    return *this;
  }
};

inline void set_graph(onnx::NodeProto& node, const std::string& attr, const InnerGraph& graph) {
  auto* attribute = node.add_attribute();
  attribute->set_name(attr);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  *attribute->mutable_g() = graph.proto;
}

inline void set_ints(onnx::NodeProto& node, const std::string& attr,
                     const std::vector<int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(attr);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

inline void add_scalar(OnnxModel& model, const std::string& name, int64_t value, int dtype) {
  auto* tensor = model.graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(dtype);
  if (dtype == onnx::TensorProto::INT64) tensor->add_int64_data(value);
  else tensor->add_int32_data(static_cast<int32_t>(value));
}

}  // namespace byoc::test
