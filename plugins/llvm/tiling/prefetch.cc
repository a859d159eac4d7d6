// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/prefetch.h"

#include <algorithm>

#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kLeastTerms = 16;
constexpr int64_t kMostTiles = 64;  // more of them hide the memory without prefetches

struct Panel {
  te::Tensor tensor;
  te::Exprs next;  // elements, one in each line to prefetch
};

class Prefetcher {
 public:
  explicit Prefetcher(const std::vector<te::Tensor>& inputs) : inputs_(inputs) {}
  te::Stmt rewrite(const te::Stmt& stmt);

 private:
  te::Stmt rewrite_for(const te::For& loop);
  std::optional<Panel> panel_of(const te::For& terms) const;
  std::optional<Panel> panel_of(const te::For& terms, const te::For& lanes, const te::Load& load,
                                bool is_alone) const;

  const std::vector<te::Tensor>& inputs_;
  std::vector<const te::For*> around_;  // loops of several iterations, outer first
  te::Ranges ranges_;
};

bool is_counted(const te::For& loop) {
  return te::as_int(loop.begin) == 0 && te::as_int(loop.extent).value_or(0) > 0;
}

struct Inside {
  std::vector<const te::For*> lanes;
  std::vector<te::Var> vars;
  std::vector<const te::Load*> loads;
  bool has_loops = false;
};

void look(const te::Stmt& stmt, Seen& seen, Inside& out) {
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind))
        out.loads.push_back(load->get());
    });
  });
  if (auto* let = std::get_if<te::Let>(&stmt->kind)) out.vars.push_back(let->var);
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) {
    out.vars.push_back(loop->var);
    if (loop->kind == te::LoopKind::kVectorized) out.lanes.push_back(loop);
    else if (loop->kind != te::LoopKind::kUnrolled) out.has_loops = true;
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { look(inner, seen, out); });
}

// Returns what iteration k of tile i prefetches: when all tiles are done, they have covered the next
// panel. nullopt: the load reads no panel. Requires `is_alone`: one tile, which reads each panel once.
std::optional<Panel> Prefetcher::panel_of(const te::For& terms, const te::For& lanes,
                                          const te::Load& load, bool is_alone) const {
  const te::For& panels = *around_[around_.size() - (is_alone ? 1 : 2)];
  const int64_t k = *te::as_int(terms.extent), width = *te::as_int(lanes.extent);
  const auto bytes = static_cast<int64_t>(dtype_size(load.tensor.dtype()));
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset || width * bytes < kLineBytes) return std::nullopt;
  te::Ranges ranges = ranges_;
  ranges[lanes.var.id()] = {0, width - 1};
  ranges[terms.var.id()] = {0, k - 1};
  const te::Expr at = te::simplify(*offset, ranges);
  if (coefficient_of(at, lanes.var) != 1 || coefficient_of(at, terms.var) != width ||
      coefficient_of(at, panels.var) != k * width)
    return std::nullopt;
  const te::Expr begin = at - te::Expr(lanes.var) - te::Expr(terms.var) * width + k * width;
  te::Expr part = te::Expr(terms.var) * width;
  int64_t step = width;
  if (!is_alone) {
    const te::For& tiles = *around_.back();
    if (coefficient_of(at, tiles.var) != 0) return std::nullopt;
    step = (width - 1) / *te::as_int(tiles.extent) + 1;
    part = (te::Expr(tiles.var) * k + te::Expr(terms.var)) * step;
  }
  Panel out{load.tensor, {}};
  for (int64_t line = 0; line < step * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(begin + part + line / bytes, ranges));
  return out;
}

bool is_counted_in_order(const te::For& loop, int64_t most) {
  return loop.kind == te::LoopKind::kSerial && is_counted(loop) && *te::as_int(loop.extent) <= most;
}

std::optional<Panel> Prefetcher::panel_of(const te::For& terms) const {
  if (!is_counted_in_order(terms, INT64_MAX) || *te::as_int(terms.extent) < kLeastTerms ||
      terms.body.is_empty())
    return std::nullopt;
  Seen seen;
  Inside inside;
  look(terms.body, seen, inside);
  if (inside.has_loops) return std::nullopt;
  for (bool is_alone : {false, true}) {
    if (around_.size() < (is_alone ? 1 : 2)) continue;
    if (!is_alone && !is_counted_in_order(*around_.back(), kMostTiles)) continue;
    for (const te::Load* load : inside.loads) {
      if (std::ranges::find(inputs_, load->tensor) == inputs_.end()) continue;
      for (const te::For* lanes : inside.lanes) {
        if (!is_counted(*lanes)) continue;
        auto found = panel_of(terms, *lanes, *load, is_alone);
        auto is_inside = [&](const te::Var& var) { return has_var(found->next[0], var); };
        if (found && std::ranges::none_of(inside.vars, is_inside)) return found;
      }
    }
  }
  return std::nullopt;
}

te::Stmt Prefetcher::rewrite_for(const te::For& loop) {
  if (std::optional<Panel> panel = panel_of(loop)) {
    std::vector<te::Stmt> body;
    for (const te::Expr& next : panel->next) {
      te::Exprs indices(panel->tensor.rank(), te::Expr(0));
      indices.back() = next;
      body.push_back(te::make_intrinsic(kPrefetch, {{panel->tensor, std::move(indices)}}, {}));
    }
    body.push_back(loop.body);
    return te::make_for(loop.var, loop.begin, loop.extent, loop.kind,
                        te::make_block(std::move(body)));
  }
  const bool is_around = te::as_int(loop.extent) != 1;
  if (is_around) around_.push_back(&loop);
  if (is_counted(loop)) ranges_[loop.var.id()] = {0, *te::as_int(loop.extent) - 1};
  te::Stmt body = rewrite(loop.body);
  if (is_around) around_.pop_back();
  ranges_.erase(loop.var.id());
  return te::make_for(loop.var, loop.begin, loop.extent, loop.kind, std::move(body));
}

te::Stmt Prefetcher::rewrite(const te::Stmt& stmt) {
  if (stmt.is_empty()) return stmt;
  return std::visit(
      overloaded{
          [&](const te::For& v) { return rewrite_for(v); },
          [&](const te::Store&) { return stmt; },
          [&](const te::If& v) { return te::make_if(v.condition, rewrite(v.yes), rewrite(v.no)); },
          [&](const te::Let& v) { return te::make_let(v.var, v.value, rewrite(v.body)); },
          [&](const te::Alloc& v) { return te::make_alloc(v.tensor, v.scope, rewrite(v.body)); },
          [&](const te::Block& v) {
            std::vector<te::Stmt> stmts;
            for (const te::Stmt& inner : v.stmts) stmts.push_back(rewrite(inner));
            return te::make_block(std::move(stmts));
          },
          [&](const te::Intrinsic&) { return stmt; },
      },
      stmt->kind);
}

}  // namespace

te::LoopFunction with_prefetches(te::LoopFunction function) {
  function.body = Prefetcher(function.inputs).rewrite(function.body);
  return function;
}

}  // namespace byoc::llvm_plugin::topi
