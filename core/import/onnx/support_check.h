// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks nodes before any of them is converted: operators without rows, malformed nodes.
#include <map>

#include "core/import/onnx/file/functions.h"

namespace byoc::onnx_import {

/// Returns true for the domain of ONNX's own operators, which has two names.
bool is_default_domain(const std::string& domain);

/// Returns the opset whose rows convert nodes of `opset`: operators of later ones are as in the
/// newest one known of the default domain, unless they have parts that it lacks.
int known_opset(const std::string& domain, int64_t opset);

/// The opsets of a model's nodes.
struct Opsets {
  std::map<std::string, int64_t> by_domain;  // "" is the default domain
  /// Returns 0 when the model does not import the domain.
  int64_t of(const std::string& domain) const;
  int64_t of(const onnx::NodeProto& node) const;
};

/// Returns "node "n" (Conv, domain ai.onnx, opset 13)".
std::string describe_node(const onnx::NodeProto& node, const Opsets& opsets);

/// Checks the nodes of a graph and of the graphs inside it, except for the branches of If: they are
/// checked when it is converted, as one of them may be dead. One message lists all unsupported
/// nodes; nodes of the same op share a line.
/// Errors: slug "onnx-unsupported"; those of check_form for nodes that are malformed.
Status check_support(const onnx::GraphProto& graph, const Opsets& opsets);

}  // namespace byoc::onnx_import
