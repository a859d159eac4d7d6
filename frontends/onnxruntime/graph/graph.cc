// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/graph.h"

#include <algorithm>
#include <unordered_map>

#include "frontends/onnxruntime/graph/attributes.h"

namespace byoc::ort {
namespace {

/// Fills a list by the two functions of a table that return its length and its elements.
template <class Handle, class Of>
Result<std::vector<Handle>> list_of(const Calls& calls, OrtStatus* (*count)(const Of*, size_t*),
                                    OrtStatus* (*fill)(const Of*, Handle*, size_t), const Of* of) {
  size_t size = 0;
  BYOC_TRY_STATUS(take(calls, count(of, &size)));
  std::vector<Handle> out(size);
  if (size > 0) BYOC_TRY_STATUS(take(calls, fill(of, out.data(), size)));
  return out;
}

constexpr int kMostDepth = 8;                         // of graphs of nodes
constexpr uint32_t kPassesCaptured = 32;              // the version of ONNX Runtime that does
constexpr int kInt64Elements = 7, kBoolElements = 9;  // of ONNX

/// Reads one graph. Values are known by their names, which are unique in a graph.
class Reader {
 public:
  /// `depth` counts the graphs around this one.
  Reader(const Calls& calls, const OrtGraph* graph, int depth = 0)
      : calls_(calls), graph_(graph), depth_(depth) {}

  Result<Graph> run() {
    const OrtNode* parent = nullptr;
    BYOC_ORT_TRY(calls_, Graph_GetParentNode(graph_, &parent));
    size_t inputs = 0;
    BYOC_ORT_TRY(calls_, Graph_GetNumInputs(graph_, &inputs));
    // ONNX Runtime 1.23 has no parent for the graphs of nodes, and ends a session in which two of
    // them have groups. There, graphs without inputs, bodies of loops, and graphs with values from
    // outside count as such.
    out_.is_nested = parent != nullptr || (is_old() && inputs == 0);
    if (is_old() && !out_.is_nested) {
      BYOC_TRY(out_.is_nested, is_loop_body());
    }
    BYOC_TRY_STATUS(read_opsets());
    BYOC_TRY(auto nodes, list_of(calls_, calls_.Graph_GetNumNodes, calls_.Graph_GetNodes, graph_));
    for (const OrtNode* node : nodes) BYOC_TRY_STATUS(read_node(node));
    out_.hides_bodies = is_old();
    out_.passes_captured = calls_.runtime_minor >= kPassesCaptured;
    return std::move(out_);
  }

  Result<Graph> run_body() {
    out_.is_nested = true;
    BYOC_TRY(auto inputs,
             list_of(calls_, calls_.Graph_GetNumInputs, calls_.Graph_GetInputs, graph_));
    BYOC_TRY(out_.inputs, values_of(inputs));
    BYOC_TRY(auto nodes, list_of(calls_, calls_.Graph_GetNumNodes, calls_.Graph_GetNodes, graph_));
    for (const OrtNode* node : nodes) BYOC_TRY_STATUS(read_node(node));
    BYOC_TRY(auto outputs,
             list_of(calls_, calls_.Graph_GetNumOutputs, calls_.Graph_GetOutputs, graph_));
    BYOC_TRY(out_.outputs, values_of(outputs));
    return std::move(out_);
  }

 private:
  bool is_old() const { return calls_.TensorTypeAndShape_HasShape == nullptr; }

  // Returns whether the inputs are those of a Loop's body: an i64 and a bool without dims, or, in a
  // function of the model, without types.
  Result<bool> is_loop_body() {
    BYOC_TRY(auto inputs,
             list_of(calls_, calls_.Graph_GetNumInputs, calls_.Graph_GetInputs, graph_));
    if (inputs.size() < 2) return false;
    Value iteration, condition;
    BYOC_TRY_STATUS(read_type(inputs[0], iteration));
    BYOC_TRY_STATUS(read_type(inputs[1], condition));
    auto is_one = [](const Value& value, int element) {
      return (value.element == element || value.element == 0) && value.dims.empty();
    };
    return is_one(iteration, kInt64Elements) && is_one(condition, kBoolElements);
  }

