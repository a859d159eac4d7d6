// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implements OnnxNode, the interface of the op tables, for a NodeProto.
#include <onnx/onnx_pb.h>

#include "core/import/onnx/convert.h"
#include "core/import/onnx/file/external_data.h"

namespace byoc::onnx_import {

class NodeView final : public OnnxNode {
 public:
  /// Borrows `node` and `folder`.
  NodeView(const onnx::NodeProto& node, int opset, const ExternalFolder& folder);
  const std::string& op_type() const override { return node_.op_type(); }
  const std::string& domain() const override { return node_.domain(); }
  const std::string& name() const override { return name_; }
  int opset() const override { return opset_; }
  size_t num_inputs() const override { return num_inputs_; }
  size_t num_outputs() const override { return num_outputs_; }
  bool has_input(size_t k) const override { return k < num_inputs_ && !input(k).empty(); }
  bool has_output(size_t k) const override { return k < num_outputs_ && !output(k).empty(); }
  bool has(std::string_view attr) const override { return find(attr) != nullptr; }
  int64_t i(std::string_view attr, int64_t fallback) const override;
  double f(std::string_view attr, double fallback) const override;
  std::string s(std::string_view attr, std::string_view fallback) const override;
  Ints ints(std::string_view attr) const override;
  Floats floats(std::string_view attr) const override;
  Strings strings(std::string_view attr) const override;
  int32_t tensor_dtype(std::string_view attr) const override;
  Result<std::pair<TensorType, std::shared_ptr<const Buffer>>> tensor(
      std::string_view attr) const override;

  const ExternalFolder& folder() const { return folder_; }  // of the model
  const std::string& input(size_t k) const;
  const std::string& output(size_t k) const;
  /// Returns an error for the first attribute that was read as a wrong kind; ok when there is none.
  const Status& status() const { return status_; }

 private:
  const onnx::AttributeProto* find(std::string_view attr) const;
  const onnx::AttributeProto* find(std::string_view attr,
                                   onnx::AttributeProto::AttributeType kind) const;

  const onnx::NodeProto& node_;
  const ExternalFolder& folder_;
  int opset_;
  std::string name_;
  size_t num_inputs_, num_outputs_;
  mutable Status status_;
};

/// Returns the name of the first attribute that holds a graph, as those of "If" do, or "".
std::string subgraph_attribute(const onnx::NodeProto& node);
/// Returns the graphs that the node's attributes hold.
std::vector<const onnx::GraphProto*> subgraphs(const onnx::NodeProto& node);
/// Returns the graph of an attribute. Errors: slug "onnx-parse" when it is missing.
Result<onnx::GraphProto*> subgraph(onnx::NodeProto& node, std::string_view attr);

}  // namespace byoc::onnx_import
