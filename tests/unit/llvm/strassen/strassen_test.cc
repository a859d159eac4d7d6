// SPDX-License-Identifier: Apache-2.0
// Strassen's products against sums by the definition.
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/tiling/access.h"
#include "unit/llvm/strassen/product.h"

namespace byoc {
namespace {

using test::Product;

constexpr double kBound = 1e-5;  // of the largest output, as README.md states

void expect_sums(const Product& p, uint32_t threads = 1) {
  SCOPED_TRACE(
      cat(p.m(), " x ", p.k, " x ", p.n, ", blocks of ", p.block, ", panels of ", p.panel));
  const test::ProductData data = test::product_data(p, 1);
  const test::StrassenKernel kernel(p);
  ASSERT_TRUE(kernel.loops.constants);
  EXPECT_LE(test::relative_error(kernel.run(p, data, threads), test::sums_of(p, data)), kBound);
}

TEST(Strassen, ComputesEvenAndOddNumbersOfRows) {
  for (int64_t m : {2, 3, 27, 64, 65}) expect_sums({.leading = {m}});
}

TEST(Strassen, ComputesRowsWithSeveralAxes) {
  for (const Ints& leading :
       {Ints{1, 13}, Ints{13, 1}, Ints{1, 1, 8}, Ints{2, 7}, Ints{3, 5}, Ints{3, 1, 2, 5}})
    expect_sums({.leading = leading, .has_bias = true, .has_residual = true}, 2);
}

TEST(Strassen, ComputesTermsThatVectorsDoNotDivide) {
  for (int64_t k : {2, 6, 38, 50}) expect_sums({.leading = {9}, .k = k, .n = 64});
}

TEST(Strassen, ComputesBlocksInPanels) {
  for (int64_t block : {8, 16, 32}) {
    for (int64_t panel : {1, 2, 3, 6}) {
      for (uint32_t threads : {1u, 3u})
        expect_sums({.leading = {21}, .n = 12 * block, .block = block, .panel = panel}, threads);
    }
  }
}

TEST(Strassen, EndsWithAFunctionOfTheSums) {
  const Product p{.leading = {1, 30}, .has_bias = true, .last = "tanh"};
  const test::ProductData data = test::product_data(p, 2);
  std::vector<double> sums = test::sums_of(p, data);
  for (double& sum : sums) sum = std::tanh(sum);
  EXPECT_LE(test::relative_error(test::StrassenKernel(p).run(p, data), sums), 2 * kBound);
}

// Stages after a result of another shape have loops of their own.
TEST(Strassen, KeepsResultsThatAreReshaped) {
  expect_sums({.leading = {1, 30}, .has_bias = true, .reshaped = {6, 5, 8, 16}}, 2);
}

// The matrix is a parameter, whose panels are made in the run.
TEST(Strassen, ComputesAllTiles) {
  const Product p{.leading = {37}};
  const te::Dag dag = test::dag_of(p, test::strassen_alone(1));
  const auto schedules = llvm_plugin::family_template(dag, llvm_plugin::host_target());
  ASSERT_TRUE(schedules);
  const test::ProductData data = test::product_data(p, 3);
  for (const char* tile : {"1x1", "5x1", "13x1", "99x1"}) {
    SCOPED_TRACE(tile);
    auto schedule = schedules->at({{"tile", tile}});
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    auto loops = te::lower(*schedule);
    ASSERT_TRUE(loops.ok()) << loops.status().message();
    auto y = test::run_loops(*loops, {test::f32(data.a), test::f32(in_panels(p, data.matrix))});
    EXPECT_LE(test::relative_error(y[0].as<float>(), test::sums_of(p, data)), kBound);
  }
}

// A row depends on that row of the other half alone, and what is not finite stays so.
TEST(Strassen, KeepsNanAndInfinityInPairsOfRows) {
  const Product p{.leading = {16}};
  const test::StrassenKernel kernel(p);
  for (float value : {NAN, INFINITY, -INFINITY}) {
    test::ProductData data = test::product_data(p, 4);
    data.a[static_cast<size_t>(3 * p.k + 5)] = value;
    const std::vector<float> y = kernel.run(p, data);
    const std::vector<double> sums = test::sums_of(p, data);
    for (int64_t at = 0; at < p.m() * p.n; ++at) {
      const auto one = static_cast<size_t>(at);
      const int64_t row = at / p.n;
      if (!std::isfinite(sums[one])) {
        EXPECT_FALSE(std::isfinite(y[one])) << at;
      }
      if (row != 3 && row != 11) {
        EXPECT_NEAR(y[one], sums[one], 1e-4) << at;
      }
    }
  }
}

// Appends the elements of `tensor` that the first iterations of all loops prefetch.
void find_prefetches(const te::Stmt& stmt, const te::Tensor& tensor,
                     std::vector<const te::For*>& around, std::vector<int64_t>& out) {
  using namespace llvm_plugin;
  auto* call = std::get_if<te::Intrinsic>(&stmt->kind);
  if (call != nullptr && call->name == kPrefetch && call->places[0].tensor == tensor) {
    te::Expr element = call->places[0].indices.back();
    for (const te::For* loop : around)
      element = element - te::Expr(loop->var) * topi::coefficient_of(element, loop->var).value();
    out.push_back(te::as_int(te::simplify(element)).value());
  }
  auto* loop = std::get_if<te::For>(&stmt->kind);
  if (loop != nullptr) around.push_back(loop);
  for_each_inner(*stmt,
                 [&](const te::Stmt& inner) { find_prefetches(inner, tensor, around, out); });
  if (loop != nullptr) around.pop_back();
}

// A product has 7 / 4 of the weights to read: what the next tiles need comes from memory while
// these compute.
TEST(Strassen, PrefetchesTheWeightsThatFollow) {
  for (int64_t panel : {1, 2}) {
    for (int64_t m : {2, 64, 65, 197}) {
      const Product p{.leading = {m}, .n = 256, .panel = panel};
      const test::StrassenKernel kernel(p);
      std::vector<const te::For*> around;
      std::vector<int64_t> found;
      const te::LoopFunction& loops = kernel.loops.loops;
      find_prefetches(loops.body, loops.inputs.back(), around, found);
      ASSERT_FALSE(found.empty()) << m << " rows, panels of " << panel;
      EXPECT_EQ(found[0], p.k / 2 * p.block) << m << " rows, panels of " << panel;
    }
  }
}

// Returns the compute that is chosen for a product.
std::string chosen(const Product& p, bool exact_sums = false) {
  IRModule module = test::module_of(p);
  if (exact_sums) module.function("main").attrs.set(llvm_plugin::kExactSumsAttr, true);
  te::Target target = *te::parse_target("x86-64-v4");
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return dag->stages[te::stage_of(*dag, dag->outputs[0])].compute;
}

TEST(Strassen, IsChosenForManyRowsOfAConstantMatrix) {
  EXPECT_EQ(chosen({.leading = {1, 128}, .k = 768, .n = 3072}), "strassen");
  EXPECT_EQ(chosen({.leading = {197, 1}, .k = 3072, .n = 768}), "strassen");
  EXPECT_EQ(chosen({.leading = {64}, .k = 4096, .n = 4096}), "strassen");
  EXPECT_EQ(chosen({.leading = {1, 128}, .k = 768, .n = 3072}, true), "direct");
  EXPECT_EQ(chosen({.leading = {32}, .k = 768, .n = 3072}), "direct");        // reads more weights
  EXPECT_EQ(chosen({.leading = {1}, .k = 768, .n = 3072}), "direct");         // one row
  EXPECT_EQ(chosen({.leading = {4096}, .k = 4096, .n = 4096}), "direct");     // sums leave caches
  EXPECT_EQ(chosen({.leading = {128}, .k = 767, .n = 3072}), "direct");       // no halves of terms
  EXPECT_EQ(chosen({.leading = {128}, .k = 768, .n = 3072 + 32}), "direct");  // nor of blocks
}

// The bound that README.md states, for rows and columns of all kinds of sizes. Values have one of
// three distributions.
TEST(Strassen, HasSmallErrorsOnRandomProducts) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  double worst = 0;
  for (int k = 0; k < 12; ++k) {
    const Product p{.leading = {pick(2, 70)}, .k = 2 * pick(1, 600), .n = 64 * pick(1, 3)};
    const test::StrassenKernel kernel(p);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      test::ProductData data = test::product_data(p, seed + 100);
      for (float& x : data.a) x = seed == 0 ? std::abs(x) : seed == 1 ? x : x * x * x;
      const double error = test::relative_error(kernel.run(p, data), test::sums_of(p, data));
      EXPECT_LE(error, kBound) << p.m() << " x " << p.k << " x " << p.n << ", seed " << seed;
      worst = std::max(worst, error);
    }
  }
  RecordProperty("largest_relative_error", cat(worst));
}

}  // namespace
}  // namespace byoc
