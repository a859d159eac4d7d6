// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/row_prefetch.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/panel.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kRowLineBytes = 64;
constexpr int64_t kRowsAhead = 2;  // of results: memory answers while one row is computed
constexpr int64_t kMostLines = 64;
constexpr size_t kRank = 4, kChannel = 1, kRow = 2, kColumn = 3;

// An index, as what loops around a tile make of it, and the number of places that the tile reads.
struct Span {
  te::Expr begin;
  int64_t count;
};

std::optional<Span> span_of(const te::Expr& index, const Inside& inside) {
  Span out{index, 1};
  for (const te::For* loop : inside.loops) {
    if (!has_var(index, loop->var)) continue;
    const std::optional<int64_t> by = coefficient_of(index, loop->var);
    const std::optional<int64_t> extent = te::as_int(loop->extent);
    if (!by || *by < 0 || !extent || te::as_int(loop->begin) != 0) return std::nullopt;
    out.begin = out.begin - te::Expr(loop->var) * *by;
    out.count += *by * (*extent - 1);
  }
  if (has_any(index, inside.lets)) return std::nullopt;
  return out;
}

class RowPrefetcher {
 public:
  explicit RowPrefetcher(const std::vector<te::Tensor>& inputs) : inputs_(inputs) {}
  te::Stmt rewrite(const te::Stmt& stmt, const te::For* around);

 private:
  std::vector<te::Stmt> prefetches(const te::For& rows, const te::For& tiles) const;
  std::vector<te::Stmt> prefetches(const te::For& rows, const te::For& tiles, const Inside& inside,
                                   const te::Load& load) const;

  const std::vector<te::Tensor>& inputs_;
};

// Returns those of one load: the rows that its window reaches for the first time kRowsAhead rows of
// results later, and of them the columns up to the next tile. Lines of adjacent tiles have no gaps.
std::vector<te::Stmt> RowPrefetcher::prefetches(const te::For& rows, const te::For& tiles,
                                                const Inside& inside, const te::Load& load) const {
  BYOC_CHECK(load.indices.size() == kRank, "an image of rank ", load.indices.size());
  const te::Expr &row = load.indices[kRow], &column = load.indices[kColumn];
  const int64_t step = coefficient_of(row, rows.var).value_or(0);
  const int64_t width = coefficient_of(column, tiles.var).value_or(0);
  if (step <= 0 || width <= 0 || has_var(row, tiles.var) || has_var(column, rows.var)) return {};
  std::vector<Span> spans;
  for (const te::Expr& index : load.indices) {
    std::optional<Span> span = span_of(index, inside);
    if (!span) return {};
    spans.push_back(*std::move(span));
  }
  const int64_t per_line = kRowLineBytes / static_cast<int64_t>(dtype_size(load.tensor.dtype()));
  const int64_t news = std::min(step, spans[kRow].count), channels = spans[kChannel].count;
  BYOC_CHECK(spans.size() == kRank && per_line > 0 && news > 0, spans.size(), " spans, ", per_line,
             " elements in a line, ", news, " new rows");
  const int64_t lines = (width + per_line - 1) / per_line;
  if (channels * news * lines > kMostLines) return {};
  std::vector<te::Stmt> out;
  for (int64_t k = 0; k < channels * news * lines; ++k) {
    te::Exprs at;
    for (const Span& span : spans) at.push_back(span.begin);
    at[kChannel] = at[kChannel] + k / lines / news;
    at[kRow] = at[kRow] + (kRowsAhead * step + spans[kRow].count - news + k / lines % news);
    at[kColumn] = at[kColumn] + k % lines * per_line;
    for (te::Expr& index : at) index = te::simplify(index);
    out.push_back(te::make_intrinsic(kPrefetch, {{load.tensor, std::move(at)}}, {}));
  }
  return out;
}

std::vector<te::Stmt> RowPrefetcher::prefetches(const te::For& rows, const te::For& tiles) const {
  if (rows.kind != te::LoopKind::kSerial || tiles.kind != te::LoopKind::kSerial) return {};
  const Inside inside = inside_of(tiles.body);
  for (const te::Load* load : inside.loads) {
    if (load->tensor.rank() != kRank || !std::ranges::count(inputs_, load->tensor)) continue;
    std::vector<te::Stmt> out = prefetches(rows, tiles, inside, *load);
    if (!out.empty()) return out;
  }
  return {};
}

te::Stmt RowPrefetcher::rewrite(const te::Stmt& stmt, const te::For* around) {
  if (stmt.is_empty()) return stmt;
  auto into = [&](const te::Stmt& inner) { return rewrite(inner, around); };
  return std::visit(
      overloaded{
          [&](const te::For& v) {
            std::vector<te::Stmt> body;
            if (around != nullptr && !v.body.is_empty()) body = prefetches(*around, v);
            body.push_back(body.empty() ? rewrite(v.body, &v) : v.body);
            return te::make_for(v.var, v.begin, v.extent, v.kind, te::make_block(std::move(body)));
          },
          [&](const te::Store&) { return stmt; },
          [&](const te::If& v) { return te::make_if(v.condition, into(v.yes), into(v.no)); },
          [&](const te::Let& v) { return te::make_let(v.var, v.value, into(v.body)); },
          [&](const te::Alloc& v) { return te::make_alloc(v.tensor, v.scope, into(v.body)); },
          [&](const te::Block& v) {
            std::vector<te::Stmt> stmts;
            for (const te::Stmt& inner : v.stmts) stmts.push_back(into(inner));
            return te::make_block(std::move(stmts));
          },
          [&](const te::Intrinsic&) { return stmt; },
      },
      stmt->kind);
}

}  // namespace

te::LoopFunction with_row_prefetches(te::LoopFunction function) {
  function.body = RowPrefetcher(function.inputs).rewrite(function.body, nullptr);
  return function;
}

}  // namespace byoc::llvm_plugin::topi
