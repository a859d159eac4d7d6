// SPDX-License-Identifier: Apache-2.0
// Winograd's convolutions against sums by the definition.
#include "byoc/text/graph_json.h"
#include "plugins/llvm/lower.h"
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
  const auto schedules = llvm_plugin::template_of(*dag, target);
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
        std::tuple(1, 7, "winograd_1x2"), std::tuple(7, 1, "winograd_2x1"),
        std::tuple(1, 7, "winograd_1x4"), std::tuple(7, 1, "winograd_4x1")}) {
    for (int64_t pad : {0, 1, 3}) {
      const Ints pads = {rows == 1 ? 0 : pad, columns == 1 ? 0 : pad, rows == 1 ? 0 : pad,
                         columns == 1 ? 0 : pad};
      expect_sums({.h = 11, .w = 10, .rows = rows, .columns = columns, .pads = pads}, compute);
    }
  }
}

TEST(Winograd, HasFormsForStridesAndWindowsOfFive) {
  for (auto [window, stride, compute] :
       {std::tuple(3, 2, "winograd_2x2"), std::tuple(3, 2, "winograd_3x3"),
        std::tuple(3, 2, "winograd_4x4"), std::tuple(5, 2, "winograd_2x2"),
        std::tuple(5, 2, "winograd_3x3"), std::tuple(5, 2, "winograd_4x4"),
        std::tuple(5, 1, "winograd_2x2"), std::tuple(5, 1, "winograd_4x4"),
        std::tuple(3, 1, "winograd_3x3")}) {
    for (const auto& [pads, h, w] :
         {std::tuple(Ints{0, 0, 0, 0}, 5, 5), std::tuple(Ints{1, 1, 1, 1}, 6, 19),
          std::tuple(Ints{0, 2, 3, 1}, 16, 7), std::tuple(Ints{2, 2, 2, 2}, 3, 4)}) {
      expect_sums({.h = h,
                   .w = w,
                   .rows = window,
                   .columns = window,
                   .pads = pads,
                   .has_bias = true,
                   .stride = stride},
                  compute);
    }
  }
}

// The first of a network: three channels, one or four, not in blocks.
TEST(Winograd, ComputesPlainImages) {
  for (auto [window, c, n] : {std::tuple(7, 3, 1), std::tuple(7, 1, 2), std::tuple(5, 4, 1)}) {
    for (const auto& [pads, h, w] :
         {std::tuple(Ints{0, 0, 0, 0}, 7, 8), std::tuple(Ints{3, 3, 3, 3}, 9, 150),
          std::tuple(Ints{0, 2, 3, 1}, 32, 17), std::tuple(Ints{3, 3, 3, 3}, 1, 1),
          std::tuple(Ints{3, 2, 2, 3}, 64, 64)}) {
      for (int64_t block : {8, 16}) {
        expect_sums({.n = n,
                     .c = c,
                     .o = 48,
                     .h = h,
                     .w = w,
                     .rows = window,
                     .columns = window,
                     .pads = pads,
                     .block = block,
                     .has_bias = true,
                     .has_relu = true,
                     .stride = 2,
                     .is_plain = true},
                    "winograd_4x4", block == 8 ? 3 : 1);
      }
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

// An output is NaN or infinite where the direct sum is; others become NaN in the same tile alone.
TEST(Winograd, KeepsNanAndInfinityWithinTiles) {
  for (float value : {NAN, INFINITY, -INFINITY}) {
    const Layer layer{.h = 16, .w = 16};
    test::LayerData data = test::data_of(layer, 3);
    data.x[5 * 16 + 6] = value;  // channel 0, row 5, column 6: read by rows 4 to 6, columns 5 to 7
    auto y = test::run_loops(loops_of(layer, "winograd_4x4"), test::inputs_of(layer, data));
    const std::vector<float> values = y[0].as<float>();
    const std::vector<double> sums = test::expected(layer, data);
    for (int64_t at = 0; at < layer.o * 256; ++at) {
      const int64_t row = at / 16 % 16, column = at % 16, o = at / 256;
      const float one = values[static_cast<size_t>((row * 16 + column) * 16 + o)];
      const double sum = sums[static_cast<size_t>(at)];
      if (!std::isfinite(sum)) {
        EXPECT_FALSE(std::isfinite(one)) << row << " " << column;
      }
      // Row 5 is in the input of the tiles at rows 4 to 7 alone, column 6 in that of 4 to 7.
      const bool is_in_tile = row / 4 == 1 && column / 4 == 1;
      if (!is_in_tile) {
        EXPECT_NEAR(one, sum, 1e-4) << row << " " << column;
      }
    }
  }
}

// Returns the graph of a layer whose weight is a constant.
std::string graph_of(const Layer& layer, const test::LayerData& data) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, layer.c / 16, layer.h, layer.w, 16}});
  ValueId w = f.constant_f32({layer.o / 16, layer.c / 16, 3, 3, 16, 16},
                             test::weight_in_blocks(layer, data.weight));
  ValueId y = f.call("conv2d_nchwc", {x, w}, {{"pads", layer.pads}});
  EXPECT_TRUE(f.finish("main", {f.call("relu", {y})}).ok());
  std::string out;
  write_graph_json(module, module.function("main"), "f", out);
  return out;
}

