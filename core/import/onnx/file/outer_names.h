// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names that a graph inside a node reads from the graphs around it.
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace byoc::onnx_import {

/// Returns the names that the graph reads from outside, in order of their first use; those that the
/// graphs inside it read are among them. Cost: O(nodes), times the depth of nesting.
std::vector<std::string> outer_names(const onnx::GraphProto& graph);

/// Calls f(name) for the values that a node reads, those that its graphs read from outside too.
template <class F>
void for_reads(const onnx::NodeProto& node, F f) {
  for (const std::string& input : node.input())
    if (!input.empty()) f(input);  // else an optional input left out
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const std::string& name : outer_names(attribute.g())) f(name);
    for (const auto& graph : attribute.graphs())
      for (const std::string& name : outer_names(graph)) f(name);
  }
}

}  // namespace byoc::onnx_import
