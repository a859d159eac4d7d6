// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must hold of an ONNX graph before its nodes are read one after the other.
#include <onnx/onnx_pb.h>

#include "byoc/base/status.h"

namespace byoc::onnx_import {

/// "Conv_0" in quotes: the node's name, else its first output's.
std::string node_label(const onnx::NodeProto& node);

/// Every value is defined once, every value read is defined by an earlier node, an input or an
/// initializer, every graph output exists. Linear. Errors: slug "onnx-graph", naming values and
/// nodes; cycles are told from nodes in the wrong order.
Status check_graph(const onnx::GraphProto& graph);

}  // namespace byoc::onnx_import
