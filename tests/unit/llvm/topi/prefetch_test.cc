// SPDX-License-Identifier: Apache-2.0
// Prefetches that loops over tiles of a convolution get.
#include "plugins/llvm/tiling/prefetch.h"

#include <gmock/gmock.h>

#include <set>

#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/row_prefetch.h"

namespace byoc::llvm_plugin::topi {
namespace {

using te::Expr;
using te::LoopKind;

// Returns loops over panels of `streams` blocks of weights w[block, count, 16, 16], which four
// tiles read: all blocks of a panel for each term, two loops over terms. A tile is one sum.
te::LoopFunction tiles(int64_t panels, int64_t streams, int64_t gap, int64_t count = 2,
                       LoopKind terms = LoopKind::kSerial) {
  te::Tensor w("w", DType::kF32, {panels * (streams + gap), count, 16, 16}),
      y("y", DType::kF32, {16});
  auto term = [&](Expr p, Expr r0, Expr r1) {
    return te::loop(
        "i", streams,
        [&](Expr i) {
          return te::loop(
              "l", 16,
              [&](Expr l) {
                return te::make_store(y, {l}, y(l) + w(p * (streams + gap) + i, r0, r1, l));
              },
              LoopKind::kVectorized);
        },
        LoopKind::kUnrolled);
  };
  te::Stmt body = te::loop("p", panels, [&](Expr p) {
    return te::loop("t", 4, [&](Expr) {
      return te::loop("r0", count, [&](Expr r0) {
        return te::loop(
            "r1", 16, [&](Expr r1) { return term(p, r0, r1); }, terms);
      });
    });
  });
  return {"tiles", {w}, {y}, body};
}

struct Found {
  std::vector<const te::For*> loops;  // around the prefetches, outer first
  std::vector<Expr> elements;
};

void find(const te::Stmt& stmt, std::vector<const te::For*>& around, Found& out) {
  if (auto* call = std::get_if<te::Intrinsic>(&stmt->kind); call && call->name == kPrefetch) {
    out.loops = around;
    out.elements.push_back(call->places[0].indices.back());
  }
  auto* loop = std::get_if<te::For>(&stmt->kind);
  if (loop != nullptr) around.push_back(loop);
  for_each_inner(*stmt, [&](const te::Stmt& inner) { find(inner, around, out); });
  if (loop != nullptr) around.pop_back();
}

// Returns the lines of 16 elements that the tiles of the first panel prefetch.
std::set<int64_t> lines_of(const te::LoopFunction& function) {
  Found found;
  std::vector<const te::For*> around;
  find(function.body, around, found);
  std::set<int64_t> out;
  for (Expr element : found.elements) {
    std::vector<int64_t> values = {0};
    for (size_t k = 0; k < found.loops.size(); ++k) {
      const te::For& loop = *found.loops[k];
      const int64_t by = *coefficient_of(element, loop.var);
      element = te::simplify(element - Expr(loop.var) * by);
      std::vector<int64_t> next;
      for (int64_t value : values) {
        for (int64_t i = 0; i < (k == 0 ? 1 : *te::as_int(loop.extent)); ++i)
          next.push_back(value + i * by);
      }
      values = next;
    }
    for (int64_t value : values) out.insert((value + *te::as_int(element)) / 16);
  }
  return out;
}

TEST(Prefetch, CoversTheNextPanelOfSeveralBlocksAndLoopsOverTerms) {
  for (int64_t streams : {1, 2, 3, 5}) {
    const std::set<int64_t> lines = lines_of(with_prefetches(tiles(4, streams, 0)));
    const int64_t panel = streams * 2 * 16;  // lines of a panel, after which the next one begins
    for (int64_t line = panel; line < 2 * panel; ++line)
      EXPECT_TRUE(lines.contains(line)) << line << " of " << streams;
    EXPECT_EQ(*lines.begin(), panel);
    EXPECT_LE(*lines.rbegin(), 2 * panel + 32) << "little more than the panel";
  }
}

// 16 terms in a row would otherwise begin with all lines that they prefetch.
TEST(Prefetch, IsSpreadOverTermsThatAreWrittenOut) {
  for (int64_t streams : {4, 5, 7, 8}) {
    const te::LoopFunction function =
        with_prefetches(tiles(4, streams, 0, 16, LoopKind::kUnrolled));
    const std::set<int64_t> lines = lines_of(function);
    const int64_t panel = streams * 16 * 16;
    for (int64_t line = panel; line < 2 * panel; ++line)
      EXPECT_TRUE(lines.contains(line)) << line << " of " << streams;
    EXPECT_EQ(*lines.begin(), panel);
    EXPECT_LE(*lines.rbegin(), 2 * panel + 32) << "little more than the panel";
    Found found;
    std::vector<const te::For*> around;
    find(function.body, around, found);
    EXPECT_EQ(found.elements.size(), streams > 4 ? 2u : 1u) << "lines of a term";
    EXPECT_EQ(found.loops.back()->kind, LoopKind::kUnrolled);
  }
}

TEST(Prefetch, IsLeftOutWherePanelsDoNotFollowEachOther) {
  EXPECT_TRUE(lines_of(with_prefetches(tiles(4, 3, 1))).empty());
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
