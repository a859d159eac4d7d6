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
  te::Expr next;  // the element to prefetch
};

class Prefetcher {
 public:
  explicit Prefetcher(const std::vector<te::Tensor>& inputs) : inputs_(inputs) {}
  te::Stmt rewrite(const te::Stmt& stmt);

 private:
  te::Stmt rewrite_for(const te::For& loop);
  std::optional<Panel> panel_of(const te::For& terms) const;
  std::optional<Panel> panel_of(const te::For& terms, const te::For& lanes,
                                const te::Load& load) const;

  const std::vector<te::Tensor>& inputs_;
  std::vector<const te::For*> around_;  // loops of several iterations, outer first
  te::Ranges ranges_;
};

bool is_counted(const te::For& loop) {
  return te::as_int(loop.begin) == 0 && te::as_int(loop.extent).value_or(0) > 0;
}

struct Inside {
  std::vector<const te::For*> lanes, all;
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
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) {
    out.all.push_back(loop);
    if (loop->kind == te::LoopKind::kVectorized) out.lanes.push_back(loop);
    else if (loop->kind != te::LoopKind::kUnrolled) out.has_loops = true;
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { look(inner, seen, out); });
}

// Returns the part of the next panel that iteration k of tile i prefetches: when all tiles are
// done, they have covered the panel. nullopt: the load reads no panel.
std::optional<Panel> Prefetcher::panel_of(const te::For& terms, const te::For& lanes,
                                          const te::Load& load) const {
  const te::For &panels = *around_[around_.size() - 2], &tiles = *around_.back();
  const int64_t k = *te::as_int(terms.extent), width = *te::as_int(lanes.extent);
  const auto bytes = static_cast<int64_t>(dtype_size(load.tensor.dtype()));
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset || width * bytes < kLineBytes) return std::nullopt;
  te::Ranges ranges = ranges_;
  ranges[lanes.var.id()] = {0, width - 1};
  ranges[terms.var.id()] = {0, k - 1};
  const te::Expr at = te::simplify(*offset, ranges);
  if (coefficient_of(at, lanes.var) != 1 || coefficient_of(at, terms.var) != width ||
      coefficient_of(at, tiles.var) != 0 || coefficient_of(at, panels.var) != k * width)
    return std::nullopt;
  const int64_t step = (width - 1) / *te::as_int(tiles.extent) + 1;
  const te::Expr part = (te::Expr(tiles.var) * k + te::Expr(terms.var)) * step;
  const te::Expr begin = at - te::Expr(lanes.var) - te::Expr(terms.var) * width;
  const te::Expr next = te::simplify(begin + k * width + part, ranges);
  if (has_var(next, lanes.var)) return std::nullopt;
  return Panel{load.tensor, next};
}

std::optional<Panel> Prefetcher::panel_of(const te::For& terms) const {
  if (terms.kind != te::LoopKind::kSerial || !is_counted(terms) || around_.size() < 2 ||
      *te::as_int(terms.extent) < kLeastTerms || terms.body.is_empty())
    return std::nullopt;
  const te::For& tiles = *around_.back();
  if (tiles.kind != te::LoopKind::kSerial || !is_counted(tiles) ||
      *te::as_int(tiles.extent) > kMostTiles)
    return std::nullopt;
  Seen seen;
  Inside inside;
  look(terms.body, seen, inside);
  if (inside.has_loops) return std::nullopt;
  for (const te::Load* load : inside.loads) {
    if (std::ranges::find(inputs_, load->tensor) == inputs_.end()) continue;
    for (const te::For* lanes : inside.lanes) {
      std::optional<Panel> found =
          is_counted(*lanes) ? panel_of(terms, *lanes, *load) : std::nullopt;
      auto is_free = [&](const te::For* inner) { return !has_var(found->next, inner->var); };
      if (found && std::ranges::all_of(inside.all, is_free)) return found;
    }
  }
  return std::nullopt;
}

te::Stmt Prefetcher::rewrite_for(const te::For& loop) {
  if (std::optional<Panel> panel = panel_of(loop)) {
    te::Exprs indices(panel->tensor.rank(), te::Expr(0));
    indices.back() = panel->next;
    te::Stmt fetch = te::make_intrinsic(kPrefetch, {{panel->tensor, std::move(indices)}}, {});
    return te::make_for(loop.var, loop.begin, loop.extent, loop.kind,
                        te::make_block({std::move(fetch), loop.body}));
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
