// SPDX-License-Identifier: Apache-2.0
// Steps after a sum with the default schedule: whatever their number, the sums are tiles in
// registers. Results are compared with sums in this file.
#include <random>
#include <regex>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr int64_t kChannels = 8, kCells = 40, kTaps = 3;

// Returns the loops of a convolution of x [1, 8, 40] with so many steps after it: the bias b, the
// addition of x, and relu.
te::LoopFunction loops_of(size_t steps) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {DType::kF32, {1, kChannels, kCells}});
  const ValueId w = f.param("w", {DType::kF32, {kChannels, kChannels, kTaps}});
  const ValueId b = f.param("b", {DType::kF32, {kChannels, 1}});
  ValueId y = f.call("conv1d", {x, w}, {{"pads", Ints{1, 1}}});
  if (steps > 0) y = f.call("add", {y, b});
  if (steps > 1) y = f.call("add", {y, x});
  if (steps > 2) y = f.call("relu", {y});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  const te::Target target = *te::parse_target("x86-64-v3");
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, dag->inputs.size(), target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

TEST(StepsAfterSums, LeaveTheTilesAsTheyAre) {
  const std::regex tile("unrolled i1[^\\n]*\\n[^\\n]*vectorized");
  for (size_t steps : {0, 1, 2, 3}) {
    const std::string text = te::print(loops_of(steps));
    EXPECT_TRUE(std::regex_search(text, tile)) << steps << " steps:\n" << text;
  }
}

TEST(StepsAfterSums, AreRight) {
  std::minstd_rand random(1);
  const auto some = [&](int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float& one : out) one = static_cast<float>(static_cast<int>(random() % 7) - 3);
    return out;
  };
  const auto x = some(kChannels * kCells), w = some(kChannels * kChannels * kTaps),
             b = some(kChannels);
  const auto y =
      test::run_loops(loops_of(3), {test::f32(x), test::f32(w), test::f32(b)})[0].as<float>();
  for (int64_t o = 0; o < kChannels; ++o) {
    for (int64_t i = 0; i < kCells; ++i) {
      double sum = b[static_cast<size_t>(o)] + x[static_cast<size_t>(o * kCells + i)];
      for (int64_t c = 0; c < kChannels; ++c) {
        for (int64_t k = std::max<int64_t>(0, 1 - i); k < std::min(kTaps, kCells + 1 - i); ++k)
          sum += w[static_cast<size_t>((o * kChannels + c) * kTaps + k)] *
                 x[static_cast<size_t>(c * kCells + i + k - 1)];
      }
      ASSERT_EQ(y[static_cast<size_t>(o * kCells + i)], std::max(sum, 0.0)) << o << ", " << i;
    }
  }
}

}  // namespace
}  // namespace byoc
