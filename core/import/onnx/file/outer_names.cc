// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/outer_names.h"

#include <deque>
#include <unordered_set>

namespace byoc::onnx_import {
namespace {

class OuterNames {
 public:
  void visit(const onnx::GraphProto& graph) {
    auto& own = own_.emplace_back();
    for (const auto& input : graph.input()) own.insert(input.name());
    for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
    for (const auto& node : graph.node()) {
      for (const std::string& name : node.input()) read(name);
      for (const auto& attribute : node.attribute()) {  // nests as deep as the message does
        if (attribute.has_g()) visit(attribute.g());
        for (const auto& inner : attribute.graphs()) visit(inner);
      }
      own_.back().insert(node.output().begin(), node.output().end());
    }
    for (const auto& output : graph.output()) read(output.name());
    own_.pop_back();
  }
  std::vector<std::string> take() && { return std::move(names_); }

 private:
  void read(const std::string& name) {
    for (const auto& own : own_) {
      if (own.count(name)) return;
    }
    if (!name.empty() && seen_.insert(name).second) names_.push_back(name);
  }

  std::deque<std::unordered_set<std::string>> own_;
  std::unordered_set<std::string> seen_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> outer_names(const onnx::GraphProto& graph) {
  OuterNames names;
  names.visit(graph);
  return std::move(names).take();
}

}  // namespace byoc::onnx_import