  Status read_opsets() {
    size_t count = 0;
    BYOC_ORT_TRY(calls_, Graph_GetNumOperatorSets(graph_, &count));
    std::vector<const char*> domains(count);
    std::vector<int64_t> versions(count);
    if (count > 0)
      BYOC_ORT_TRY(calls_, Graph_GetOperatorSets(graph_, domains.data(), versions.data(), count));
    for (size_t k = 0; k < count; ++k) out_.opsets.emplace_back(domains[k], versions[k]);
    std::sort(out_.opsets.begin(), out_.opsets.end());
    return {};
  }

  Status read_node(const OrtNode* handle) {
    Node node;
    node.handle = handle;
    const char *name = nullptr, *op_type = nullptr, *domain = nullptr;
    BYOC_ORT_TRY(calls_, Node_GetName(handle, &name));
    BYOC_ORT_TRY(calls_, Node_GetOperatorType(handle, &op_type));
    BYOC_ORT_TRY(calls_, Node_GetDomain(handle, &domain));
    node.name = name, node.op_type = op_type, node.domain = domain;
    BYOC_TRY(auto inputs, list_of(calls_, calls_.Node_GetNumInputs, calls_.Node_GetInputs, handle));
    BYOC_TRY(node.inputs, values_of(inputs));
    BYOC_TRY(auto implicit, list_of(calls_, calls_.Node_GetNumImplicitInputs,
                                    calls_.Node_GetImplicitInputs, handle));
    BYOC_TRY(node.implicit_inputs, values_of(implicit));
    BYOC_TRY(auto outputs,
             list_of(calls_, calls_.Node_GetNumOutputs, calls_.Node_GetOutputs, handle));
    BYOC_TRY(node.outputs, values_of(outputs));
    node.is_context = node.op_type == kContextOp && node.domain == kContextDomain;
    if (node.is_context) {  // the program in its attributes may be large, and is read when it runs
      BYOC_TRY(auto source, find_attribute(calls_, handle, "source", OrtAttribute::kString));
      node.source = source.value_or("");
    } else {
      BYOC_TRY_STATUS(read_attributes(node));
    }
    BYOC_TRY_STATUS(read_bodies(node));
    out_.nodes.push_back(std::move(node));
    return {};
  }

  Status read_bodies(Node& node) {
    size_t count = 0;
    BYOC_ORT_TRY(calls_, Node_GetNumSubgraphs(node.handle, &count));
    if (count == 0) return {};
    if (depth_ >= kMostDepth) {
      node.unreadable = cat("graphs in more than ", kMostDepth, " others");
      return {};
    }
    std::vector<const OrtGraph*> graphs(count);
    std::vector<const char*> names(count);
    BYOC_ORT_TRY(calls_, Node_GetSubgraphs(node.handle, graphs.data(), count, names.data()));
    for (size_t k = 0; k < count; ++k) {
      BYOC_TRY(Graph body, Reader(calls_, graphs[k], depth_ + 1).run_body());
      for (const Value& value : body.values) {
        if (value.is_outer && !reads(node, value.name))
          node.unreadable = cat("the value '", value.name, "' to a graph that reads it");
      }
      node.bodies.push_back({names[k], std::move(body)});
    }
    return {};
  }

  bool reads(const Node& node, const std::string& name) const {
    return std::ranges::any_of(node.implicit_inputs, [&](int32_t value) {
      return value != Node::kNone && out_.values[static_cast<size_t>(value)].name == name;
    });
  }

  Status read_attributes(Node& node) {
    BYOC_TRY(auto attributes,
             list_of(calls_, calls_.Node_GetNumAttributes, calls_.Node_GetAttributes, node.handle));
    for (const OrtOpAttr* attribute : attributes) {
      if (attribute == nullptr) continue;
      int type = 0;
      BYOC_ORT_TRY(calls_, OpAttr_GetType(attribute, &type));
      if (type == static_cast<int>(OrtAttribute::kGraph)) continue;  // a body
      Result<std::string> read = read_attribute(calls_, attribute);
      if (read.ok()) node.attributes.push_back(*std::move(read));
      else node.unreadable = cat(read.status().message(), " (", read.status().where(), ")");
    }
    return {};
  }

  Result<std::vector<int32_t>> values_of(const std::vector<const OrtValueInfo*>& handles) {
    std::vector<int32_t> out;
    for (const OrtValueInfo* handle : handles) {
      const char* name = "";
      if (handle != nullptr) BYOC_ORT_TRY(calls_, GetValueInfoName(handle, &name));
      if (*name == '\0') {
        out.push_back(Node::kNone);
        continue;
      }
      const auto next = static_cast<int32_t>(out_.values.size());
      auto [found, fresh] = by_name_.emplace(name, next);
      if (fresh) BYOC_TRY_STATUS(read_value(handle, name));
      out.push_back(found->second);
    }
    return out;
  }

