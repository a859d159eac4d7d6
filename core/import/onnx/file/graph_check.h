// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks an ONNX graph before its nodes are read one after the other.
#include <onnx/onnx_pb.h>

#include <functional>

#include "byoc/base/status.h"

namespace byoc::onnx_import {

/// Returns the node's name in quotes, or that of its first output when the node has no name.
std::string node_label(const onnx::NodeProto& node);

/// Checks that every value is defined once, that every value read is defined by a node, an input or
/// an initializer, and that every graph output exists. Sorts the nodes when one reads the value of
/// a later one, and returns a warning then, else "". Cost: linear; O(n log n) when it sorts.
/// Errors: slug "onnx-graph", naming values and nodes, such as those of a cycle.
Result<std::string> check_graph(onnx::GraphProto& graph);
/// Checks the graph of a node with control flow, which may read outer values. `is_outer` returns
/// true for the names that a graph around it defines.
Result<std::string> check_graph(onnx::GraphProto& graph,
                                const std::function<bool(const std::string&)>& is_outer);

}  // namespace byoc::onnx_import
