// SPDX-License-Identifier: Apache-2.0
// Transposes with the default schedule: tiles whose lines stay in the first cache. Results are
// compared with the definition, element by element.
#include <numeric>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

// Returns the loops of the heads of x [rows, heads * size] as [heads, size, rows].
te::LoopFunction loops_of(int64_t rows, int64_t heads, int64_t size) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {rows, heads * size}});
  ValueId bias = f.param("bias", {DType::kF32, {heads * size}});
  ValueId split =
      f.call("reshape", {f.call("add", {x, bias})}, {{"shape", Ints{rows, heads, size}}});
  EXPECT_TRUE(f.finish("main", {f.call("transpose", {split}, {{"perm", Ints{1, 2, 0}}})}).ok());
  const te::Target target = llvm_plugin::host_target();
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, 2, target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

TEST(TransposedReads, AreMadeInTilesOfAVectorOfRows) {
  const std::string text = te::print(loops_of(128, 12, 64));
  const size_t tiles = text.find("for i2.o"), columns = text.find("for i1 ");
  ASSERT_NE(tiles, text.npos) << text;
  ASSERT_NE(columns, text.npos) << text;
  EXPECT_LT(tiles, columns) << text;
  EXPECT_NE(text.find("vectorized i2.i"), text.npos) << text;
}

TEST(TransposedReads, GiveEveryElement) {
  constexpr int64_t kShapes[][3] = {{128, 2, 64}, {197, 3, 5},  {33, 1, 4}, {1, 4, 8},
                                    {70, 2, 1},   {64, 1, 131}, {0, 2, 8}};
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
