// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts ONNX's control flow: If, Loop and Scan, whose graphs become functions of the module.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/import/onnx/node.h"
#include "core/import/onnx/scopes.h"

namespace byoc::onnx_import {

/// Returns true for the ops of the default domain that `convert_control` takes.
bool is_control(const onnx::NodeProto& node);

/// The nodes of the graphs that are being converted, the innermost graph last, that are converted
/// before their turn.
using DoneNodes = std::vector<std::unordered_set<const onnx::NodeProto*>>;

/// Adds a warning, unless it is empty or is there.
inline void add_warning(Strings& warnings, std::string warning) {
  const bool is_new = std::find(warnings.begin(), warnings.end(), warning) == warnings.end();
  if (!warning.empty() && is_new) warnings.push_back(std::move(warning));
}

/// The parts of the importer that the conversion uses.
struct ControlContext {
  IRModule& module;
  const OpRegistry& ops;
  Scopes& scopes;
  std::vector<Symbol>& functions;  // that control flow has added, in order
  Strings& warnings;               // each once
  DoneNodes& done;
  /// Converts the nodes of a graph into the innermost scope.
  std::function<Status(onnx::GraphProto&)> convert_nodes;
  /// Converts a node of the innermost graph before its turn, unless that has been done.
  std::function<Status(onnx::NodeProto&)> convert_early;
  /// Refuses unsupported and malformed nodes of a branch.
  std::function<Status(const onnx::GraphProto&)> check_support;
};

/// Adds a node to the innermost builder, and the functions of its graphs to the module. An If with
/// a known condition becomes the nodes of the graph that is taken. Returns the outputs.
/// Errors: slug "onnx-graph" for graphs that do not fit the node; kUnimplemented for values whose
/// types change from one iteration to the next, or that are known only at run time.
Result<std::vector<ValueId>> convert_control(ControlContext& context, onnx::NodeProto& proto,
                                             const NodeView& node);

}  // namespace byoc::onnx_import
