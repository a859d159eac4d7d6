// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces calls of a model's own functions by their bodies.
#include <onnx/onnx_pb.h>

#include <functional>

#include "byoc/base/status.h"

namespace byoc::onnx_import {

/// Returns true for nodes that stay as they are although a function of the model has their name.
using IsKnownOp = std::function<bool(const onnx::NodeProto&)>;
/// The attribute of nodes that come from functions: their opset of the default domain.
inline constexpr const char* kOpsetAttribute = "__opset";

/// Replaces the nodes that call functions of the model, in the graph, in the graphs of nodes such
/// as If, and in the bodies of functions.
/// Values of bodies get names that no value of the graph has. O(nodes of the result).
/// Errors: slug "onnx-graph" for a function that calls itself, calls with too many operands, and
/// more than 10 million nodes.
Status inline_model_functions(onnx::ModelProto& model, const IsKnownOp& is_known);

}  // namespace byoc::onnx_import
