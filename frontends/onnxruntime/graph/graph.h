// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph of ONNX Runtime as plain data.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "byoc/base/status.h"
#include "frontends/onnxruntime/api/slots.h"

namespace byoc::ort {

/// The elements of a constant; they live as long as ONNX Runtime's graph.
using Bytes = std::span<const std::byte>;

/// The operator of nodes that hold a compiled group.
inline constexpr const char *kContextOp = "EPContext", *kContextDomain = "com.microsoft";

/// A value of the graph.
struct Value {
  std::string name;
  int element = 0;                 ///< as in ONNX's TensorProto; 0: the value is no tensor
  bool has_rank = true;            ///< false: `dims` is unknown
  std::vector<int64_t> dims;       ///< -1: not a number
  std::vector<std::string> sizes;  ///< the name of each dim that is not a number; may be ""
  bool is_constant = false;        ///< an initializer that no input replaces
  Bytes constant;                  ///< its elements
  bool is_output = false;          ///< of the graph
  bool is_outer = false;           ///< of a graph around this one
  bool is_static() const;          ///< true when all dims are numbers
};

/// An attribute, whose value is a message of ONNX (AttributeProto).
using AttributeBytes = std::string;

struct Body;

/// A node. Operands are indices of values; kNone is an operand that is left out.
struct Node {
  static constexpr int32_t kNone = -1;
  std::string name, op_type, domain;
  std::vector<int32_t> inputs, outputs;
  std::vector<int32_t> implicit_inputs;  ///< values that its graphs read
  std::vector<AttributeBytes> attributes;
  std::vector<Body> bodies;         ///< the graphs that it runs
  bool is_context = false;          ///< an EPContext: a group that a provider compiled
  std::string source;               ///< the provider that compiled it
  std::string unreadable;           ///< the reason why it cannot be written; "": it can
  const OrtNode* handle = nullptr;  ///< lives as long as ONNX Runtime's graph
};

struct Graph {
  std::vector<Value> values;
  std::vector<int32_t> inputs, outputs;                 ///< values; of bodies only
  std::vector<Node> nodes;                              ///< each after those whose values it reads
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< domain, version
  bool is_nested = false;                               ///< the graph of a node
  bool passes_captured = false;  ///< groups get values that only bodies of their nodes read
  bool hides_bodies = false;     ///< a body of a Scan may look like a graph of its own
};

/// A graph that a node runs: the value of an attribute.
struct Body {
  std::string attribute;
  Graph graph;
};

/// True for an EPContext node that byoc made.
bool is_own_context(const Node& node);

/// Reads a graph. Values of ONNX Runtime that are no tensors, and attributes that it does not give
/// out, are no errors: nodes have the reason. Cost: O(graph); constants are not copied.
Result<Graph> read_graph(const Calls& calls, const OrtGraph* graph);

/// Reads the names of a node's inputs or outputs.
Result<std::vector<std::string>> input_names(const Calls& calls, const OrtNode* node);
Result<std::vector<std::string>> output_names(const Calls& calls, const OrtNode* node);

}  // namespace byoc::ort
