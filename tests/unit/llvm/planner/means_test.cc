// SPDX-License-Identifier: Apache-2.0
// Sums that read each element once, as means of images in blocks of channels do: several do not
// wait for each other. Results are compared with sums in this file.
#include <random>
#include <regex>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

// Returns the loops of the means of an image [1, blocks, height, width, lanes] over its pixels, or
// of the means of exp of it.
te::LoopFunction loops_of(const Shape& image, bool has_function) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, image});
  if (has_function) x = f.call("exp", {x});
  const ValueId y = f.call("mean", {x}, {{"axes", Ints{2, 3}}, {"keepdims", true}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  auto dag = te::translate_to_te(module, module.function("main"), *te::parse_target("x86-64-v4"),
                                 te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, 1, *te::parse_target("x86-64-v4"));
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

// Returns the product of the extents of the loops that are written out.
int64_t written_out(const te::LoopFunction& loops) {
  const std::string text = te::print(loops);
  const std::regex loop("unrolled \\S+ in 0\\.\\.(\\d+)");
  int64_t most = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), loop), end; at != end; ++at)
    most = std::max<int64_t>(most, std::stoll((*at)[1]));
  return most;
}

TEST(Means, OfBlocksAreEightSumsAtATime) {
  for (int64_t blocks : {8, 15, 30, 125}) {
    const te::LoopFunction loops = loops_of({1, blocks, 28, 28, 16}, false);
    EXPECT_GE(written_out(loops), 6) << te::print(loops);
  }
  EXPECT_EQ(written_out(loops_of({1, 15, 28, 28, 16}, true)), 0);  // exp is the work, not the sum
}

TEST(Means, AreRightForAnyNumberOfBlocks) {
  std::minstd_rand random(1);
  for (int64_t blocks : {1, 2, 7, 15, 30}) {
    for (int64_t size : {1, 3, 7, 9}) {
      const int64_t lanes = 8, pixels = size * size;
      std::vector<float> x(static_cast<size_t>(blocks * pixels * lanes));
      for (float& one : x) one = static_cast<float>(static_cast<int>(random() % 7) - 3);
      std::vector<float> expected;
      for (int64_t b = 0; b < blocks; ++b) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          double sum = 0;
          for (int64_t p = 0; p < pixels; ++p)
            sum += x[static_cast<size_t>((b * pixels + p) * lanes + lane)];
          expected.push_back(static_cast<float>(sum / static_cast<double>(pixels)));
        }
      }
      const te::LoopFunction loops = loops_of({1, blocks, size, size, lanes}, false);
      const auto y = test::run_loops(loops, {test::f32(x)}, {1, 1})[0].as<float>();
      ASSERT_EQ(y.size(), expected.size());
      for (size_t k = 0; k < y.size(); ++k)
        EXPECT_NEAR(y[k], expected[k], 1e-6) << blocks << " blocks of " << size << ", " << k;
    }
  }
}

}  // namespace
}  // namespace byoc
