// SPDX-License-Identifier: Apache-2.0
// Winograd's convolutions against sums by the definition.
#include "unit/llvm/winograd/layer.h"

namespace byoc {
namespace {

using llvm_plugin::topi::Point;
using test::Layer;

// Returns the loops of a compute at a point of its template; empty: the first.
te::LoopFunction loops_of(const Layer& layer, const std::string& compute, const Point& point = {}) {
  const te::Target target = *te::parse_target("native");
  auto dag = test::translated(layer, compute, target);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  const auto schedules = llvm_plugin::topi::template_of(*dag, target);
  EXPECT_EQ(schedules.kind, "conv2d_winograd");
  auto schedule = schedules.at(point.empty() ? schedules.first : point);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

void expect_sums(const Layer& layer, const std::string& compute, uint32_t threads = 1,
                 const Point& point = {}) {
  SCOPED_TRACE(cat(compute, ": ", layer.text()));
  const test::LayerData data = test::data_of(layer, 1);
  const te::LoopFunction loops = loops_of(layer, compute, point);
  auto y = test::run_loops(loops, test::inputs_of(layer, data), {threads, {}});
  EXPECT_LE(test::relative_error(layer, y[0].as<float>(), test::expected(layer, data)), 2e-5);
}

TEST(Winograd, ComputesTheSumsOfAllPaddings) {
  for (const Ints& pads :
       {Ints{1, 1, 1, 1}, Ints{0, 0, 0, 0}, Ints{2, 0, 1, 3}, Ints{0, 2, 2, 0}}) {
    for (const char* compute : {"winograd_4x4", "winograd_2x2"})
      expect_sums({.h = 9, .w = 7, .pads = pads}, compute);
  }
}

TEST(Winograd, ComputesPartsOfTiles) {
  for (int64_t h : {1, 2, 3, 4, 9}) {
    for (int64_t w : {1, 6, 13}) {
      for (const char* compute : {"winograd_4x4", "winograd_2x2"})
        expect_sums({.h = h, .w = w}, compute);
    }
  }
}

TEST(Winograd, FinishesResultsWithBiasResidualAndActivation) {
  for (int64_t block : {8, 16}) {
    for (bool has_residual : {false, true}) {
      const Layer layer{.n = 2,
                        .c = 32,
                        .o = 48,
                        .h = 14,
                        .w = 15,
                        .block = block,
                        .has_bias = true,
                        .has_residual = has_residual,
                        .has_relu = true};
      for (uint32_t threads : {1u, 3u}) expect_sums(layer, "winograd_4x4", threads);
    }
  }
}

TEST(Winograd, HasFormsForWindowsOfOneRowOrColumn) {
  for (auto [rows, columns, compute] :
       {std::tuple(1, 3, "winograd_1x4"), std::tuple(3, 1, "winograd_4x1"),
        std::tuple(1, 7, "winograd_1x2"), std::tuple(7, 1, "winograd_2x1")}) {
    for (int64_t pad : {0, 1, 3}) {
      const Ints pads = {rows == 1 ? 0 : pad, columns == 1 ? 0 : pad, rows == 1 ? 0 : pad,
                         columns == 1 ? 0 : pad};
      expect_sums({.h = 11, .w = 10, .rows = rows, .columns = columns, .pads = pads}, compute);
    }
  }
}

TEST(Winograd, HasFewAndManyBatches) {
  const Layer layer{.n = 2, .c = 16, .o = 32, .h = 24, .w = 18, .has_relu = true};
  for (int64_t batches : {1, 3, 4, 6}) {
    for (const char* tile : {"1x1", "3x2", "9x9"}) {
      const Point point = {{"winograd_batches", cat(batches)}, {"winograd_tile", tile}};
      SCOPED_TRACE(cat(batches, " ", tile));
      expect_sums(layer, "winograd_4x4", batches % 2 == 0 ? 2 : 1, point);
    }
  }
}

}  // namespace
}  // namespace byoc
