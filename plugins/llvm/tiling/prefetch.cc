// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/prefetch.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/panel.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kLeastTerms = 16;    // that divide a panel
constexpr int64_t kLeastBytes = 1024;  // of a panel: smaller ones the hardware has in time
constexpr int64_t kMostTiles = 64;     // more of them hide the memory without prefetches

struct Panel {
  te::Tensor tensor;
  te::Exprs next;        // elements, one in each line to prefetch
  int64_t step = 0;      // elements of the next panel in all
  bool is_open = false;  // parts of it are those of each run's tiles
};

int64_t bytes_of(const te::Tensor& tensor) {
  return static_cast<int64_t>(dtype_size(tensor.dtype()));
}

// Returns the loop over a block of terms that is written out inside of a loop over blocks.
const te::For* written_terms(const te::For& blocks) {
  auto* inner = std::get_if<te::For>(&blocks.body->kind);
  const bool is_written =
      inner != nullptr && inner->kind == te::LoopKind::kUnrolled && is_counted(*inner);
  return is_written ? inner : nullptr;
}

// Returns the terms of an iteration of a loop over blocks of them.
int64_t terms_of(const te::For& blocks) {
  const te::For* written = written_terms(blocks);
  return written == nullptr ? 1 : *te::as_int(written->extent);
}

// Returns the iterations of a loop over tiles, 0 where they are not known.
int64_t tiles_of(const te::For& loop) {
  return is_counted_in_order(loop) ? *te::as_int(loop.extent) : 0;
}

// Returns the tiles of a run that gives the extent of a loop over tiles, which another one may
// follow, as an expression of sizes; empty for other loops.
te::Expr open_tiles_of(const te::For& loop) {
  const bool is_open = te::as_int(loop.begin) == 0 && loop.kind == te::LoopKind::kSerial &&
                       te::is_of_sizes(loop.extent);
  if (!is_open) return {};
  const bool is_end = te::bounds_of(loop.extent).hi <= 2;  // the last tiles, after the others
  return is_end ? loop.extent : loop.extent + 1;
}

/// A loop, the statement after it, nullptr for none, and whether another loop is all of its body.
struct Around {
  const te::For* loop;
  const te::Stmt* next;
  bool is_nest;
};

class Prefetcher {
 public:
  explicit Prefetcher(const std::vector<te::Tensor>& inputs) : inputs_(inputs) {}
  te::Stmt rewrite(const te::Stmt& stmt);

 private:
  te::Stmt rewrite_for(const te::For& loop, const te::Stmt* next);
  te::Stmt rewrite_block(const te::Block& block);
  std::optional<Panel> panel_of(const te::For& terms);
  std::optional<Panel> panel_of(const te::For& terms, const Inside& inside, const te::Load& load,
                                bool is_alone);
  std::optional<Panel> panel_of_tile(const te::For& terms, const te::For& lanes,
                                     const te::Load& load) const;
  std::vector<const te::For*> blocks_around() const;

  const std::vector<te::Tensor>& inputs_;
  std::vector<Around> around_;       // loops of several iterations, outer first
  const te::Stmt* after_ = nullptr;  // the statement after this one in the last of them
  te::Ranges ranges_;
  std::unordered_map<const te::For*, Panel> of_rests_;
};

// Returns elements [from, from + step * terms) of the next panel, `step` of them for each term.
Panel lines_of(const te::Tensor& tensor, const Reads& reads, const te::Expr& term, int64_t from,
               int64_t step, const te::Ranges& ranges) {
  Panel out{tensor, {}, step};
  BYOC_CHECK(step > 0, "a term prefetches ", step, " elements of ", tensor.name());
  const int64_t bytes = bytes_of(tensor);
  const te::Expr begin = reads.panel.begin() + (reads.panel.length() + from) + term * step;
  for (int64_t line = 0; line < step * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(begin + line / bytes, ranges));
  return out;
}

