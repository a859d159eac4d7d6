// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/node.h"

#include "byoc/base/check.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"

namespace byoc::onnx_import {
namespace {

using onnx::AttributeProto;

/// Returns the stated kind. Files of IR version 1 state none; the kind is then that of the field
/// that is present.
AttributeProto::AttributeType kind_of(const AttributeProto& attr) {
  if (attr.type() != AttributeProto::UNDEFINED) return attr.type();
  if (attr.has_f()) return AttributeProto::FLOAT;
  if (attr.has_i()) return AttributeProto::INT;
  if (attr.has_s()) return AttributeProto::STRING;
  if (attr.has_t()) return AttributeProto::TENSOR;
  if (attr.has_g()) return AttributeProto::GRAPH;
  if (attr.floats_size()) return AttributeProto::FLOATS;
  if (attr.ints_size()) return AttributeProto::INTS;
  if (attr.strings_size()) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

template <class List>
size_t without_trailing_empty(const List& names) {
  int n = names.size();
  while (n > 0 && names[n - 1].empty()) --n;
  return static_cast<size_t>(n);
}

std::string first_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

}  // namespace

NodeView::NodeView(const onnx::NodeProto& node, int opset, const ExternalFolder& folder)
    : node_(node),
      folder_(folder),
      opset_(opset),
      name_(first_name(node)),
      num_inputs_(without_trailing_empty(node.input())),
      num_outputs_(without_trailing_empty(node.output())) {}

const AttributeProto* NodeView::find(std::string_view attr) const {
  for (const AttributeProto& candidate : node_.attribute()) {
    if (candidate.name() == attr) return &candidate;
  }
  return nullptr;
}

const AttributeProto* NodeView::find(std::string_view attr,
                                     AttributeProto::AttributeType kind) const {
  const AttributeProto* found = find(attr);
  if (found == nullptr || kind_of(*found) == kind) return found;
  // In a file without kinds, an empty list is a list of any kind.
  if (kind_of(*found) == AttributeProto::UNDEFINED) return nullptr;
  if (status_.ok()) {
    status_ = invalid(cat("attribute ", in_quotes(attr), " is ",
                          AttributeProto::AttributeType_Name(kind_of(*found)), ", ", op_type(),
                          " expects ", AttributeProto::AttributeType_Name(kind)))
                  .with_slug("onnx-parse");
  }
  return nullptr;
}

int64_t NodeView::i(std::string_view attr, int64_t fallback) const {
  const AttributeProto* found = find(attr, AttributeProto::INT);
  return found ? found->i() : fallback;
}

double NodeView::f(std::string_view attr, double fallback) const {
  const AttributeProto* found = find(attr, AttributeProto::FLOAT);
  return found ? shortest_double(found->f()) : fallback;
}

std::string NodeView::s(std::string_view attr, std::string_view fallback) const {
  const AttributeProto* found = find(attr, AttributeProto::STRING);
  return found ? found->s() : std::string(fallback);
}

Ints NodeView::ints(std::string_view attr) const {
  const AttributeProto* found = find(attr, AttributeProto::INTS);
  return found ? Ints(found->ints().begin(), found->ints().end()) : Ints{};
}

Floats NodeView::floats(std::string_view attr) const {
  Floats values;
  if (const AttributeProto* found = find(attr, AttributeProto::FLOATS)) {
    for (float value : found->floats()) values.push_back(shortest_double(value));
  }
  return values;
}

Strings NodeView::strings(std::string_view attr) const {
  const AttributeProto* found = find(attr, AttributeProto::STRINGS);
  return found ? Strings(found->strings().begin(), found->strings().end()) : Strings{};
}

const std::string& NodeView::input(size_t k) const {
  BYOC_CHECK(k < num_inputs_, "input ", k, " of ", num_inputs_);
  return node_.input(static_cast<int>(k));
}

const std::string& NodeView::output(size_t k) const {
  BYOC_CHECK(k < num_outputs_, "output ", k, " of ", num_outputs_);
  return node_.output(static_cast<int>(k));
}

int32_t NodeView::tensor_dtype(std::string_view attr) const {
  const AttributeProto* found = find(attr, AttributeProto::TENSOR);
  return found ? found->t().data_type() : 0;
}

Result<TypedBuffer> NodeView::tensor(std::string_view attr) const {
  const AttributeProto* found = find(attr, AttributeProto::TENSOR);
  if (!status_.ok()) return status_;
  if (found == nullptr)
    return invalid(cat("attribute ", in_quotes(attr), " is missing")).with_slug("onnx-parse");
  auto tensor = read_tensor(found->t(), folder_);
  if (!tensor.ok()) return std::move(tensor.status()).at(cat("attribute ", in_quotes(attr)));
  return tensor;
}

std::string subgraph_attribute(const onnx::NodeProto& node) {
  for (const AttributeProto& attr : node.attribute()) {
    auto kind = kind_of(attr);
    if (kind == AttributeProto::GRAPH || kind == AttributeProto::GRAPHS) return attr.name();
  }
  return "";
}

std::vector<const onnx::GraphProto*> subgraphs(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> out;
  for (const AttributeProto& attr : node.attribute()) {
    if (attr.has_g()) out.push_back(&attr.g());
    for (const auto& graph : attr.graphs()) out.push_back(&graph);
  }
  return out;
}

Result<onnx::GraphProto*> subgraph(onnx::NodeProto& node, std::string_view attr) {
  for (AttributeProto& candidate : *node.mutable_attribute()) {
    if (candidate.name() == attr && candidate.has_g()) return candidate.mutable_g();
  }
  return invalid(cat("attribute ", in_quotes(attr), " is missing, or is no graph"))
      .with_slug("onnx-parse");
}

}  // namespace byoc::onnx_import
