// SPDX-License-Identifier: Apache-2.0
#pragma once
// Most ONNX ops have an op of byoc with another name, the same operands in the same order, and
// attributes of the same names and defaults. Each is one row of a table:
//   {"LeakyRelu", 1, kNewest, renamed<"leaky_relu">}
#include <algorithm>

#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// Returns the node's attributes that `op` has too. Other attributes of `op` keep their defaults.
Attrs attrs_of(const OnnxNode& node, const OpDef& op);
/// Calls `op` with the node's operands and attributes. The result has at most as many outputs as
/// `op` and as the node.
Converted call_same_op(Graph& graph, const OnnxNode& node, std::string_view op);

/// A name as a template argument.
template <size_t N>
struct OpName {
  char text[N];
  consteval OpName(const char (&name)[N]) {
    std::copy_n(name, N, text);
  }  // NOLINT: implicit by design
};

/// Converts a node to the op of another name.
template <OpName op>
Converted renamed(Graph& graph, const OnnxNode& node) {
  return call_same_op(graph, node, op.text);
}

}  // namespace byoc::onnx_import