// Returns the part of the next panel that a term of tile `tile` of so many prefetches, whose number
// each run gives. Where there are several, lines that the next terms prefetch are among them. Parts
// are rounded up, and the last tiles have the end of the panel, mostly from the caches: rounded
// down, parts of a term's elements are nothing where there are more tiles than elements.
Panel open_lines_of(const te::Tensor& tensor, const Reads& reads, const te::Expr& tile,
                    const te::Expr& tiles, int64_t most, const te::Ranges& ranges) {
  Panel out{tensor, {}, most, true};
  const int64_t bytes = bytes_of(tensor);
  const te::Expr step = te::floor_div(tiles + (most - 1), tiles), part = step * reads.count;
  const te::Expr last = te::max(te::Expr(0), te::Expr(reads.panel.length()) - part);
  const te::Expr begin =
      reads.panel.begin() + reads.panel.length() + te::min(tile * part, last) + reads.term * step;
  for (int64_t line = 0; line < most * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(begin + line / bytes, ranges));
  return out;
}

int64_t part_of(int64_t whole, int64_t parts) {
  BYOC_CHECK(whole > 0 && parts > 0, whole, " elements in ", parts, " parts");
  return (whole - 1) / parts + 1;
}

/// The tile that is left over after a loop over tiles.
struct Rest {
  const te::For* terms;
  Reads reads;
  te::Ranges ranges;
  int64_t written;
};

// Returns the tile after a loop over tiles which reads the same panel in as many terms.
std::optional<Rest> rest_of(const te::Stmt& next, const te::Tensor& tensor, const Reads& tiles,
                            const te::For& panels, const te::Ranges& ranges) {
  for (const Terms& terms : terms_in(next)) {
    const Inside inside = inside_of(terms.loop->body);
    te::Ranges all = with_loops(ranges, inside, *terms.loop);
    for (const te::For* block : terms.blocks)
      all[block->var.id()] = {0, *te::as_int(block->extent) - 1};
    for (const te::Load* load : inside.loads) {
      if (load->tensor != tensor) continue;
      std::optional<Reads> reads = reads_of(*load, *terms.loop, inside, terms.blocks, all);
      if (reads && reads->blocks == terms.blocks.size() && reads->panel.is_whole() &&
          reads->panel.length() == tiles.panel.length() && reads->count == tiles.count &&
          !has_any(reads->panel.begin(), inside.lets) &&
          coefficient_of(reads->at, panels.var) == tiles.panel.length())
        return Rest{terms.loop, *std::move(reads), std::move(all), inside.written};
    }
  }
  return std::nullopt;
}

// Returns the elements that a term prefetches. Each term that is written out prefetches whole
// lines, so that a few elements more would cost a line of each; the tile after the others has them.
int64_t step_of(int64_t part, int64_t unit, bool has_rest) {
  const bool has_few_more = has_rest && part > unit && part % unit < unit / 4;
  return has_few_more ? part - part % unit : part;
}

// Returns the loops that have nothing but the loop over terms in them, outer first.
std::vector<const te::For*> Prefetcher::blocks_around() const {
  size_t first = around_.size();
  while (first > 0 && around_[first - 1].is_nest) --first;
  std::vector<const te::For*> out;
  for (size_t k = first; k < around_.size(); ++k) out.push_back(around_[k].loop);
  return out;
}

