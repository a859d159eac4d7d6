// SPDX-License-Identifier: Apache-2.0
// Transposes with the default schedule: tiles that are transposed in registers, or whose lines stay
// in the first cache. Results are compared with the definition, element by element.
#include <numeric>
#include <regex>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

// Returns the loops that the default schedule makes of main.
te::LoopFunction default_loops(const IRModule& module) {
  const te::Target target = llvm_plugin::host_target();
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, dag->inputs.size(), target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

// Returns the loops of the heads of x [rows, heads * size] as [heads, size, rows].
te::LoopFunction loops_of(int64_t rows, int64_t heads, int64_t size) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {rows, heads * size}});
  ValueId bias = f.param("bias", {DType::kF32, {heads * size}});
  ValueId split =
      f.call("reshape", {f.call("add", {x, bias})}, {{"shape", Ints{rows, heads, size}}});
  EXPECT_TRUE(f.finish("main", {f.call("transpose", {split}, {{"perm", Ints{1, 2, 0}}})}).ok());
  return default_loops(module);
}

// Returns the loops of x [channels / block, pixels, block] + bias as y [channels, pixels].
te::LoopFunction unblocked(int64_t channels, int64_t block, int64_t h, int64_t w) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, channels / block, h, w, block}});
  ValueId bias = f.param("bias", {DType::kF32, {1, channels / block, 1, 1, block}});
  const Attrs plain{{"src_layout", cat("NCHW", block, "c")}, {"dst_layout", "NCHW"}};
  EXPECT_TRUE(
      f.finish("main", {f.call("layout_transform", {f.call("add", {x, bias})}, plain)}).ok());
  return default_loops(module);
}

TEST(TransposedReads, AreTransposedInRegistersWhereTilesFit) {
  const std::regex tile("unrolled i2.i[^\n]*\n[^\n]*vectorized i1");
  const std::string even = te::print(loops_of(128, 12, 64));
  EXPECT_TRUE(std::regex_search(even, tile)) << even;
  const std::string blocks = te::print(unblocked(32, 16, 6, 8));
  EXPECT_NE(blocks.find("unrolled"), blocks.npos) << blocks;
}

TEST(TransposedReads, AreMadeInTilesOfAVectorOfRows) {
  const std::string text = te::print(loops_of(197, 12, 64));
  const size_t tiles = text.find("for i2.o"), columns = text.find("for i1 ");
  ASSERT_NE(tiles, text.npos) << text;
  ASSERT_NE(columns, text.npos) << text;
  EXPECT_LT(tiles, columns) << text;
  EXPECT_NE(text.find("vectorized i2.i"), text.npos) << text;
}

TEST(TransposedReads, TakeChannelsOutOfBlocks) {
  constexpr int64_t kShapes[][4] = {{32, 16, 6, 8},   {16, 8, 7, 4}, {32, 16, 7, 7},
                                    {48, 16, 14, 14}, {8, 4, 1, 64}, {64, 64, 4, 4},
                                    {16, 16, 1, 1}};
  for (const auto& [channels, block, h, w] : kShapes) {
    const int64_t pixels = h * w;
    std::vector<float> x(static_cast<size_t>(channels * pixels)),
        bias(static_cast<size_t>(channels));
    std::iota(x.begin(), x.end(), 0.0f);
    std::iota(bias.begin(), bias.end(), 0.5f);
    const std::vector<float> y =
        test::run_loops(unblocked(channels, block, h, w), {test::f32(x), test::f32(bias)})[0]
            .as<float>();
    ASSERT_EQ(y.size(), x.size());
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t from = (c / block * pixels + p) * block + c % block;
        ASSERT_EQ(y[static_cast<size_t>(c * pixels + p)],
                  x[static_cast<size_t>(from)] + bias[static_cast<size_t>(c)])
            << channels << " channels in blocks of " << block << ", channel " << c << ", pixel "
            << p;
      }
    }
  }
}