Result<llvm_plugin::Lowered> lowered(const std::string& graph, bool exact_sums) {
  auto module = llvm_plugin::read_function(graph, {.constants = 1, .exact_sums = exact_sums});
  EXPECT_TRUE(module.ok()) << module.status().message();
  return llvm_plugin::lower_function(*module, *te::parse_target("native"),
                                     llvm_plugin::SplitWhen::kTooLarge);
}

const Layer kUsual{.c = 64, .o = 64, .h = 14, .w = 14, .has_relu = true};

TEST(Winograd, TransformsConstantFiltersAtCompile) {
  const test::LayerData data = test::data_of(kUsual, 4);
  auto kernel = lowered(graph_of(kUsual, data), false);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(kernel->constants);
  EXPECT_EQ(kernel->constants->reads, std::vector<size_t>{0});
  EXPECT_EQ(kernel->constants->is_kept, std::vector<bool>{false});
  const auto inputs = test::inputs_of(kUsual, data);
  auto filters = test::run_loops(kernel->constants->loops, {inputs[1]});
  auto y = test::run_loops(kernel->kernels[0], {inputs[0], filters[0]});
  EXPECT_LE(test::relative_error(kUsual, y[0].as<float>(), test::expected(kUsual, data)), 2e-5);
}

TEST(Winograd, IsOffForExactSums) {
  auto kernel = lowered(graph_of(kUsual, test::data_of(kUsual, 4)), true);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_FALSE(kernel->constants);
  EXPECT_EQ(te::print(kernel->kernels[0]).find("winograd"), std::string::npos);
}

// The bound that README.md states. Shapes and values are random; values have one of three
// distributions, of which the positive ones cancel least in direct sums.
TEST(Winograd, HasSmallErrorsOnAThousandLayers) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const std::tuple<int64_t, int64_t, int64_t, const char*> kinds[] = {
      {3, 3, 1, "winograd_4x4"}, {3, 3, 1, "winograd_2x2"}, {1, 3, 1, "winograd_1x4"},
      {3, 3, 1, "winograd_3x3"}, {5, 5, 1, "winograd_4x4"}, {3, 1, 1, "winograd_4x1"},
      {1, 7, 1, "winograd_1x2"}, {7, 1, 1, "winograd_2x1"}, {1, 7, 1, "winograd_1x4"},
      {7, 1, 1, "winograd_4x1"}, {5, 5, 1, "winograd_2x2"}, {3, 3, 2, "winograd_4x4"},
      {3, 3, 2, "winograd_3x3"}, {3, 3, 2, "winograd_2x2"}, {5, 5, 2, "winograd_4x4"},
      {7, 7, 2, "winograd_4x4"}};
  double worst = 0;
  for (int k = 0; k < 32; ++k) {
    const auto [rows, columns, stride, compute] = kinds[k % std::size(kinds)];
    const bool is_plain = rows == 7 && columns == 7;
    const Layer layer{.c = is_plain ? pick(1, 4) : 16 * pick(1, k % 5 == 0 ? 32 : 8),
                      .o = 16,
                      .h = pick(4, 10),
                      .w = pick(4, 10),
                      .rows = rows,
                      .columns = columns,
                      .pads = {rows / 2, columns / 2, rows / 2, columns / 2},
                      .has_bias = true,
                      .stride = stride,
                      .is_plain = is_plain};
    SCOPED_TRACE(cat(compute, ": ", layer.text()));
    const test::Loaded kernel(loops_of(layer, compute));
    for (uint32_t seed = 0; seed < 40; ++seed) {
      test::LayerData data = test::data_of(layer, seed + 100);
      for (float& x : data.x) x = seed % 3 == 0 ? std::abs(x) : seed % 3 == 1 ? x : x * x * x;
      auto y = kernel.run(test::inputs_of(layer, data));
      const double error =
          test::relative_error(layer, y[0].as<float>(), test::expected(layer, data));
      EXPECT_LE(error, 2e-5) << "seed " << seed;
      worst = std::max(worst, error);
    }
  }
  RecordProperty("largest_relative_error", cat(worst));
}

}  // namespace
}  // namespace byoc
