// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/control/tails.h"

#include <algorithm>
#include <unordered_set>

#include "core/import/onnx/file/outer_names.h"

namespace byoc::onnx_import {
namespace {

using Names = std::unordered_set<std::string>;

void add_outputs(const onnx::NodeProto& node, Names& names) {
  for (const std::string& name : node.output())
    if (!name.empty()) names.insert(name);
}

bool reads_any(const onnx::NodeProto& node, const Names& names) {
  bool reads = false;
  for_reads(node, [&](const std::string& name) { reads = reads || names.contains(name); });
  return reads;
}

}  // namespace

std::vector<int> dependents(const onnx::GraphProto& graph, int at) {
  std::vector<int> out;
  Names names;
  add_outputs(graph.node(at), names);
  for (int k = at + 1; k < graph.node_size(); ++k) {
    if (graph.node(k).op_type() != "If" && !reads_any(graph.node(k), names)) continue;
    add_outputs(graph.node(k), names);
    out.push_back(k);
  }
  return out;
}

Tail make_tail(onnx::GraphProto& graph, int at, const std::vector<int>& dependents, size_t count) {
  Tail tail;
  std::vector<std::string> defined(graph.node(at).output().begin(), graph.node(at).output().end());
  for (size_t k = 0; k < count; ++k) {
    onnx::NodeProto& node = *graph.mutable_node(dependents[k]);
    *tail.graph.add_node() = node;
    tail.moved.push_back(&node);
    defined.insert(defined.end(), node.output().begin(), node.output().end());
  }
  for (int k = at + 1, next = 0; k < dependents[count - 1]; ++k) {
    if (dependents[static_cast<size_t>(next)] == k) ++next;
    else tail.earlier.push_back(graph.mutable_node(k));
  }
  Names read;
  for (size_t k = count; k < dependents.size(); ++k)
    for_reads(graph.node(dependents[k]), [&](const std::string& name) { read.insert(name); });
  for (const auto& output : graph.output()) read.insert(output.name());
  std::copy_if(defined.begin(), defined.end(), std::back_inserter(tail.results),
               [&](const std::string& name) { return read.contains(name); });
  for (const std::string& name : tail.results) tail.graph.add_output()->set_name(name);
  for (const auto* declared : {&graph.output(), &graph.value_info()})
    tail.graph.mutable_value_info()->MergeFrom(*declared);  // for an If among the nodes
  return tail;
}

}  // namespace byoc::onnx_import