TEST(TransposedReads, GiveEveryElement) {
  constexpr int64_t kShapes[][3] = {{128, 2, 64}, {197, 3, 5},  {33, 1, 4},   {1, 4, 8},
                                    {70, 2, 1},   {64, 1, 131}, {0, 2, 8},    {48, 1, 16},
                                    {8, 2, 20},   {24, 3, 32},  {16, 1, 1000}};
  for (const auto& [rows, heads, size] : kShapes) {
    const int64_t width = heads * size;
    std::vector<float> x(static_cast<size_t>(rows * width)), bias(static_cast<size_t>(width));
    std::iota(x.begin(), x.end(), 0.0f);
    std::iota(bias.begin(), bias.end(), 0.5f);
    const std::vector<float> y =
        test::run_loops(loops_of(rows, heads, size), {test::f32(x), test::f32(bias)})[0]
            .as<float>();
    ASSERT_EQ(y.size(), x.size());
    for (int64_t at = 0; at < rows * width; ++at) {
      const int64_t column = at / rows, row = at % rows;
      const float right =
          x[static_cast<size_t>(row * width + column)] + bias[static_cast<size_t>(column)];
      ASSERT_EQ(y[static_cast<size_t>(at)], right) << rows << " rows, at " << at;
    }
  }
}

// Rows that are read again and again are one long row each time.
TEST(RepeatedReads, AreLongRows) {
  constexpr int64_t kRows = 9, kSize = 4, kTimes = 50;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.call("relu", {f.param("x", {DType::kF32, {kRows, kSize}})});
  const ValueId tiles = f.call("tile", {x}, {{"repeats", Ints{kTimes, 1}}});
  ASSERT_TRUE(f.finish("main", {tiles}).ok());
  const te::LoopFunction loops = default_loops(module);
  EXPECT_NE(te::print(loops).find("in 0..36"), std::string::npos) << te::print(loops);
  std::vector<float> rows(kRows * kSize);
  std::iota(rows.begin(), rows.end(), 1.0f);
  const std::vector<float> y = test::run_loops(loops, {test::f32(rows)})[0].as<float>();
  ASSERT_EQ(y.size(), rows.size() * kTimes);
  for (size_t at = 0; at < y.size(); ++at) ASSERT_EQ(y[at], rows[at % rows.size()]) << at;
}

// Heads that share keys read them several times: heads / group of them follow each other.
TEST(TransposedReads, RepeatHeadsThatShareARow) {
  constexpr int64_t kGroups = 2, kEach = 3, kRows = 32, kSize = 16;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, kGroups, kRows, kSize}});
  x = f.call("unsqueeze", {x}, {{"axes", Ints{2}}});
  x = f.call("expand", {x}, {{"shape", Ints{1, kGroups, kEach, kRows, kSize}}});
  x = f.call("reshape", {x}, {{"shape", Ints{1, kGroups * kEach, kRows, kSize}}});
  ASSERT_TRUE(f.finish("main", {f.call("transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}})}).ok());
  const te::LoopFunction loops = default_loops(module);
  EXPECT_NE(te::print(loops).find("unrolled"), std::string::npos) << te::print(loops);
  std::vector<float> keys(kGroups * kRows * kSize);
  std::iota(keys.begin(), keys.end(), 0.0f);
  const std::vector<float> y = test::run_loops(loops, {test::f32(keys)})[0].as<float>();
  for (int64_t at = 0; at < kGroups * kEach * kSize * kRows; ++at) {
    const int64_t row = at % kRows, column = at / kRows % kSize, head = at / kRows / kSize;
    ASSERT_EQ(y[static_cast<size_t>(at)],
              keys[static_cast<size_t>((head / kEach * kRows + row) * kSize + column)])
        << at;
  }
}

// The stage that widens a scalar has no axes, so its read has no strides.
TEST(TransposedReads, AreFoundBesideScalarsOfSixteenBits) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {DType::kF16, {3, 64}}), y = f.param("y", {DType::kF16, {}});
  ASSERT_TRUE(f.finish("main", {f.call("subtract", {x, y})}).ok());
  const te::Target target = llvm_plugin::host_target();
  auto dag = llvm_plugin::translate(module, target);
  ASSERT_TRUE(dag.ok()) << dag.status().message();
  const auto schedules = llvm_plugin::template_of(*dag, target);
  EXPECT_FALSE(schedules.choices().knobs.empty());
  EXPECT_NE(te::print(schedules.at(schedules.first)->trace()), "");
}

}  // namespace
}  // namespace byoc