  Status read_value(const OrtValueInfo* handle, const char* name) {
    Value value;
    value.name = name;
    BYOC_ORT_TRY(calls_, ValueInfo_IsGraphOutput(handle, &value.is_output));
    BYOC_ORT_TRY(calls_, ValueInfo_IsFromOuterScope(handle, &value.is_outer));
    out_.is_nested = out_.is_nested || value.is_outer;
    BYOC_TRY_STATUS(read_type(handle, value));
    BYOC_ORT_TRY(calls_, ValueInfo_IsConstantInitializer(handle, &value.is_constant));
    if (value.is_constant) BYOC_TRY_STATUS(read_constant(handle, value));
    out_.values.push_back(std::move(value));
    return {};
  }

  Status read_type(const OrtValueInfo* handle, Value& value) {
    const OrtTypeInfo* type = nullptr;
    const OrtTensorInfo* info = nullptr;
    int kind = 0;
    BYOC_ORT_TRY(calls_, GetValueInfoTypeInfo(handle, &type));
    if (type == nullptr) return {};
    BYOC_ORT_TRY(calls_, GetOnnxTypeFromTypeInfo(type, &kind));
    if (kind != kOrtTensor) return {};
    BYOC_ORT_TRY(calls_, CastTypeInfoToTensorInfo(type, &info));
    if (info == nullptr) return {};
    BYOC_ORT_TRY(calls_, GetTensorElementType(info, &value.element));
    size_t rank = 0;
    BYOC_ORT_TRY(calls_, GetDimensionsCount(info, &rank));
    // Before 1.24 a tensor of unknown rank reads as a scalar.
    value.has_rank = is_old() ? rank > 0 : calls_.TensorTypeAndShape_HasShape(info);
    if (rank == 0) return {};
    std::vector<const char*> names(rank);
    value.dims.resize(rank);
    BYOC_ORT_TRY(calls_, GetDimensions(info, value.dims.data(), rank));
    BYOC_ORT_TRY(calls_, GetSymbolicDimensions(info, names.data(), rank));
    for (const char* size : names) value.sizes.emplace_back(size == nullptr ? "" : size);
    return {};
  }

  Status read_constant(const OrtValueInfo* handle, Value& value) {
    const OrtValue* tensor = nullptr;
    BYOC_ORT_TRY(calls_, ValueInfo_GetInitializerValue(handle, &tensor));
    if (tensor == nullptr) return value.is_constant = false, Status();
    Result<TensorView> view = view_of(calls_, tensor);
    if (!view.ok()) return value.element = 0, Status();  // its readers are left out
    value.element = view->element;
    value.dims = view->dims;
    value.has_rank = true;
    value.constant = view->bytes;
    return {};
  }

  const Calls& calls_;
  const OrtGraph* graph_;
  const int depth_;
  Graph out_;
  std::unordered_map<std::string, int32_t> by_name_;
};

Result<std::vector<std::string>> names_of(const Calls& calls,
                                          const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> out;
  for (const OrtValueInfo* value : values) {
    const char* name = "";
    if (value != nullptr) BYOC_ORT_TRY(calls, GetValueInfoName(value, &name));
    out.emplace_back(name);
  }
  return out;
}

}  // namespace

bool Value::is_static() const {
  return has_rank && std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

bool is_own_context(const Node& node) { return node.is_context && node.source == kProviderName; }

Result<Graph> read_graph(const Calls& calls, const OrtGraph* graph) {
  return Reader(calls, graph).run();
}

Result<std::vector<std::string>> input_names(const Calls& calls, const OrtNode* node) {
  BYOC_TRY(auto values, list_of(calls, calls.Node_GetNumInputs, calls.Node_GetInputs, node));
  return names_of(calls, values);
}

Result<std::vector<std::string>> output_names(const Calls& calls, const OrtNode* node) {
  BYOC_TRY(auto values, list_of(calls, calls.Node_GetNumOutputs, calls.Node_GetOutputs, node));
  return names_of(calls, values);
}

}  // namespace byoc::ort
