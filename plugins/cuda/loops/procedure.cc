// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/procedure.h"

#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"

namespace byoc::cuda {
namespace {

constexpr int64_t kMostSteps = 1 << 16;

// Returns the number of stores, or more than kMostSteps.
int64_t steps_of(const te::Stmt& stmt, te::Ranges& ranges) {
  if (stmt.is_empty()) return 0;
  int64_t times = 1, own = 0;
  if (const auto* loop = std::get_if<te::For>(&stmt->kind)) {
    const te::Interval begin = te::bounds_of(loop->begin, ranges),
                       extent = te::bounds_of(loop->extent, ranges);
    if (extent.hi > kMostSteps) return kMostSteps + 1;
    times = std::max<int64_t>(extent.hi, 0);
    ranges[loop->var.id()] = {begin.lo, begin.hi + std::max<int64_t>(extent.hi - 1, 0)};
  }
  if (std::holds_alternative<te::Store>(stmt->kind) ||
      std::holds_alternative<te::Intrinsic>(stmt->kind))
    own = 1;
  te::map_parts(
      stmt, [](const te::Expr& x) { return x; },
      [&](const te::Stmt& inner) {
        own += steps_of(inner, ranges);
        return inner;
      });
  return std::min(own, kMostSteps + 1) * times;
}

te::Stmt serial(const te::Stmt& stmt) {
  if (stmt.is_empty()) return stmt;
  te::Stmt out = te::map_parts(
      stmt, [](const te::Expr& x) { return x; }, serial);
  const auto* loop = std::get_if<te::For>(&out->kind);
  if (loop == nullptr || loop->kind == te::LoopKind::kSerial) return out;
  return te::make_for(loop->var, loop->begin, loop->extent, te::LoopKind::kSerial, loop->body);
}

}  // namespace

Status check_procedure(const te::Stage& stage) {
  te::Ranges ranges;
  if (steps_of(std::get<te::Procedure>(stage.kind).body, ranges) <= kMostSteps) return {};
  return unimplemented(cat(stage.op, " is written as loops of more than ", kMostSteps,
                           " steps, which one thread would run"));
}

te::Stmt procedure_kernel(const te::Stage& stage, Groups& groups) {
  const te::Stmt body = serial(std::get<te::Procedure>(stage.kind).body);
  return groups.groups(
      1, [&](const te::Expr&) { return groups.threads(1, [&](const te::Expr&) { return body; }); });
}

}  // namespace byoc::cuda
