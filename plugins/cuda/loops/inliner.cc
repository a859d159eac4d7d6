// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/inliner.h"

#include <algorithm>

namespace byoc::cuda {

void Inliner::add(const te::Tensor& tensor, std::vector<te::Axis> axes, te::Expr value) {
  inlined_[tensor.id()] = {std::move(axes), std::move(value), {}};
}

te::Expr Inliner::operator()(const te::Expr& x) {
  auto known = done_.find(&*x);
  if (known != done_.end()) return known->second.second;
  te::Expr out = te::map_operands(x, [&](const te::Expr& operand) { return (*this)(operand); });
  const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&out->kind);
  auto stage = load != nullptr ? inlined_.find((*load)->tensor.id()) : inlined_.end();
  if (stage != inlined_.end()) out = read(stage->second, (*load)->indices);
  done_.emplace(&*x, std::pair(x, out));
  return out;
}

te::Expr Inliner::read(Inlined& stage, te::Exprs indices) {
  for (te::Expr& index : indices) index = te::simplify(index, ranges_);
  for (const auto& [at, value] : stage.at) {
    if (std::equal(at.begin(), at.end(), indices.begin(), te::structural_equal)) return value;
  }
  te::Expr out = (*this)(at_indices(stage.value, stage.axes, indices));
  stage.at.emplace_back(std::move(indices), out);
  return out;
}

namespace {

int64_t operations_of(const te::ExprNode& node) {
  constexpr int64_t kFunction = 20, kDivision = 8;
  if (const auto* unary = std::get_if<te::Unary>(&node.kind)) {
    if (unary->op >= te::UnaryOp::kExp && unary->op <= te::UnaryOp::kAtanh) return kFunction;
    return unary->op == te::UnaryOp::kSqrt ? kDivision : 1;
  }
  if (const auto* binary = std::get_if<te::Binary>(&node.kind)) {
    if (node.dtype == DType::kI64 || node.dtype == DType::kBool) return 0;  // mostly of indices
    if (binary->op == te::BinaryOp::kPower || binary->op == te::BinaryOp::kRemainder)
      return kFunction;
    return binary->op == te::BinaryOp::kDivide ? kDivision : 1;
  }
  return std::holds_alternative<te::Cast>(node.kind) ? 1 : 0;
}

}  // namespace

Work work_of(const te::Expr& x) {
  Work out;
  std::unordered_set<const te::ExprNode*> seen;
  auto walk = [&](auto& self, const te::Expr& node) -> void {
    if (!seen.insert(&*node).second) return;
    ++out.nodes;
    out.operations += operations_of(*node);
    if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind))
      out.loads.push_back(*load);
    te::map_operands(node, [&](const te::Expr& operand) {
      self(self, operand);
      return operand;
    });
  };
  walk(walk, x);
  return out;
}

}  // namespace byoc::cuda
