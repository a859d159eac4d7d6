// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops that ONNX Runtime computes otherwise than byoc defines them.
#include <string>

#include "byoc/plugin/sdk/graph.h"

namespace byoc::ort_plugin {

/// Returns the reason why a node is refused although ONNX Runtime 1.`minor` has its operator, or
/// "" when it is taken.
std::string refusal_of(const sdk::Graph& graph, const sdk::Node& node, uint32_t minor);

}  // namespace byoc::ort_plugin
