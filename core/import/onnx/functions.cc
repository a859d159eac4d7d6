// SPDX-License-Identifier: Apache-2.0
// before: y = my.domain.Twice(x);  function my.domain.Twice(a) -> (c) { c = Add(a, a) }
// after:  y = Add(x, x)
#include "core/import/onnx/functions.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

using Key = std::array<std::string, 3>;  // domain, name, overload
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Attributes = std::map<std::string, const onnx::AttributeProto*>;

constexpr size_t kMostNodes = 10'000'000;

Status bad_function(std::string message) {
  return invalid(std::move(message)).with_slug("onnx-graph");
}

std::string domain_key(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// Returns the last value of a text field that ONNX 1.12's messages lack, or "".
template <class Message>
std::string unknown_text(const Message& message, int number) {
  std::string text;
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int k = 0; k < fields.field_count(); ++k) {
    const auto& field = fields.field(k);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = field.length_delimited();
  }
  return text;
}

// Numbers of fields that came with ONNX 1.13 and 1.16.
constexpr int kFunctionDefaults = 11, kFunctionOverload = 13, kNodeOverload = 8;

struct Function {
  const onnx::FunctionProto* proto;
  std::vector<onnx::AttributeProto> defaults;
  int64_t opset = 0;  // of the default domain; 0: the function imports none
};

Result<Function> read_function(const onnx::FunctionProto& proto) {
  Function function{&proto, {}, 0};
  const auto& fields = proto.GetReflection()->GetUnknownFields(proto);
  for (int k = 0; k < fields.field_count(); ++k) {
    const auto& field = fields.field(k);
    if (field.number() != kFunctionDefaults) continue;
    onnx::AttributeProto attribute;
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
        !attribute.ParseFromString(field.length_delimited()))
      return bad_function(cat("function ", in_quotes(proto.name()), " has a damaged attribute"));
    function.defaults.push_back(std::move(attribute));
  }
  for (const auto& import : proto.opset_import()) {
    if (domain_key(import.domain()).empty()) function.opset = import.version();
  }
  return function;
}

