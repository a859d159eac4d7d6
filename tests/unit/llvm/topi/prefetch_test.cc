// SPDX-License-Identifier: Apache-2.0
// Prefetches that loops over tiles of a convolution get.
#include "plugins/llvm/tiling/prefetch.h"

#include <gmock/gmock.h>

#include <set>

#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/row_prefetch.h"

namespace byoc::llvm_plugin::topi {
namespace {

using te::Expr;
using te::LoopKind;

struct Panels {
  int64_t count = 4, streams = 1;  // blocks of weights per panel
  int64_t gap = 0;                 // blocks after a panel that no tile reads
  int64_t blocks = 2;              // of 16 terms
  LoopKind terms = LoopKind::kSerial;
  int64_t cells = 1, rest = 0;  // of a tile, and of the one after the loop over tiles
  int64_t tiles = 4;
};

// Returns loops over panels of blocks of weights w[block, blocks, 16, 16], which four tiles read,
// and a smaller one after them: all blocks of a panel for each term, two loops over terms. Before
// them a tile has a loop that makes its sums 0.
te::LoopFunction tiles(const Panels& of) {
  te::Tensor w("w", DType::kF32, {of.count * (of.streams + of.gap), of.blocks, 16, 16}),
      y("y", DType::kF32, {16, 16});
  auto sum = [&](const te::Exprs& at) {  // panel, blocks of terms, terms, cell, stream
    return te::loop(
        "l", 16,
        [&](Expr l) {
          return te::make_store(
              y, {at[3], l},
              y(at[3], l) + w(at[0] * (of.streams + of.gap) + at[4], at[1], at[2], l));
        },
        LoopKind::kVectorized);
  };
  auto tile = [&](Expr p, int64_t cells) {
    const te::Stmt zeros = te::loop(
        "z", 16,
        [&](Expr l) {
          return te::make_store(y, {0, l}, te::constant(DType::kF32, 0));
        },
        LoopKind::kVectorized);
    const te::Stmt sums = te::loop("r0", of.blocks, [&](Expr r0) {
      auto term = [&](Expr r1) {
        auto cell = [&](Expr c) {
          auto stream = [&](Expr i) { return sum({p, r0, r1, c, i}); };
          return te::loop("i", of.streams, stream, LoopKind::kUnrolled);
        };
        return te::loop("c", cells, cell, LoopKind::kUnrolled);
      };
      return te::loop("r1", 16, term, of.terms);
    });
    te::Tensor sum("sum", DType::kF32, {16});
    return te::make_alloc(sum, te::Scope::kStack, te::make_block({zeros, sums}));
  };
  te::Stmt body = te::loop("p", of.count, [&](Expr p) {
    std::vector<te::Stmt> stmts = {
        of.tiles == 1 ? tile(p, of.cells)
                      : te::loop("t", of.tiles, [&](Expr) { return tile(p, of.cells); })};
    if (of.rest > 0) stmts.push_back(tile(p, of.rest));
    return te::make_block(std::move(stmts));
  });
  return {"tiles", {w}, {y}, body};
}

struct Prefetched {
  std::vector<const te::For*> loops;  // around it, outer first
  te::Tensor tensor;
  Expr element;
};

void find(const te::Stmt& stmt, std::vector<const te::For*>& around, std::vector<Prefetched>& out) {
  if (auto* call = std::get_if<te::Intrinsic>(&stmt->kind); call && call->name == kPrefetch)
    out.push_back({around, call->places[0].tensor, call->places[0].indices.back()});
  auto* loop = std::get_if<te::For>(&stmt->kind);
  if (loop != nullptr) around.push_back(loop);
  for_each_inner(*stmt, [&](const te::Stmt& inner) { find(inner, around, out); });
  if (loop != nullptr) around.pop_back();
}

std::vector<Prefetched> prefetched_in(const te::LoopFunction& function) {
  std::vector<Prefetched> out;
  std::vector<const te::For*> around;
  find(function.body, around, out);
  return out;
}

// Appends the lines of 16 elements that the iterations of `loops` from `k` on prefetch, others as
// `at` has them.
void add_lines(const Prefetched& found, size_t k, te::Ranges& at, te::Substitution& sizes,
               std::set<int64_t>& out) {
  if (k == found.loops.size()) {
    const te::Interval element = te::bounds_of(sizes(found.element), at);
    ASSERT_EQ(element.lo, element.hi);
    out.insert(element.lo / 16);
    return;
  }
  const te::For& loop = *found.loops[k];
  for (int64_t i = 0; i < *te::as_int(te::simplify(sizes(loop.extent))); ++i) {
    at[loop.var.id()] = {i, i};
    add_lines(found, k + 1, at, sizes, out);
  }
}

// Returns the lines that the tiles of the first panel prefetch, with these sizes.
std::set<int64_t> lines_of(const std::vector<Prefetched>& all, te::VarMap at_sizes = {}) {
  std::set<int64_t> out;
  te::Substitution sizes(std::move(at_sizes));
  for (const Prefetched& found : all) {
    te::Ranges at = {{found.loops[0]->var.id(), {0, 0}}};
    add_lines(found, 1, at, sizes, out);
  }
  return out;
}

void expect_next_panel(const std::set<int64_t>& lines, int64_t panel) {
  for (int64_t line = panel; line < 2 * panel; ++line) EXPECT_TRUE(lines.contains(line)) << line;
  EXPECT_EQ(*lines.begin(), panel);
  EXPECT_LE(*lines.rbegin(), 2 * panel + 32) << "little more than the panel";
}

TEST(Prefetch, CoversTheNextPanelOfSeveralBlocksAndLoopsOverTerms) {
  for (int64_t streams : {1, 2, 3, 5}) {
    SCOPED_TRACE(streams);
    expect_next_panel(lines_of(prefetched_in(with_prefetches(tiles({.streams = streams})))),
                      streams * 2 * 16);
  }
}

// 16 terms in a row would otherwise begin with all lines that they prefetch. A loop over few blocks
// of terms has many terms.
TEST(Prefetch, IsSpreadOverTermsThatAreWrittenOut) {
  for (int64_t blocks : {2, 16}) {
    for (int64_t streams : {4, 5, 7, 8}) {
      SCOPED_TRACE(cat(blocks, " blocks, ", streams));
      const te::LoopFunction function = with_prefetches(
          tiles({.streams = streams, .blocks = blocks, .terms = LoopKind::kUnrolled}));
      const std::vector<Prefetched> found = prefetched_in(function);
      expect_next_panel(lines_of(found), streams * blocks * 16);
      EXPECT_EQ(found.size(), streams > 4 ? 2u : 1u) << "lines of a term";
      for (const Prefetched& one : found) EXPECT_EQ(one.loops.back()->kind, LoopKind::kUnrolled);
    }
  }
}

// The tile that is left over has its part of the panel, by its multiply-adds: others would prefetch
// faster than memory delivers, and the processor drops such prefetches.
TEST(Prefetch, IsSharedWithTheTileAfterTheOthers) {
  for (int64_t streams : {3, 4, 7}) {
    for (LoopKind terms : {LoopKind::kSerial, LoopKind::kUnrolled}) {
      SCOPED_TRACE(cat(streams, terms == LoopKind::kSerial ? " serial" : " written out"));
      const te::LoopFunction function = with_prefetches(
          tiles({.streams = streams, .blocks = 16, .terms = terms, .cells = 6, .rest = 4}));
      const std::vector<Prefetched> all = prefetched_in(function);
      const int64_t panel = streams * 16 * 16;
      expect_next_panel(lines_of(all), panel);
      std::vector<Prefetched> of_rest;
      for (const Prefetched& one : all) {
        if (te::as_int(one.loops[1]->extent) != 4) of_rest.push_back(one);  // not a loop over tiles
      }
      const auto lines = static_cast<int64_t>(lines_of(of_rest).size());
      const int64_t rounding = terms == LoopKind::kSerial ? 4 * 256 / 16 : 4;  // an element a term
      EXPECT_GE(lines, panel * 4 / (4 * 6 + 4) - rounding);
      EXPECT_LE(lines, panel * 4 / (4 * 6 + 4) + 4);
    }
  }
}

// Lowering makes no loop over one tile; 25 cells are 13 and 12.
TEST(Prefetch, CoversThePanelsOfOneTileAndTheTileAfterIt) {
  for (auto [cells, rest] : {std::pair(8, 0), std::pair(13, 12)}) {
    for (int64_t blocks : {2, 16}) {
      SCOPED_TRACE(cat(cells, " ", rest, " ", blocks));
      const te::LoopFunction function = with_prefetches(tiles({.streams = 2,
                                                               .blocks = blocks,
                                                               .terms = LoopKind::kUnrolled,
                                                               .cells = cells,
                                                               .rest = rest,
                                                               .tiles = 1}));
      const std::vector<Prefetched> all = prefetched_in(function);
      expect_next_panel(lines_of(all), 2 * blocks * 16);
      EXPECT_LE(all.size(), rest == 0 ? 2u : 3u) << "lines of a term";
    }
  }
}

TEST(Prefetch, OfAnotherPanelIsNotSharedWithTheNextTile) {
  te::LoopFunction function = tiles({.streams = 2, .blocks = 16, .cells = 2});
  te::Tensor other("other", DType::kF32, {256}), y = function.outputs[0];
  auto term = [&](Expr r) { return te::make_store(y, {0, 0}, y(0, 0) + other(r)); };
  function.inputs.push_back(other);
  function.body = te::make_block({function.body, te::loop("r", 256, term)});
  function = with_prefetches(function);
  expect_next_panel(lines_of(prefetched_in(function)), 2 * 16 * 16);
}

// Returns tiles of rows a[tiles, 4, 128], each of which reads every panel of weights w[8, 128, 16].
te::LoopFunction tiles_of_rows(const Expr& tiles) {
  te::Tensor a("a", DType::kF32, {tiles, 4, 128}), w("w", DType::kF32, {8, 128, 16}),
      y("y", DType::kF32, {8, tiles * 4, 16});
  auto sum = [&](Expr p, Expr t, Expr r, Expr c) {
    return te::loop(
        "l", 16,
        [&](Expr l) {
          const te::Exprs to = {p, t * 4 + c, l};
          return te::make_store(y, to, y(p, t * 4 + c, l) + a(t, c, r) * w(p, r, l));
        },
        LoopKind::kVectorized);
  };
  te::Stmt body = te::loop("p", 8, [&](Expr p) {
    return te::loop("t", tiles, [&](Expr t) {
      const te::Stmt zero = te::make_store(y, {p, t * 4, 0}, te::constant(DType::kF32, 0));
      const te::Stmt sums = te::loop("r", 128, [&](Expr r) {
        auto cell = [&](Expr c) { return sum(p, t, r, c); };
        return te::loop("c", 4, cell, LoopKind::kUnrolled);
      });
      return te::make_block({zero, sums});
    });
  });
  return {"rows", {a, w}, {y}, body};
}

// The rows move with the loop over tiles as panels of a single tile do, but they are read again for
// each panel.
TEST(Prefetch, IsOfThePanelThatTilesOfRowsShare) {
  const te::LoopFunction function = with_prefetches(tiles_of_rows(2));
  const std::vector<Prefetched> found = prefetched_in(function);
  for (const Prefetched& one : found) EXPECT_EQ(one.tensor, function.inputs[1]);
  expect_next_panel(lines_of(found), 128);
}

// A run of one tile prefetches all of the next panel, and the tiles of others their parts of it.
TEST(Prefetch, IsSharedByTheTilesOfEachRun) {
  const auto lines_at = [](int64_t most, int64_t count) {
    const te::Var size = te::Var::size("N", 1, most);
    const te::LoopFunction function = with_prefetches(tiles_of_rows(size));
    return lines_of(prefetched_in(function), {{size.id(), Expr(count)}});
  };
  for (int64_t count : {1, 2}) expect_next_panel(lines_at(2, count), 128);
  for (int64_t count : {1, 3, 9, 15, 16, 17, 22, 40}) {
    const std::set<int64_t> lines = lines_at(40, count);
    EXPECT_EQ(*lines.begin(), 128);
    const auto fetched = static_cast<int64_t>(lines.size());
    EXPECT_GE(fetched, 128 * count / (count + 1)) << count << ", and the tile after them the rest";
    EXPECT_LE(*lines.rbegin(), 256) << "little more than the panel";
  }
}

TEST(Prefetch, IsLeftOutWhereManyTilesShareAPanel) {
  EXPECT_TRUE(prefetched_in(with_prefetches(tiles_of_rows(65))).empty());
}

TEST(Prefetch, IsLeftOutWherePanelsDoNotFollowEachOther) {
  EXPECT_TRUE(prefetched_in(with_prefetches(tiles({.streams = 3, .gap = 1}))).empty());
}

// Returns sums over a window of `kernel` rows and columns of x[1, 3, 64, 64], in tiles of 8 cells.
te::LoopFunction rows(int64_t stride, int64_t kernel) {
  te::Tensor x("x", DType::kF32, {1, 3, 64, 64}), y("y", DType::kF32, {16, 32});
  auto sum = [&](const te::Exprs& at) {  // h, w, c, kh, kw, i
    return te::make_store(
        y, {at[0], at[1] * 8 + at[5]},
        x(0, at[2], at[0] * stride + at[3] - 1, (at[1] * 8 + at[5]) * stride + at[4] - 1));
  };
  const std::vector<int64_t> extents = {16, 4, 3, kernel, kernel, 8};
  std::function<te::Stmt(te::Exprs)> nest = [&](te::Exprs at) {
    if (at.size() == extents.size()) return sum(at);
    return te::loop(cat("i", at.size()), extents[at.size()], [&](Expr var) {
      te::Exprs inner = at;
      inner.push_back(var);
      return nest(inner);
    });
  };
  return {"rows", {x}, {y}, nest({})};
}

// Collects the places that are prefetched in the first tile of the first row.
void places(const te::Stmt& stmt, std::vector<te::Var> around,
            std::vector<std::vector<int64_t>>& out) {
  if (auto* call = std::get_if<te::Intrinsic>(&stmt->kind)) {
    std::vector<int64_t> place;
    for (Expr index : call->places[0].indices) {
      for (const te::Var& var : around) index = index - Expr(var) * *coefficient_of(index, var);
      place.push_back(te::as_int(te::simplify(index)).value());
    }
    out.push_back(place);
  }
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) around.push_back(loop->var);
  for_each_inner(*stmt, [&](const te::Stmt& inner) { places(inner, around, out); });
}

TEST(RowPrefetch, LoadsWhatTheWindowReachesTwoRowsLater) {
  std::vector<std::vector<int64_t>> found, expected;
  places(with_row_prefetches(rows(2, 3)).body, {}, found);
  for (int64_t c : {0, 1, 2}) {  // rows 3..5 of the image are those of the result's row 2
    for (int64_t row : {4, 5}) expected.push_back({0, c, row, -1});
  }
  EXPECT_EQ(found, expected);
}

TEST(RowPrefetch, LoadsRowsOnceWhereWindowsOverlap) {
  std::vector<std::vector<int64_t>> found;
  places(with_row_prefetches(rows(1, 7)).body, {}, found);
  EXPECT_THAT(found, ::testing::ElementsAre(std::vector<int64_t>{0, 0, 7, -1},
                                            std::vector<int64_t>{0, 1, 7, -1},
                                            std::vector<int64_t>{0, 2, 7, -1}));
}

}  // namespace
}  // namespace byoc::llvm_plugin::topi
