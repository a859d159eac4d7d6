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
constexpr int64_t kLeastTerms = 16;    // iterations that divide a panel
constexpr int64_t kLeastBytes = 1024;  // of a panel: smaller ones the hardware has in time
constexpr int64_t kMostTiles = 64;     // more of them hide the memory without prefetches

struct Panel {
  te::Tensor tensor;
  te::Exprs next;  // elements, one in each line to prefetch
};

int64_t bytes_of(const te::Tensor& tensor) {
  return static_cast<int64_t>(dtype_size(tensor.dtype()));
}

bool is_counted(const te::For& loop) {
  return te::as_int(loop.begin) == 0 && te::as_int(loop.extent).value_or(0) > 0;
}

bool is_counted_in_order(const te::For& loop, int64_t most) {
  return loop.kind == te::LoopKind::kSerial && is_counted(loop) && *te::as_int(loop.extent) <= most;
}

// Returns the loop over a block of terms that is written out inside of a loop over blocks.
const te::For* written_terms(const te::For& blocks) {
  auto* inner = std::get_if<te::For>(&blocks.body->kind);
  const bool is_written =
      inner != nullptr && inner->kind == te::LoopKind::kUnrolled && is_counted(*inner);
  return is_written ? inner : nullptr;
}

struct Inside {
  std::vector<const te::For*> loops, lanes;
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
    out.loops.push_back(loop);
    if (loop->kind == te::LoopKind::kVectorized) out.lanes.push_back(loop);
    else if (loop->kind != te::LoopKind::kUnrolled) out.has_loops = true;
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { look(inner, seen, out); });
}

class Prefetcher {
 public:
  explicit Prefetcher(const std::vector<te::Tensor>& inputs) : inputs_(inputs) {}
  te::Stmt rewrite(const te::Stmt& stmt);

 private:
  te::Stmt rewrite_for(const te::For& loop);
  std::optional<Panel> panel_of(const te::For& terms) const;
  std::optional<Panel> panel_of(const te::For& terms, const Inside& inside,
                                const te::Load& load) const;
  std::optional<Panel> panel_of_tile(const te::For& terms, const te::For& lanes,
                                     const te::Load& load) const;

  const std::vector<te::Tensor>& inputs_;
  std::vector<const te::For*> around_;  // loops of several iterations, outer first
  te::Ranges ranges_;
};

// The elements that a load reads while the loops around it run, as long as they are contiguous.
class Extent {
 public:
  Extent(te::Expr at, const Inside& inside) : at_(std::move(at)), begin_(at_) {
    for (const te::For* loop : inside.loops) add(*loop);
  }
  /// Adds a loop whose first iterations have been counted. Returns false when it leaves a gap.
  bool grow(const te::For& loop) {
    const std::optional<int64_t> by = coefficient_of(at_, loop.var);
    if (!by || *by != length_) return false;
    begin_ = begin_ - te::Expr(loop.var) * *by;
    length_ *= *te::as_int(loop.extent);
    grow_inside();
    return true;
  }
  bool is_whole() const { return is_known_ && inside_.empty(); }
  int64_t length() const { return length_; }
  const te::Expr& begin() const { return begin_; }

 private:
  void add(const te::For& loop) {
    const std::optional<int64_t> by = coefficient_of(at_, loop.var);
    is_known_ = is_known_ && by && is_counted(loop);
    if (!is_known_ || *by == 0) return;
    begin_ = begin_ - te::Expr(loop.var) * *by;
    inside_.emplace_back(*by, *te::as_int(loop.extent));
    grow_inside();
  }
  void grow_inside() {
    auto is_next = [&](const auto& loop) { return loop.first == length_; };
    for (auto at = std::ranges::find_if(inside_, is_next); at != inside_.end();
         at = std::ranges::find_if(inside_, is_next)) {
      length_ *= at->second;
      inside_.erase(at);
    }
  }

  const te::Expr at_;
  te::Expr begin_;
  int64_t length_ = 1;
  bool is_known_ = true;
  std::vector<std::pair<int64_t, int64_t>> inside_;  // steps and extents that are not counted yet
};