/// A body that is being copied.
struct Frame {
  const Function* function;
  std::string prefix;  // of the values and nodes of the body
  std::unordered_map<std::string, std::string> names;
  std::vector<onnx::AttributeProto> attributes;  // of the call
  std::vector<onnx::NodeProto> after;            // nodes that follow the body
  int next = 0;                                  // node of the body
};

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, const IsKnownOp& is_known)
      : model_(model), is_known_(is_known) {}

  Result<NodeOpsets> run() {
    for (const auto& proto : model_.functions()) {
      BYOC_TRY(Function function, read_function(proto));
      functions_[{domain_key(proto.domain()), proto.name(),
                  unknown_text(proto, kFunctionOverload)}] = std::move(function);
    }
    collect_names();
    for (auto& node : *model_.mutable_graph()->mutable_node()) {
      const Function* called = callee(node);
      if (called == nullptr) {
        out_.Add()->Swap(&node);
        continue;
      }
      BYOC_TRY_STATUS(call(*called, node));
      BYOC_TRY_STATUS(copy_bodies());
    }
    model_.mutable_graph()->mutable_node()->Swap(&out_);
    NodeOpsets opsets;
    for (const auto& [index, opset] : opsets_) opsets[&model_.graph().node(index)] = opset;
    return opsets;
  }

 private:
  const Function* callee(const onnx::NodeProto& node) const {
    auto found = functions_.find(
        {domain_key(node.domain()), node.op_type(), unknown_text(node, kNodeOverload)});
    return found == functions_.end() || is_known_(node) ? nullptr : &found->second;
  }

  void collect_names() {
    const auto& graph = model_.graph();
    for (const auto& input : graph.input()) taken_.insert(input.name());
    for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
    for (const auto& node : graph.node()) taken_.insert(node.output().begin(), node.output().end());
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

  /// Begins the body of a call whose names are those of the graph.
  Status call(const Function& function, const onnx::NodeProto& node) {
    const onnx::FunctionProto& proto = *function.proto;
    for (const Frame& frame : frames_) {
      if (frame.function == &function)
        return bad_function(cat("function ", in_quotes(proto.name()), " calls itself"));
    }
    if (node.input_size() > proto.input_size() || node.output_size() > proto.output_size()) {
      return bad_function(cat("node ", node_label(node), " calls function ",
                              in_quotes(proto.name()), " with ", node.input_size(), " inputs and ",
                              node.output_size(), " outputs, it has ", proto.input_size(), " and ",
                              proto.output_size()));
    }
    Frame frame{&function, cat(node.name().empty() ? proto.name() : node.name(), "/"), {}, {}, {}};
    for (int k = 0; k < proto.input_size(); ++k)
      frame.names[proto.input(k)] = k < node.input_size() ? node.input(k) : "";
    for (int k = 0; k < node.output_size(); ++k) add_result(frame, proto.output(k), node.output(k));
    frame.attributes.assign(node.attribute().begin(), node.attribute().end());
    for (const auto& fallback : function.defaults) {
      bool is_given = std::any_of(frame.attributes.begin(), frame.attributes.end(),
                                  [&](const auto& a) { return a.name() == fallback.name(); });
      if (!is_given) frame.attributes.push_back(fallback);
    }
    frames_.push_back(std::move(frame));
    return {};
  }

  /// Gives a result of a body its name outside. A result that is also an operand, or a result
  /// before, is copied.
  static void add_result(Frame& frame, const std::string& inside, const std::string& outside) {
    if (outside.empty()) return;
    auto [found, is_new] = frame.names.emplace(inside, outside);
    if (is_new) return;
    onnx::NodeProto copy;
    copy.set_op_type("Identity");
    copy.set_name(cat(frame.prefix, inside));
    copy.add_input(found->second);
    copy.add_output(outside);
    frame.after.push_back(std::move(copy));
  }

  Status copy_bodies() {
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const onnx::FunctionProto& proto = *frame.function->proto;
      if (frame.next == proto.node_size()) {
        for (auto& node : frame.after) add(std::move(node), frame.function->opset);
        frames_.pop_back();
        continue;
      }
      onnx::NodeProto node = copied(frame, proto.node(frame.next++));
      if (static_cast<size_t>(out_.size()) >= kMostNodes)
        return bad_function("the functions of the model have more than 10 million nodes inlined");
      if (const Function* called = callee(node)) {
        BYOC_TRY_STATUS(call(*called, node));
      } else {
        add(std::move(node), frame.function->opset);
      }
    }
    return {};
  }

  void add(onnx::NodeProto node, int64_t opset) {
    if (opset > 0) opsets_.emplace_back(out_.size(), opset);
    out_.Add()->Swap(&node);
  }

  std::string renamed(Frame& frame, const std::string& name) {
    if (name.empty()) return name;
    auto [found, is_new] = frame.names.emplace(name, "");
    if (is_new) found->second = fresh(cat(frame.prefix, name));
    return found->second;
  }

  onnx::NodeProto copied(Frame& frame, const onnx::NodeProto& from) {
    onnx::NodeProto node = from;
    if (!from.name().empty()) node.set_name(cat(frame.prefix, from.name()));
    for (std::string& name : *node.mutable_input()) name = renamed(frame, name);
    for (std::string& name : *node.mutable_output()) name = renamed(frame, name);
    copy_attributes(frame, from, node);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) adapt(frame, *attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) adapt(frame, graph);
    }
    return node;
  }

  /// Renames what the graph of a node of the body reads from outside, and replaces references to
  /// attributes of the call. Names that the graph defines stay: they hide others.
  void adapt(Frame& frame, onnx::GraphProto& graph) {
    std::vector<std::pair<onnx::GraphProto*, std::unordered_set<std::string>>> graphs;
    graphs.emplace_back(&graph, std::unordered_set<std::string>());
    for (size_t k = 0; k < graphs.size(); ++k) {
      onnx::GraphProto& inner = *graphs[k].first;
      std::unordered_set<std::string> own = graphs[k].second;
      for (const auto& input : inner.input()) own.insert(input.name());
      for (const auto& tensor : inner.initializer()) own.insert(tensor.name());
      for (const auto& node : inner.node()) own.insert(node.output().begin(), node.output().end());
      auto rename = [&](std::string& name) {
        if (!own.count(name)) name = renamed(frame, name);
      };
      for (auto& output : *inner.mutable_output()) rename(*output.mutable_name());
      for (auto& node : *inner.mutable_node()) {
        for (std::string& name : *node.mutable_input()) rename(name);
        const onnx::NodeProto from = node;
        copy_attributes(frame, from, node);
        for (auto& attribute : *node.mutable_attribute()) {
          if (attribute.has_g()) graphs.emplace_back(attribute.mutable_g(), own);
          for (auto& more : *attribute.mutable_graphs()) graphs.emplace_back(&more, own);
        }
      }
    }
  }

  /// Replaces the attributes of `node` by those of `from`, with the values that the call gives.
  static void copy_attributes(const Frame& frame, const onnx::NodeProto& from,
                              onnx::NodeProto& node) {
    node.clear_attribute();
    for (const auto& attribute : from.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = attribute;
        continue;
      }
      for (const auto& given : frame.attributes) {  // absent: the op's default
        if (given.name() != attribute.ref_attr_name()) continue;
        auto* added = node.add_attribute();
        *added = given;
        added->set_name(attribute.name());
      }
    }
  }

  onnx::ModelProto& model_;
  const IsKnownOp& is_known_;
  std::map<Key, Function> functions_;
  std::unordered_set<std::string> taken_;  // names of values
  std::vector<Frame> frames_;              // the innermost call last
  Nodes out_;
  std::vector<std::pair<int, int64_t>> opsets_;
};

}  // namespace

Result<NodeOpsets> inline_model_functions(onnx::ModelProto& model, const IsKnownOp& is_known) {
  if (model.functions_size() == 0) return NodeOpsets{};
  return Inliner(model, is_known).run();
}

}  // namespace byoc::onnx_import
