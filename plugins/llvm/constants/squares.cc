// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/constants/squares.h"

#include <algorithm>
#include <optional>

#include "byoc/te/rewrite.h"

namespace byoc::llvm_plugin {
namespace {

using te::Expr;
using te::Stmt;

const te::Binary* power_of(const Expr& x) {
  auto* binary = std::get_if<te::Binary>(&x->kind);
  return binary && binary->op == te::BinaryOp::kPower && is_float(x.dtype()) ? binary : nullptr;
}

/// Finds an exponent that is the same for all elements, and gives it a value.
class Squares {
 public:
  explicit Squares(const te::LoopFunction& function) : function_(function) { find(function.body); }
  const std::optional<Expr>& exponent() const { return exponent_; }
  /// Returns the statement with squares in place of powers by the exponent.
  Stmt squared(const Stmt& s) {
    return te::map_parts(
        s, [&](const Expr& x) { return squared(x); }, [&](const Stmt& t) { return squared(t); });
  }

 private:
  void find(const Stmt& s) {
    auto in_expr = [&](const Expr& x) {
      if (!exponent_) te::any_node(x, [&](const Expr& node) { return take(node); });
      return x;
    };
    te::map_parts(s, in_expr, [&](const Stmt& t) {
      find(t);
      return t;
    });
  }
  bool take(const Expr& node) {
    const te::Binary* power = power_of(node);
    if (power == nullptr || !is_one_element(power->b)) return false;
    exponent_ = power->b;
    return true;
  }
  // Returns true for an element of an input, at a place that no loop changes, also converted.
  bool is_one_element(const Expr& x) const {
    if (auto* cast = std::get_if<te::Cast>(&x->kind)) return is_one_element(cast->x);
    auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind);
    return load != nullptr &&
           std::ranges::find(function_.inputs, (*load)->tensor) != function_.inputs.end() &&
           std::ranges::all_of((*load)->indices,
                               [](const Expr& index) { return te::as_int(index).has_value(); });
  }
  Expr squared(const Expr& x) {
    auto at = done_.find(&*x);
    if (at != done_.end()) return at->second.second;
    Expr out = te::map_operands(x, [&](const Expr& operand) { return squared(operand); });
    const te::Binary* power = power_of(out);
    if (power != nullptr && te::structural_equal(power->b, *exponent_))
      out = te::binary(te::BinaryOp::kPower, power->a, te::constant(power->b.dtype(), 2));
    done_.emplace(&*x, std::pair(x, out));
    return out;
  }

  const te::LoopFunction& function_;
  std::optional<Expr> exponent_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;  // node -> itself, its replacement
};

}  // namespace

te::LoopFunction with_squares(te::LoopFunction function) {
  Squares squares(function);
  if (!squares.exponent()) return function;
  const Expr& exponent = *squares.exponent();
  const Expr is_two = exponent == te::constant(exponent.dtype(), 2);
  function.body = te::make_if(is_two, squares.squared(function.body), function.body);
  return function;
}

}  // namespace byoc::llvm_plugin
