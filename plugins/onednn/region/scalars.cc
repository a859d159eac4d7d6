// SPDX-License-Identifier: Apache-2.0
#include "region/scalars.h"

namespace byoc::onednn {

const Node* write_scaled(const Node& like, const char* op, double alpha, double beta,
                         std::list<Node>& made) {
  Node node = like;
  node.op = op;
  node.attrs = {};
  node.attrs.set("alpha", alpha);
  node.attrs.set("beta", beta);
  return &made.emplace_back(std::move(node));
}

std::optional<double> scalar_of(const Graph& graph, const sdk::Operand& operand) {
  if (operand.kind != sdk::Operand::kConstant) return std::nullopt;
  const std::optional<sdk::Attr>& value = graph.constants[operand.index].value;
  if (!value) return std::nullopt;
  auto* list = std::get_if<sdk::Floats>(&*value);
  if (list != nullptr && list->size() == 1) return list->front();
  auto* whole = std::get_if<sdk::Ints>(&*value);
  if (whole != nullptr && whole->size() == 1) return static_cast<double>(whole->front());
  return std::nullopt;
}

WithScalar read_with_scalar(const Graph& graph, const Node& node, std::list<Node>& made) {
  if (node.args.size() != 2) return {};
  auto fits = [&](size_t value) {
    return graph.type(node.args[value]).dims == graph.type(node).dims;
  };
  std::optional<double> first = scalar_of(graph, node.args[0]),
                        second = scalar_of(graph, node.args[1]);
  if (node.op == "power" && second && fits(0))
    return {write_scaled(node, "scaled_power", 1, *second, made), node.args[0]};
  if (node.op == "subtract" && first && fits(1))
    return {write_scaled(node, "affine", -1, *first, made), node.args[1]};
  if (node.op == "divide" && first && fits(1))
    return {write_scaled(node, "scaled_power", *first, -1, made), node.args[1]};
  return {};
}

}  // namespace byoc::onednn
