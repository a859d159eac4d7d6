// SPDX-License-Identifier: Apache-2.0
// The plans of Winograd's products: batches and register tiles.
#include "plugins/llvm/families/winograd/plan.h"

#include <gtest/gtest.h>

namespace byoc::llvm_plugin::winograd {
namespace {

te::Target target_of(const char* text) {
  te::Target out = *te::parse_target(text);
  out.l1_bytes = 32 << 10, out.l2_bytes = 512 << 10;
  return out;
}

// A window of 3 x 3 over an image of `extent` x `extent`.
Shape shape(int64_t c, int64_t o, int64_t extent, int64_t block, int64_t tile) {
  Conv conv{};
  conv.n = 1, conv.c_blocks = c / block, conv.c_block = block, conv.h = extent, conv.w = extent;
  conv.o_blocks = o / block, conv.o_block = block, conv.oh = extent, conv.ow = extent;
  conv.rows = 3, conv.columns = 3, conv.pad_top = 1, conv.pad_left = 1;
  return shape_of(conv, {tile, tile});
}

// Four tiles: a register tile of two would read the filters, which no cache near the core holds,
// a second time (measured on Zen 3: 366 us for 2x6, 236 us for 4x2).
TEST(WinogradPlan, ReadsFiltersOnceForFewTiles) {
  for (const auto& [c, o] : {std::pair(192, 384), std::pair(160, 320), std::pair(512, 512)}) {
    const Plan plan = ranked_plans(shape(c, o, 7, 8, 4), target_of("x86-64-v3")).front();
    EXPECT_EQ(plan.rows, 2) << c;
    EXPECT_GE(plan.tile.cells, 4) << c;
  }
}

// The operand of the next term is loaded while this term is added (measured on Zen 3: 526 us for
// 4x2, 546 us for 4x3, which fills 16 registers).
TEST(WinogradPlan, LeavesARegisterFree) {
  const te::Target machine = target_of("x86-64-v3");
  for (int64_t extent : {7, 14, 28, 56}) {
    for (const Plan& plan : ranked_plans(shape(144, 288, extent, 8, 4), machine)) {
      const auto& [cells, vectors] = plan.tile;
      EXPECT_LT(cells * vectors + std::min(cells, vectors) + 1, machine.vector_registers)
          << extent << ' ' << cells << 'x' << vectors;
    }
  }
}

// Matrices 4096 bytes apart share the sets of the first cache: smaller tiles of results have fewer
// (measured on Zen 3: 444 us for tiles of 3x3, 463 us for 4x4; with 144 and 288 channels 562, 526).
TEST(WinogradPlan, CountsLinesThatEvictEachOther) {
  const te::Target machine = target_of("x86-64-v3");
  auto cycles = [&](int64_t c, int64_t o, int64_t tile) {
    return cycles_of(shape(c, o, 14, 8, tile), machine);
  };
  EXPECT_LT(cycles(128, 256, 3), 1.03 * cycles(128, 256, 4));
  EXPECT_GT(cycles(104, 208, 3), cycles(104, 208, 4));
}

}  // namespace
}  // namespace byoc::llvm_plugin::winograd
