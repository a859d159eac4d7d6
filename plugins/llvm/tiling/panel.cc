// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/panel.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

void look(const te::Stmt& stmt, Seen& seen, Inside& out) {
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind))
        out.loads.push_back(load->get());
    });
  });
  if (auto* let = std::get_if<te::Let>(&stmt->kind)) out.lets.push_back(let->var);
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) {
    out.loops.push_back(loop);
    if (loop->kind == te::LoopKind::kVectorized) out.lanes.push_back(loop);
    else if (loop->kind != te::LoopKind::kUnrolled) out.has_loops = true;
    else out.written *= te::as_int(loop->extent).value_or(1);
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { look(inner, seen, out); });
}

void find_terms(const te::Stmt& stmt, std::vector<const te::For*> blocks, std::vector<Terms>& out) {
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) {
    if (!is_counted_in_order(*loop) || loop->body.is_empty()) return;
    if (!inside_of(loop->body).has_loops) return out.push_back({std::move(blocks), loop});
    blocks.push_back(loop);
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { find_terms(inner, blocks, out); });
}

}  // namespace

Inside inside_of(const te::Stmt& stmt) {
  Seen seen;
  Inside out;
  look(stmt, seen, out);
  return out;
}

bool has_any(const te::Expr& x, const std::vector<te::Var>& vars) {
  return std::ranges::any_of(vars, [&](const te::Var& var) { return has_var(x, var); });
}

bool is_counted(const te::For& loop) {
  return te::as_int(loop.begin) == 0 && te::as_int(loop.extent).value_or(0) > 0;
}

bool is_counted_in_order(const te::For& loop) {
  return loop.kind == te::LoopKind::kSerial && is_counted(loop);
}

std::vector<Terms> terms_in(const te::Stmt& stmt) {
  std::vector<Terms> out;
  find_terms(stmt, {}, out);
  return out;
}

te::Ranges with_loops(te::Ranges ranges, const Inside& inside, const te::For& terms) {
  for (const te::For* loop : inside.loops) {
    if (is_counted(*loop)) ranges[loop->var.id()] = {0, *te::as_int(loop->extent) - 1};
  }
  BYOC_CHECK(is_counted(terms), "loop ", terms.var.name(), " over terms has no known number");
  ranges[terms.var.id()] = {0, *te::as_int(terms.extent) - 1};
  return ranges;
}

Extent::Extent(te::Expr at, const Inside& inside) : at_(std::move(at)), begin_(at_) {
  for (const te::For* loop : inside.loops) add(*loop);
}

bool Extent::grow(const te::For& loop) {
  const std::optional<int64_t> by = coefficient_of(at_, loop.var);
  if (!by || *by != length_) return false;
  begin_ = begin_ - te::Expr(loop.var) * *by;
  BYOC_CHECK(is_counted(loop), "a panel grows by loop ", loop.var.name(), " of no known number");
  length_ *= *te::as_int(loop.extent);
  grow_inside();
  return true;
}

void Extent::add(const te::For& loop) {
  const std::optional<int64_t> by = coefficient_of(at_, loop.var);
  is_known_ = is_known_ && by && is_counted(loop);
  if (!is_known_ || *by == 0) return;
  begin_ = begin_ - te::Expr(loop.var) * *by;
  inside_.emplace_back(*by, *te::as_int(loop.extent));
  grow_inside();
}

void Extent::grow_inside() {
  auto is_next = [&](const auto& loop) { return loop.first == length_; };
  for (auto at = std::ranges::find_if(inside_, is_next); at != inside_.end();
       at = std::ranges::find_if(inside_, is_next)) {
    length_ *= at->second;
    inside_.erase(at);
  }
}

std::optional<Reads> reads_of(const te::Load& load, const te::For& terms, const Inside& inside,
                              std::span<const te::For* const> around, const te::Ranges& ranges) {
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset) return std::nullopt;
  BYOC_CHECK(is_counted(terms), "loop ", terms.var.name(), " over terms has no known number");
  const te::Expr at = te::simplify(*offset, ranges);
  Reads out{Extent(at, inside), at, terms.var, *te::as_int(terms.extent), 0};
  if (!out.panel.grow(terms)) return std::nullopt;
  for (; out.blocks < around.size(); ++out.blocks) {
    const te::For& outer = *around[around.size() - 1 - out.blocks];
    if (!is_counted_in_order(outer) || !out.panel.grow(outer)) break;
    out.term = te::Expr(outer.var) * out.count + out.term;
    out.count *= *te::as_int(outer.extent);
  }
  return out;
}

}  // namespace byoc::llvm_plugin::topi
