// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of nodes as attributes of ONNX: the branches of an If, the bodies of a Loop and a Scan.
#include <functional>

#include "frontends/onnxruntime/graph/graph.h"
#include "frontends/onnxruntime/graph/protobuf.h"

namespace byoc::ort {

/// The fields of ONNX's messages that models and bodies have. Source: onnx.proto of ONNX.
namespace graph_field {
inline constexpr uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node_field {
inline constexpr uint32_t kInput = 1, kOutput = 2, kName = 3, kOp = 4, kAttribute = 5, kDomain = 7;
}
namespace value_field {
inline constexpr uint32_t kName = 1, kType = 2;
}
namespace type_field {
inline constexpr uint32_t kTensor = 1, kElement = 1, kShape = 2, kDim = 1, kDimValue = 1,
                          kDimName = 2;
}

/// Returns the name in a model of a value of the graph around a body, by its name there.
using NameOutside = std::function<std::string(const std::string& name)>;
/// Returns the name in a model of the value with this index; an operand that is left out is "".
using NameOfValue = std::function<std::string(int32_t value)>;

/// The name of a node in models: a message that has it names the node of the whole graph, for nodes
/// of bodies the one that has the body.
std::string name_in_model(uint32_t node, const std::string& name);

/// Writes a node of the graph with its bodies. `bodies` counts those of the model, so that values
/// of all of them have names of their own.
Message write_node(const Graph& graph, const Node& node, uint32_t number,
                   const NameOfValue& name_of, size_t& bodies);

}  // namespace byoc::ort
