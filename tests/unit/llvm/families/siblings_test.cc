// SPDX-License-Identifier: Apache-2.0
// Reductions of one value over the same axes are one kernel and one loop. Results are compared with
// sums in this file.
#include <gmock/gmock.h>

#include <random>

#include "byoc/text/text.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr int64_t kRows = 40, kColumns = 1000;

// Returns a function of so many rows with the reductions `calls`, as "max(%x) {axes=[1]}".
IRModule program(int64_t rows, const std::vector<std::string>& calls) {
  std::string text = cat("fn main(%x: f32[", rows, ",", kColumns, "]) {\n"), results;
  for (size_t k = 0; k < calls.size(); ++k) {
    text += cat("  %", k, " = ", calls[k], "\n");
    results += cat(k == 0 ? "" : ", ", "%", k);
  }
  auto module = parse_module(cat(text, "  return ", results, "\n}\n"), all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return *std::move(module);
}

size_t groups_in(const IRModule& module) {
  return llvm_plugin::groups_of(module.function(module.entry)).size();
}

TEST(Siblings, AreOneKernel) {
  EXPECT_EQ(groups_in(program(kRows, {"max(%x) {axes=[1]}", "min(%x) {axes=[-1]}"})), 1u);
  EXPECT_EQ(groups_in(program(kRows, {"max(%x)", "sum(%x)", "min(%x)"})), 1u);
}

TEST(Siblings, AreOfLargeValuesAndTheSameLastAxes) {
  EXPECT_EQ(groups_in(program(2, {"max(%x) {axes=[1]}", "min(%x) {axes=[1]}"})), 0u);
  EXPECT_EQ(groups_in(program(kRows, {"max(%x) {axes=[1]}", "min(%x)"})), 0u);
  EXPECT_EQ(groups_in(program(kRows, {"max(%x) {axes=[0]}", "min(%x) {axes=[0]}"})), 0u);
  EXPECT_EQ(groups_in(program(kRows, {"max(%x) {axes=[1]}", "min(%x) {axes=[1], keepdims=false}"})),
            0u);
}

TEST(Siblings, ReadTheValueOnceAndAreRight) {
  const IRModule module =
      program(kRows, {"max(%x) {axes=[1]}", "min(%x) {axes=[1]}", "sum(%x) {axes=[1]}"});
  const te::Target target = llvm_plugin::host_target();
  auto dag = llvm_plugin::translate(module, target);
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  const auto sums = std::ranges::count_if(dag->stages, [](const te::Stage& stage) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    return compute != nullptr && !compute->reduce.empty();
  });
  EXPECT_EQ(sums, 1) << te::print(*dag);
  auto loops = llvm_plugin::lower_with_constants(*dag, 1, target);
  ASSERT_TRUE(loops.ok()) << loops.status().to_string();
  EXPECT_NE(te::print(loops->loops).find("vectorized"), std::string::npos);
  std::minstd_rand random(1);
  std::vector<float> x(kRows * kColumns);
  for (float& one : x) one = static_cast<float>(static_cast<int>(random() % 101) - 50);
  x[3 * kColumns + 77] = std::numeric_limits<float>::quiet_NaN();
  const auto y = test::run_loops(loops->loops, {test::f32(x)});
  ASSERT_EQ(y.size(), 3u);
  for (int64_t row = 0; row < kRows; ++row) {
    const auto from = x.begin() + row * kColumns, to = from + kColumns;
    const auto at = static_cast<size_t>(row);
    if (row == 3) {
      for (const test::Data& one : y) EXPECT_TRUE(std::isnan(one.as<float>()[at]));
      continue;
    }
    EXPECT_EQ(y[0].as<float>()[at], *std::max_element(from, to)) << row;
    EXPECT_EQ(y[1].as<float>()[at], *std::min_element(from, to)) << row;
    EXPECT_EQ(y[2].as<float>()[at], std::accumulate(from, to, 0.0f)) << row;
  }
}

}  // namespace
}  // namespace byoc
