// SPDX-License-Identifier: Apache-2.0
// Plans of products that the cost model selects.
#include <gtest/gtest.h>

#include "plugins/llvm/tiling/cost_model.h"

namespace byoc::llvm_plugin::topi {
namespace {

// Rows of k terms by 768 columns in panels of two vectors.
Sums product(int64_t rows, int64_t k) {
  Sums out{.o = 24, .units = rows, .c = k / 8, .taps = 8, .lanes = 32, .registers = 2};
  out.block_bytes = out.taps * 4;
  out.row_bytes = k * 4;
  out.is_flat = true;
  out.may_join_blocks = false;
  return out;
}

te::Target server() {
  te::Target out = *te::parse_target("x86-64-v4");
  out.l1_bytes = 48 << 10, out.l2_bytes = 1 << 20;
  return out;
}

TEST(PlansOfProducts, KeepRowsOfATileInDifferentPlacesOfTheCache) {
  EXPECT_EQ(best_plan(product(56, 768), server()).tile.cells, 14);
  // Rows of 16 KiB begin in one set, of 12 lines.
  EXPECT_LE(best_plan(product(56, 4096), server()).tile.cells, 12);
}

// More sums of one row would read weights from more places at once than the hardware follows.
TEST(PlansOfProducts, OfOneCellHaveNoMoreSumsThanHideTheLatency) {
  for (const RegisterTile& tile : good_tiles(1, 60, 32)) EXPECT_LE(tile.vectors, 9);
  EXPECT_EQ(good_tiles(1, 5, 32).front().vectors, 5);
}

TEST(PlansOfProducts, SumRowsThatAreReadAgainAtOnce) {
  for (int64_t k : {768, 3072, 4096}) {
    const Plan plan = best_plan(product(197, k), server());
    EXPECT_EQ(plan.chunk, k / 8) << k;
    EXPECT_EQ(197 % plan.tile.cells == 0 || 197 % plan.tile.cells > 2, true) << plan.tile.cells;
  }
}

TEST(PlansOfProducts, DivideRowsEvenly) {
  for (auto [rows, tile] : {std::pair(16, 8), {22, 11}, {28, 14}, {32, 11}, {128, 13}})
    EXPECT_EQ(best_plan(product(rows, 768), server()).tile.cells, tile) << rows;
}

TEST(PlansOfProducts, HaveAsManyPanelsForEachThread) {
  te::Target target = server();
  target.threads = 2;
  for (int64_t rows : {7, 32, 64, 197}) {
    const Plan plan = best_plan(product(rows, 768), target);
    const int64_t panels =
        (24 + plan.o_panel - 1) / plan.o_panel * ((rows + plan.units - 1) / plan.units);
    EXPECT_EQ(panels % 2, 0) << rows;
  }
}

// A convolution of one tap, of `pixels` in blocks of `lanes` channels.
Sums pointwise(int64_t pixels, int64_t c, int64_t o, int64_t lanes) {
  Sums out{.o = o / lanes, .units = pixels, .c = c / lanes, .taps = lanes, .lanes = lanes};
  out.block_bytes = lanes * 4;
  out.is_flat = out.is_strided = true;
  return out;
}

// Weights that no tile prefetches take longer to arrive than all multiply-adds do.
TEST(PlansOfPointwiseConvs, ReadWeightsOnceWhileTilesPrefetchTheNextOnes) {
  te::Target narrow = *te::parse_target("x86-64-v3");
  for (auto [pixels, c, o] :
       {std::array<int64_t, 3>{49, 160, 960}, {49, 960, 160}, {49, 320, 1280}, {49, 512, 2048}}) {
    for (const te::Target& target : {server(), narrow}) {
      SCOPED_TRACE(cat(target.vector_registers, " registers, ", c, " to ", o));
      const Plan plan = best_plan(pointwise(pixels, c, o, target.lanes(4)), target);
      EXPECT_EQ(plan.chunk * target.lanes(4), c);
      EXPECT_EQ(plan.units, pixels);
      EXPECT_LT(plan.tile.cells, pixels);
      EXPECT_GT(plan.o_panel, plan.tile.vectors);
    }
  }
}

}  // namespace
}  // namespace byoc::llvm_plugin::topi
