// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes after an If that read its results. When the results have other ranks in one branch than
// in the other, these nodes move into both branches, up to where ranks agree again:
//   before: y = If(c) { then: Squeeze(x)  else: x }     z = ReduceSum(y)
//   after:  z = If(c) { then: ReduceSum(Squeeze(x))  else: ReduceSum(x) }
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace byoc::onnx_import {

/// Nodes that move into the branches of an If.
struct Tail {
  onnx::GraphProto graph;                 // copies of the nodes
  std::vector<onnx::NodeProto*> moved;    // the nodes
  std::vector<onnx::NodeProto*> earlier;  // others before the last one of them: they read none
  std::vector<std::string> results;       // values of If and nodes that are read after the nodes
};

/// Returns the nodes after node `at` that depend on its outputs, by their numbers. Later Ifs are
/// taken for such nodes: nodes that read the results of both can move into them. Cost: O(nodes).
std::vector<int> dependents(const onnx::GraphProto& graph, int at);

/// Returns the tail that the first `count` dependents of node `at` are.
Tail make_tail(onnx::GraphProto& graph, int at, const std::vector<int>& dependents, size_t count);

}  // namespace byoc::onnx_import
