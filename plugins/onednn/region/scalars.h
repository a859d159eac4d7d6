// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops with a constant of one element that oneDNN has as a function of one operand: a power, a
// subtraction, a division. They are read as the plugin's own nodes, "affine" and "scaled_power".
#include "region/region.h"

namespace byoc::onednn {

/// Writes a node like `like` with another op and the attributes alpha and beta alone into `made`.
const Node* write_scaled(const Node& like, const char* op, double alpha, double beta,
                         std::list<Node>& made);

/// Returns the constant's only element, if the operand is one.
std::optional<double> scalar_of(const Graph& graph, const sdk::Operand& operand);

struct WithScalar {
  const Node* node = nullptr;  // null: no such op
  sdk::Operand operand;        // the other one
};
/// Reads an op as alpha * x + beta, or alpha * x ^ beta: these are attributes of the node, which is
/// put into `made`.
WithScalar read_with_scalar(const Graph& graph, const Node& node, std::list<Node>& made);

}  // namespace byoc::onednn
