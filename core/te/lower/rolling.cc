// SPDX-License-Identifier: Apache-2.0
#include "core/te/lower/rolling.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::te {
namespace {

bool has_var(const Expr& x, const Var& var) {
  return any_node(x, [&](const Expr& node) {
    const auto* v = std::get_if<VarRef>(&node->kind);
    return v != nullptr && v->var == var;
  });
}

// Returns true when `x` does not get smaller as `var` goes up.
bool never_falls(const Expr& x, const Var& var) {
  if (!has_var(x, var) || std::holds_alternative<VarRef>(x->kind)) return true;
  const Binary* v = std::get_if<Binary>(&x->kind);
  if (v == nullptr) return false;
  const std::optional<int64_t> constant = as_int(v->b);
  switch (v->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return never_falls(v->a, var) && never_falls(v->b, var);
    case BinaryOp::kSubtract:
      return never_falls(v->a, var) && !has_var(v->b, var);
    case BinaryOp::kMultiply:
      return constant && *constant >= 0 && never_falls(v->a, var);
    case BinaryOp::kFloorDivide:
      return constant && *constant > 0 && never_falls(v->a, var);
    default:
      return false;
  }
}

}  // namespace

std::optional<Rolling> rolling_of(const std::vector<Range>& box, const Exprs& shape,
                                  std::span<const OuterLoop> loops, size_t at,
                                  Simplifier& simplify) {
  const OuterLoop& loop = loops[at];
  const std::span<const OuterLoop> inner = loops.subspan(at + 1);
  if (!std::ranges::all_of(inner, &OuterLoop::is_steady)) return std::nullopt;
  auto moves_inside = [&](const Expr& x) {
    return std::ranges::any_of(inner, [&](const OuterLoop& l) { return has_var(x, l.var); });
  };
  Rolling out{loop, box.size(), box, box};
  for (size_t k = 0; k < box.size(); ++k) {
    if (has_var(box[k].extent, loop.var) || moves_inside(box[k].extent)) return std::nullopt;
    if (!has_var(box[k].begin, loop.var)) {
      if (moves_inside(box[k].begin)) out.memory[k] = {0, shape[k]};
      continue;
    }
    const bool is_other = out.dim < box.size() || moves_inside(box[k].begin);
    if (is_other || !never_falls(box[k].begin, loop.var)) return std::nullopt;
    out.dim = k;
  }
  if (out.dim == box.size() || !as_int(box[out.dim].extent)) return std::nullopt;
  const Range& all = box[out.dim];
  VarMap before;
  before[loop.var.id()] = Expr(loop.var) - 1;
  const Expr step = all.begin - Substitution(std::move(before))(all.begin);
  const Expr count =
      simplify(select(Expr(loop.var) == loop.begin, all.extent, min(step, all.extent)));
  out.part[out.dim] = {simplify(all.begin + all.extent - count), count};
  return out;
}

}  // namespace byoc::te