// Returns what an iteration of `terms` prefetches of the next panel: when all tiles are done, they
// have covered it, each a part by its multiply-adds. nullopt: the load reads no panel. The loops
// over terms may be several. `is_alone`: there is no loop over tiles, for one tile reads the panel.
std::optional<Panel> Prefetcher::panel_of(const te::For& terms, const Inside& inside,
                                          const te::Load& load, bool is_alone) {
  const te::Ranges ranges = with_loops(ranges_, inside, terms);
  std::optional<Reads> reads = reads_of(load, terms, inside, blocks_around(), ranges);
  if (!reads || reads->blocks >= around_.size()) return std::nullopt;
  const Around& last = around_[around_.size() - reads->blocks - 1];
  const int64_t length = reads->panel.length();
  if (reads->count * terms_of(terms) < kLeastTerms || !reads->panel.is_whole() ||
      length * bytes_of(load.tensor) < kLeastBytes)
    return std::nullopt;
  const int64_t tiles = is_alone ? 1 : tiles_of(*last.loop);
  const te::Expr open_tiles = is_alone || tiles > 0 ? te::Expr() : open_tiles_of(*last.loop);
  if (!is_alone &&
      (reads->blocks + 2 > around_.size() || tiles > kMostTiles ||
       (tiles == 0 && open_tiles.is_empty()) || coefficient_of(reads->at, last.loop->var) != 0))
    return std::nullopt;
  const te::For& panels = is_alone ? *last.loop : *(&last - 1)->loop;
  if (coefficient_of(reads->at, panels.var) != length) return std::nullopt;
  if (!open_tiles.is_empty())
    return open_lines_of(load.tensor, *reads, last.loop->var, open_tiles,
                         part_of(length, reads->count), ranges);
  const te::Expr tile = is_alone ? te::Expr(0) : te::Expr(last.loop->var);
  std::optional<Rest> rest;
  if (const te::Stmt* next = is_alone ? after_ : last.next)
    rest = rest_of(*next, load.tensor, *reads, panels, ranges_);
  const int64_t count = tiles * reads->count;
  int64_t covered = length;
  if (rest) {
    const int64_t written = inside.written * tiles;
    covered = length * written / (written + rest->written);
  }
  const int64_t unit = terms_of(terms) * kLineBytes / bytes_of(load.tensor);
  const int64_t step = step_of(part_of(covered, count), unit, rest.has_value());
  if (rest && step * count < length) {
    const int64_t left = part_of(length - step * count, reads->count);
    of_rests_.emplace(rest->terms, lines_of(load.tensor, rest->reads, rest->reads.term,
                                            step * count, left, rest->ranges));
  }
  return lines_of(load.tensor, *reads, tile * reads->count + reads->term, 0, step, ranges);
}

// Returns all of the next panel that a term of it begins at, for one tile, which reads each panel
// once. nullopt: the load reads no panel.
std::optional<Panel> Prefetcher::panel_of_tile(const te::For& terms, const te::For& lanes,
                                               const te::Load& load) const {
  BYOC_CHECK(!around_.empty(), "loop ", terms.var.name(), " over terms is in no loop over panels");
  const te::For& panels = *around_.back().loop;
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
  Panel out{load.tensor, {}, width};
  for (int64_t line = 0; line < width * bytes; line += kLineBytes)
    out.next.push_back(te::simplify(at - te::Expr(lanes.var) + k * width + line / bytes, ranges));
  return out;
}