// Returns what an iteration of `terms` prefetches of the next panel: when all tiles are done, they
// have covered it. nullopt: the load reads no panel. The loops over terms may be several.
std::optional<Panel> Prefetcher::panel_of(const te::For& terms, const Inside& inside,
                                          const te::Load& load) const {
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset) return std::nullopt;
  te::Ranges ranges = ranges_;
  for (const te::For* loop : inside.loops) {
    if (is_counted(*loop)) ranges[loop->var.id()] = {0, *te::as_int(loop->extent) - 1};
  }
  ranges[terms.var.id()] = {0, *te::as_int(terms.extent) - 1};
  const te::Expr at = te::simplify(*offset, ranges);
  Extent panel(at, inside);
  te::Expr term = terms.var;
  int64_t count = *te::as_int(terms.extent);
  if (!panel.grow(terms)) return std::nullopt;
  size_t depth = around_.size();
  while (depth > 2 && is_counted_in_order(*around_[depth - 1], INT64_MAX) &&
         panel.grow(*around_[depth - 1])) {
    const te::For& outer = *around_[--depth];
    term = te::Expr(outer.var) * count + term;
    count *= *te::as_int(outer.extent);
  }
  const te::For &panels = *around_[depth - 2], &tiles = *around_[depth - 1];
  const int64_t bytes = bytes_of(load.tensor);
  if (count < kLeastTerms || !panel.is_whole() || !is_counted_in_order(tiles, kMostTiles) ||
      coefficient_of(at, tiles.var) != 0 || coefficient_of(at, panels.var) != panel.length() ||
      panel.length() * bytes < kLeastBytes)
    return std::nullopt;
  const int64_t step = (panel.length() - 1) / (*te::as_int(tiles.extent) * count) + 1;
  const te::Expr part = (te::Expr(tiles.var) * count + term) * step;
  Panel out{load.tensor, {}};
  for (int64_t line = 0; line < step * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(panel.begin() + panel.length() + part + line / bytes, ranges));
  return out;
}

// Returns all of the next panel that a term of it begins at, for one tile, which reads each panel
// once. nullopt: the load reads no panel.
std::optional<Panel> Prefetcher::panel_of_tile(const te::For& terms, const te::For& lanes,
                                               const te::Load& load) const {
  const te::For& panels = *around_.back();
  const int64_t k = *te::as_int(terms.extent), width = *te::as_int(lanes.extent);
  const int64_t bytes = bytes_of(load.tensor);
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset || width * bytes < kLineBytes) return std::nullopt;
  te::Ranges ranges = ranges_;
  ranges[lanes.var.id()] = {0, width - 1};
  ranges[terms.var.id()] = {0, k - 1};
  const te::Expr at = te::simplify(*offset, ranges);
  if (coefficient_of(at, lanes.var) != 1 || coefficient_of(at, terms.var) != width ||
      coefficient_of(at, panels.var) != k * width)
    return std::nullopt;
  Panel out{load.tensor, {}};
  for (int64_t line = 0; line < width * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(at - te::Expr(lanes.var) + k * width + line / bytes, ranges));
  return out;
}

std::optional<Panel> Prefetcher::panel_of(const te::For& terms) const {
  if (!is_counted_in_order(terms, INT64_MAX) || terms.body.is_empty() || around_.empty())
    return std::nullopt;
  Seen seen;
  Inside inside;
  look(terms.body, seen, inside);
  if (inside.has_loops) return std::nullopt;
  std::erase_if(inside.loads, [&](const te::Load* load) {
    return std::ranges::find(inputs_, load->tensor) == inputs_.end();
  });
  auto is_inside = [&](const te::Expr& x) {
    return std::ranges::any_of(inside.vars, [&](const te::Var& var) { return has_var(x, var); });
  };
  for (const te::Load* load : inside.loads) {
    std::optional<Panel> found = around_.size() > 1 ? panel_of(terms, inside, *load) : std::nullopt;
    if (found && !is_inside(found->next[0])) return found;
  }
  if (*te::as_int(terms.extent) < kLeastTerms) return std::nullopt;
  for (const te::Load* load : inside.loads) {
    for (const te::For* lanes : inside.lanes) {
      std::optional<Panel> found =
          is_counted(*lanes) ? panel_of_tile(terms, *lanes, *load) : std::nullopt;
      if (found && !is_inside(found->next[0])) return found;
    }
  }
  return std::nullopt;
}

te::Stmt prefetch_of(const te::Tensor& tensor, const te::Expr& element) {
  te::Exprs indices(tensor.rank(), te::Expr(0));
  indices.back() = element;
  return te::make_intrinsic(kPrefetch, {{tensor, std::move(indices)}}, {});
}

// Returns the body of a loop over terms with its prefetches. Many lines at once occupy the buffers
// that loads from the second cache need: where a block of terms is written out, each term gets its
// part, rounded up.
te::Stmt with_lines(const te::For& terms, const Panel& panel) {
  const te::For* written = written_terms(terms);
  const auto lines = static_cast<int64_t>(panel.next.size());
  std::vector<te::Stmt> out;
  if (written == nullptr || lines < *te::as_int(written->extent)) {
    for (const te::Expr& next : panel.next) out.push_back(prefetch_of(panel.tensor, next));
    out.push_back(terms.body);
    return te::make_block(std::move(out));
  }
  const int64_t part = (lines - 1) / *te::as_int(written->extent) + 1;
  const int64_t line = kLineBytes / bytes_of(panel.tensor);
  for (int64_t k = 0; k < part; ++k)
    out.push_back(prefetch_of(panel.tensor,
                              panel.next[0] + te::Expr(written->var) * (part * line) + k * line));
  out.push_back(written->body);
  return te::make_for(written->var, written->begin, written->extent, written->kind,
                      te::make_block(std::move(out)));
}

te::Stmt Prefetcher::rewrite_for(const te::For& loop) {
  if (std::optional<Panel> panel = panel_of(loop))
    return te::make_for(loop.var, loop.begin, loop.extent, loop.kind, with_lines(loop, *panel));
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
