// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts ONNX's control flow: If, Loop and Scan, whose graphs become functions of the module.
#include <functional>

#include "core/import/onnx/node.h"
#include "core/import/onnx/scopes.h"

namespace byoc::onnx_import {

/// Returns true for the ops of the default domain that `convert_control` takes.
bool is_control(const onnx::NodeProto& node);

/// The parts of the importer that the conversion uses.
struct ControlContext {
  IRModule& module;
  const OpRegistry& ops;
  Scopes& scopes;
  /// Converts the nodes of a graph into the innermost scope.
  std::function<Status(onnx::GraphProto&)> convert_nodes;
};

/// Adds a node to the innermost builder, and the functions of its graphs to the module. An If with
/// a known condition becomes the nodes of the graph that is taken. Returns the outputs.
/// Errors: slug "onnx-graph" for graphs that do not fit the node; kUnimplemented for values whose
/// types change from one iteration to the next, or that are known only at run time.
Result<std::vector<ValueId>> convert_control(ControlContext& context, onnx::NodeProto& proto,
                                             const NodeView& node);

}  // namespace byoc::onnx_import