std::optional<Panel> Prefetcher::panel_of(const te::For& terms) {
  if (!is_counted_in_order(terms) || terms.body.is_empty() || around_.empty()) return std::nullopt;
  Inside inside = inside_of(terms.body);
  if (inside.has_loops) return std::nullopt;
  std::erase_if(inside.loads, [&](const te::Load* load) {
    return std::ranges::find(inputs_, load->tensor) == inputs_.end();
  });
  auto is_inside = [&](const te::Expr& x) {
    auto has = [&](const te::For* loop) { return has_var(x, loop->var); };
    return std::ranges::any_of(inside.loops, has) || has_any(x, inside.lets);
  };
  // Rows, whose elements all lanes share, move with several tiles as a panel does with one.
  auto has_lanes = [&](const te::Load* load) {
    return std::ranges::any_of(inside.lanes, [&](const te::For* lanes) {
      return std::ranges::any_of(load->indices,
                                 [&](const te::Expr& x) { return has_var(x, lanes->var); });
    });
  };
  for (bool is_alone : {false, true}) {
    for (const te::Load* load : inside.loads) {
      if (is_alone && !has_lanes(load)) continue;
      std::optional<Panel> found = panel_of(terms, inside, *load, is_alone);
      if (found && !is_inside(found->next[0])) return found;
    }
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
  BYOC_CHECK(tensor.rank() > 0, "tensor ", tensor.name(), " has one element, and no next one");
  te::Exprs indices(tensor.rank(), te::Expr(0));
  indices.back() = element;
  return te::make_intrinsic(kPrefetch, {{tensor, std::move(indices)}}, {});
}

// Returns the body of a loop over terms with its prefetches. Many lines at once occupy the buffers
// that loads from the second cache need, and prefetches for which there is no buffer are dropped:
// where a block of terms is written out, each term gets its part, lines that two terms touch twice.
te::Stmt with_lines(const te::For& terms, const Panel& panel) {
  const te::For* written = written_terms(terms);
  const auto lines = static_cast<int64_t>(panel.next.size());
  BYOC_CHECK(lines > 0, "a panel of ", panel.tensor.name(), " has lines");
  std::vector<te::Stmt> out;
  if (written == nullptr || panel.is_open || lines < *te::as_int(written->extent)) {
    for (const te::Expr& next : panel.next) out.push_back(prefetch_of(panel.tensor, next));
    out.push_back(terms.body);
    return te::make_block(std::move(out));
  }
  const int64_t extent = *te::as_int(written->extent);
  const int64_t line = kLineBytes / bytes_of(panel.tensor);
  const te::Expr begin =
      panel.next[0] + te::floor_div(te::Expr(written->var) * panel.step, te::Expr(extent));
  for (int64_t at = 0; at < part_of(panel.step, extent); at += line)
    out.push_back(prefetch_of(panel.tensor, begin + at));
  out.push_back(written->body);
  return te::make_for(written->var, written->begin, written->extent, written->kind,
                      te::make_block(std::move(out)));
}

te::Stmt Prefetcher::rewrite_for(const te::For& loop, const te::Stmt* next) {
  auto with = [&](te::Stmt body) {
    return te::make_for(loop.var, loop.begin, loop.extent, loop.kind, std::move(body));
  };
  if (auto planned = of_rests_.find(&loop); planned != of_rests_.end())
    return with(with_lines(loop, planned->second));
  if (std::optional<Panel> panel = panel_of(loop)) return with(with_lines(loop, *panel));
  const bool is_around = te::as_int(loop.extent) != 1;
  const bool is_nest = !loop.body.is_empty() && std::holds_alternative<te::For>(loop.body->kind);
  const te::Stmt* const after = after_;
  if (is_around) around_.push_back({&loop, next, is_nest}), after_ = nullptr;
  if (is_counted(loop)) ranges_[loop.var.id()] = {0, *te::as_int(loop.extent) - 1};
  te::Stmt body = rewrite(loop.body);
  if (is_around) around_.pop_back();
  after_ = after;
  ranges_.erase(loop.var.id());
  return with(std::move(body));
}

te::Stmt Prefetcher::rewrite_block(const te::Block& block) {
  std::vector<te::Stmt> out;
  const te::Stmt* const after = after_;
  for (size_t s = 0; s < block.stmts.size(); ++s) {
    const te::Stmt* next = s + 1 < block.stmts.size() ? &block.stmts[s + 1] : nullptr;
    after_ = next == nullptr ? after : next;
    auto* loop = std::get_if<te::For>(&block.stmts[s]->kind);
    out.push_back(loop != nullptr ? rewrite_for(*loop, next) : rewrite(block.stmts[s]));
  }
  after_ = after;
  return te::make_block(std::move(out));
}

te::Stmt Prefetcher::rewrite(const te::Stmt& stmt) {
  if (stmt.is_empty()) return stmt;
  return std::visit(
      overloaded{
          [&](const te::For& v) { return rewrite_for(v, nullptr); },
          [&](const te::Store&) { return stmt; },
          [&](const te::If& v) { return te::make_if(v.condition, rewrite(v.yes), rewrite(v.no)); },
          [&](const te::Let& v) { return te::make_let(v.var, v.value, rewrite(v.body)); },
          [&](const te::Alloc& v) { return te::make_alloc(v.tensor, v.scope, rewrite(v.body)); },
          [&](const te::Block& v) { return rewrite_block(v); },
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
