// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/body.h"

#include <unordered_map>

#include "frontends/onnxruntime/graph/attributes.h"
#include "frontends/onnxruntime/graph/model.h"

namespace byoc::ort {
namespace {

// Fields of AttributeProto, and the type of a graph. Source: onnx.proto of ONNX.
constexpr uint32_t kAttributeName = 1, kAttributeGraph = 6, kAttributeType = 20;
constexpr int64_t kTypeGraph = 5;

/// Writes one body. Its values are "b3_v0" and so on in the third body of a model; its constants
/// are in it.
class BodyWriter {
 public:
  BodyWriter(const Body& body, uint32_t number, const NameOutside& outside, size_t& bodies)
      : graph_(body.graph), number_(number), outside_(outside), bodies_(bodies), own_(bodies++) {}

  Message run(const std::string& attribute) {
    for (int32_t value : graph_.inputs) out_.message(graph_field::kInput, value_info(value));
    const NameOfValue name = [&](int32_t value) { return name_of(value); };
    for (const Node& node : graph_.nodes)
      out_.message(graph_field::kNode, write_node(graph_, node, number_, name, bodies_));
    out_.bytes(graph_field::kName, cat("body", own_));
    for (int32_t value : graph_.outputs) out_.message(graph_field::kOutput, value_info(value));
    Message to;
    to.bytes(kAttributeName, attribute);
    to.message(kAttributeGraph, out_);
    to.number(kAttributeType, kTypeGraph);
    return to;
  }

 private:
  std::string name_of(int32_t number) {
    const Value& value = graph_.values[static_cast<size_t>(number)];
    if (value.is_outer) return outside_(value.name);
    auto [found, fresh] = names_.try_emplace(number);
    if (!fresh) return found->second;
    found->second = cat("b", own_, "_v", names_.size() - 1);
    if (value.is_constant) {
      Message tensor = tensor_head(found->second, value.element, value.dims);
      tensor.bytes(kRawData,
                   {reinterpret_cast<const char*>(value.constant.data()), value.constant.size()});
      out_.message(graph_field::kInitializer, tensor);
    }
    return found->second;
  }

  /// Shapes are left out: byoc has them from the operands of the node.
  Message value_info(int32_t number) {
    Message tensor, type, out;
    tensor.number(type_field::kElement, graph_.values[static_cast<size_t>(number)].element);
    type.message(type_field::kTensor, tensor);
    out.bytes(value_field::kName, name_of(number));
    out.message(value_field::kType, type);
    return out;
  }

  const Graph& graph_;
  const uint32_t number_;
  const NameOutside& outside_;
  size_t& bodies_;
  const size_t own_;
  Message out_;
  std::unordered_map<int32_t, std::string> names_;
};

}  // namespace

std::string name_in_model(uint32_t node, const std::string& name) {
  return cat(kNodePrefix, node, " ", name);
}

Message write_node(const Graph& graph, const Node& node, uint32_t number,
                   const NameOfValue& name_of, size_t& bodies) {
  const auto name_or_none = [&](int32_t value) {
    return value == Node::kNone ? std::string() : name_of(value);
  };
  const NameOutside outside = [&](const std::string& name) {
    for (int32_t value : node.implicit_inputs) {
      if (value != Node::kNone && graph.values[static_cast<size_t>(value)].name == name)
        return name_of(value);
    }
    return name;  // not there: read_graph leaves such nodes
  };
  Message out;
  for (int32_t value : node.inputs) out.bytes(node_field::kInput, name_or_none(value));
  for (int32_t value : node.outputs) out.bytes(node_field::kOutput, name_or_none(value));
  out.bytes(node_field::kName, name_in_model(number, node.name));
  out.bytes(node_field::kOp, node.op_type);
  for (const AttributeBytes& attribute : node.attributes)
    out.bytes(node_field::kAttribute, attribute);
  for (const Body& body : node.bodies)
    out.message(node_field::kAttribute,
                BodyWriter(body, number, outside, bodies).run(body.attribute));
  out.bytes(node_field::kDomain, node.domain);
  return out;
}

}  // namespace byoc::ort
