#pragma once
// Most ONNX ops are ours under another name: the same operands in the same order, and attributes
// that bear the same names and defaults. One row of a table each: {"LeakyRelu", 1, kNewest,
// same<"leaky_relu">}.
#include <algorithm>

#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// The node's attributes that `op` has too; those it alone has keep their defaults.
Attrs attrs_of(const OnnxNode& node, const OpDef& op);
/// A call of `op` with the node's operands and attributes; as many outputs as the op has.
Converted convert_same(Graph& graph, const OnnxNode& node, std::string_view op);

/// A name as a template argument.
template <size_t N>
struct OpName {
  char text[N];
  consteval OpName(const char (&name)[N]) {
    std::copy_n(name, N, text);
  }  // NOLINT: implicit by design
};

template <OpName op>
Converted same(Graph& graph, const OnnxNode& node) {
  return convert_same(graph, node, op.text);
}

}  // namespace byoc::onnx_import
