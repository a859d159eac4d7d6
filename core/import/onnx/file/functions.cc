// SPDX-License-Identifier: Apache-2.0
// before: y = my.domain.Twice(x);  function my.domain.Twice(a) -> (c) { c = Add(a, a) }
// after:  y = Add(x, x)
#include "core/import/onnx/file/functions.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

using Key = std::array<std::string, 3>;  // domain, name, overload
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Attributes = std::map<std::string, const onnx::AttributeProto*>;

// A file of a few hundred bytes can describe 2^40 nodes: functions that call each other twice.
constexpr size_t kMostNodes = 500'000, kMostBytes = size_t{256} << 20;
constexpr int kDeepest = 500;  // calls in each other: names of values have all of them

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

void set_opset(onnx::NodeProto& node, int64_t opset) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(kOpsetAttribute);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(opset);
}

/// A body that is being copied.
struct Frame {
  const Function* function;
  std::string prefix;  // of the values and nodes of the body
  std::unordered_map<std::string, std::string> names;
  std::vector<onnx::AttributeProto> attributes;  // of the call
  std::vector<onnx::NodeProto> after;            // nodes that follow the body
  int next = 0;                                  // node of the body
  int inside = -1;                               // the calls that the body is in
};

/// A call and those that it is in, as a list.
struct CallList {
  const Function* function;
  int outer;  // -1: the end
  int depth;  // from 1 on
};

/// A node of the result that comes from a function: its opset, and the calls it is in.
struct Origin {
  int64_t opset = 0;
  int inside = -1;
};

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, const IsKnownOp& is_known)
      : model_(model), is_known_(is_known) {}

  Status run() {
    for (const auto& proto : model_.functions()) {
      BYOC_TRY(Function function, read_function(proto));
      functions_[{domain_key(proto.domain()), proto.name(),
                  unknown_text(proto, kFunctionOverload)}] = std::move(function);
    }
    collect_names();
    std::vector<std::pair<onnx::GraphProto*, Origin>> graphs = {{model_.mutable_graph(), {}}};
    for (size_t k = 0; k < graphs.size(); ++k) {  // then the graphs inside it
      onnx::GraphProto& graph = *graphs[k].first;
      BYOC_TRY_STATUS(inline_calls(graph, graphs[k].second));
      for (int at = 0; at < graph.node_size(); ++at) {
        onnx::NodeProto& node = *graph.mutable_node(at);
        const Origin origin = origins_[static_cast<size_t>(at)];
        if (origin.opset > 0) set_opset(node, origin.opset);
        for (onnx::GraphProto* inner : inner_graphs(node)) graphs.emplace_back(inner, origin);
      }
    }
    return {};
  }

 private:
  const Function* callee(const onnx::NodeProto& node) const {
    auto found = functions_.find(
        {domain_key(node.domain()), node.op_type(), unknown_text(node, kNodeOverload)});
    return found == functions_.end() || is_known_(node) ? nullptr : &found->second;
  }

  static std::vector<onnx::GraphProto*> inner_graphs(onnx::NodeProto& node) {
    std::vector<onnx::GraphProto*> graphs;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) graphs.push_back(&graph);
    }
    return graphs;
  }

  /// Collects the names of values in the graph and the graphs inside it.
  void collect_names() {
    std::vector<onnx::GraphProto*> graphs = {model_.mutable_graph()};
    for (size_t k = 0; k < graphs.size(); ++k) {
      onnx::GraphProto& graph = *graphs[k];
      for (const auto& input : graph.input()) taken_.insert(input.name());
      for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
      for (auto& node : *graph.mutable_node()) {
        taken_.insert(node.output().begin(), node.output().end());
        for (onnx::GraphProto* inner : inner_graphs(node)) graphs.push_back(inner);
      }
    }
  }

  /// Replaces the calls among the nodes of one graph, which comes from `origin`.
  Status inline_calls(onnx::GraphProto& graph, const Origin& origin) {
    out_.Clear();
    origins_.clear();
    for (auto& node : *graph.mutable_node()) {
      const Function* called = callee(node);
      if (called == nullptr) {
        BYOC_TRY_STATUS(add(std::move(node), origin));
        continue;
      }
      BYOC_TRY_STATUS(call(*called, node, origin.inside));
      BYOC_TRY_STATUS(copy_bodies(origin.opset));
    }
    graph.mutable_node()->Swap(&out_);
    return {};
  }

  std::string fresh(const std::string& wanted) {
    if (taken_.insert(wanted).second) return wanted;
    std::string name;
    do name = cat(wanted, "_", ++repeated_[wanted]);
    while (!taken_.insert(name).second);
    return name;
  }

  /// Begins the body of a call, inside of the calls of a list.
  Status call(const Function& function, const onnx::NodeProto& node, int inside) {
    const onnx::FunctionProto& proto = *function.proto;
    for (int at = inside; at >= 0; at = calls_[static_cast<size_t>(at)].outer) {
      if (calls_[static_cast<size_t>(at)].function == &function)
        return bad_function(cat("function ", in_quotes(proto.name()), " calls itself"));
    }
    const int depth = inside < 0 ? 1 : calls_[static_cast<size_t>(inside)].depth + 1;
    if (depth > kDeepest)
      return bad_function(cat("functions call each other more than ", kDeepest, " deep"));
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
    frame.inside = static_cast<int>(calls_.size());
    calls_.push_back({&function, inside, depth});
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

  /// Copies the bodies of all frames. A function without an opset is of that of its caller.
  Status copy_bodies(int64_t opset) {
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const onnx::FunctionProto& proto = *frame.function->proto;
      const int64_t own = frame.function->opset;
      const Origin origin{own > 0 ? own : opset, frame.inside};
      if (frame.next == proto.node_size()) {
        for (auto& node : frame.after) BYOC_TRY_STATUS(add(std::move(node), origin));
        frames_.pop_back();
        continue;
      }
      const onnx::NodeProto& from = proto.node(frame.next++);
      copied_bytes_ += from.ByteSizeLong();
      if (copied_bytes_ > kMostBytes)
        return bad_function("the functions of the model have more than 256 MiB of nodes inlined");
      onnx::NodeProto node = copied(frame, from);
      if (const Function* called = callee(node)) {
        BYOC_TRY_STATUS(call(*called, node, frame.inside));
      } else {
        BYOC_TRY_STATUS(add(std::move(node), origin));
      }
    }
    return {};
  }

  Status add(onnx::NodeProto&& node, const Origin& origin) {
    if (++added_ > kMostNodes && origin.inside >= 0)
      return bad_function("the functions of the model have more than 500,000 nodes inlined");
    origins_.push_back(origin);
    out_.Add()->Swap(&node);
    return {};
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
  std::unordered_set<std::string> taken_;               // names of values
  std::unordered_map<std::string, uint64_t> repeated_;  // how often each was taken
  std::vector<Frame> frames_;                           // the innermost call last
  Nodes out_;
  std::vector<Origin> origins_;  // of the nodes in out_
  std::vector<CallList> calls_;
  size_t added_ = 0, copied_bytes_ = 0;
};

}  // namespace

Status inline_model_functions(onnx::ModelProto& model, const IsKnownOp& is_known) {
  if (model.functions_size() == 0) return {};
  return Inliner(model, is_known).run();
}

}  // namespace byoc::onnx_import
