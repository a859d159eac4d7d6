// SPDX-License-Identifier: Apache-2.0
// Loops that threads share have parts for all of them: a batch of one image, or of one row, is no
// part. Results are compared with loops in this file.
#include <array>
#include <random>
#include <regex>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr uint32_t kThreads = 3;

// Returns the loops of a function of x and of a weight.
te::LoopFunction loops_of(const Shape& x, const Shape& weight, const std::string& op) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  std::vector<ValueId> operands = {f.param("x", {DType::kF32, x}),
                                   f.param("weight", {DType::kF32, weight})};
  EXPECT_TRUE(f.finish("main", {f.call(op, operands)}).ok());
  te::Target target = llvm_plugin::host_target();
  target.threads = kThreads;
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, 2, target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

// Returns the extents of all parallel loops.
std::vector<int64_t> shared_extents(const te::LoopFunction& loops) {
  const std::string text = te::print(loops);
  const std::regex loop("parallel \\S+ in 0\\.\\.(\\d+)");
  std::vector<int64_t> out;
  for (std::sregex_iterator at(text.begin(), text.end(), loop), end; at != end; ++at)
    out.push_back(std::stoll((*at)[1]));
  if (out.empty()) ADD_FAILURE() << text;
  return out;
}

std::vector<float> small_integers(int64_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return out;
}

// Runs the loops of y[m, n] = sum over k of a[m, k] * b[k, n], where `a` is the weight or
// the input, and compares.
void expect_product(const te::LoopFunction& loops, int64_t m, int64_t n, int64_t k,
                    bool is_weight_first) {
  const std::vector<float> a = small_integers(m * k, 1), b = small_integers(k * n, 2);
  std::vector<float> expected(static_cast<size_t>(m * n), 0.0f);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t r = 0; r < k; ++r) {
      for (int64_t j = 0; j < n; ++j)
        expected[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + r)] * b[static_cast<size_t>(r * n + j)];
    }
  }
  const auto &x = is_weight_first ? b : a, &weight = is_weight_first ? a : b;
  for (uint32_t threads : {1u, 2u, kThreads}) {
    const auto y = test::run_loops(loops, {test::f32(x), test::f32(weight)}, {threads, kThreads});
    EXPECT_EQ(y[0].as<float>(), expected) << threads << " threads";
  }
}

// Plain layouts: 58 channels are no whole blocks.
TEST(SharedLoops, OfOneImageAreItsChannels) {
  for (const auto& [c, o, pixels] : {std::array<int64_t, 3>{58, 116, 784}, {24, 58, 3136}}) {
    const te::LoopFunction loops = loops_of({1, c, pixels / 28, 28}, {o, c, 1, 1}, "conv2d");
    EXPECT_GE(shared_extents(loops).front(), kThreads) << te::print(loops);
    expect_product(loops, o, pixels, c, true);
  }
}

// 116 x 14 x 14 elements are 7 blocks of 3,248: a last block of fewer would have conditions.
TEST(SharedLoops, OfAnElementwiseStageHaveWholeBlocks) {
  const te::LoopFunction loops = loops_of({1, 116, 14, 14}, {1, 116, 14, 14}, "add");
  EXPECT_EQ(shared_extents(loops), std::vector<int64_t>{7}) << te::print(loops);
  EXPECT_EQ(te::print(loops).find("if "), std::string::npos) << te::print(loops);
  // No block of vectors divides a product of odd numbers; there is one of fewer elements.
  const te::LoopFunction odd = loops_of({1, 115, 99}, {1, 115, 99}, "add");
  EXPECT_EQ(shared_extents(odd), std::vector<int64_t>{3}) << te::print(odd);
  const auto x = small_integers(115 * 99, 1), y = small_integers(115 * 99, 2);
  std::vector<float> expected = x;
  for (size_t k = 0; k < x.size(); ++k) expected[k] += y[k];
  EXPECT_EQ(test::run_loops(odd, {test::f32(x), test::f32(y)}, {kThreads, kThreads})[0].as<float>(),
            expected);
}

TEST(SharedLoops, OfOneRowAreItsColumns) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1024, 64}, {1000, 96}, {515, 128}}) {
    const te::LoopFunction loops = loops_of({1, k}, {k, n}, "matmul");
    EXPECT_GE(shared_extents(loops).front(), kThreads) << te::print(loops);
    expect_product(loops, 1, n, k, false);
  }
}

TEST(SharedLoops, OfFewRowsAreFusedWithTheirColumns) {
  const te::LoopFunction loops = loops_of({1, 2, 64, 64}, {1, 2, 64, 64}, "matmul");
  EXPECT_GE(shared_extents(loops).front(), kThreads) << te::print(loops);
}

}  // namespace
}  // namespace byoc
