// SPDX-License-Identifier: Apache-2.0
// --precision: matrices of products in 16 bits. Expected roundings are those of IEEE 754: 11 bits
// of f16, 8 of bf16.
#include <array>
#include <cmath>

#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

/// Returns a product of a 64x64 matrix, of which each element is `value`.
IRModule product(const std::string& value) {
  return module_of(cat("fn main(%x: f32[2,64]) {\n  %w = const(", value,
                       ") : f32[64,64]\n  %0 = matmul(%x, %w)\n  return %0\n}"));
}

Result<IRModule> rounded(IRModule module, const std::string& precision) {
  BYOC_TRY(std::vector<Pass> passes, parse_passes("round_weights"));
  PassContext context;
  context.options["verify"] = "1";
  context.options["precision"] = precision;
  return run_passes(std::move(module), passes, context);
}

/// Returns what a row of ones gives: 64 times the element.
double element_after(const std::string& value, const std::string& precision) {
  auto module = rounded(product(value), precision);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return NAN;
  EXPECT_EQ(count_calls(*module, "cast"), 1);
  const std::array<int64_t, 2> dims = {2, 64};
  testing::Values ones = testing::random_values({DType::kF32, make_shape(dims)}, 1);
  for (double& x : ones.values) x = 1;
  auto results = testing::evaluate(*module, {ones});
  EXPECT_TRUE(results.ok()) << results.status().to_string();
  return results.ok() ? results->at(0).values.at(0) / 64 : NAN;
}

TEST(RoundWeights, KeepsAsManyBitsAsTheTypeHas) {
  EXPECT_EQ(element_after("1.0009765625", "f16"), 1.0009765625) << "1 + 2^-10";
  EXPECT_EQ(element_after("1.00048828125", "f16"), 1) << "1 + 2^-11: to even";
  EXPECT_EQ(element_after("1.0078125", "bf16"), 1.0078125) << "1 + 2^-7";
  EXPECT_EQ(element_after("1.00390625", "bf16"), 1) << "1 + 2^-8: to even";
}

TEST(RoundWeights, LeavesNumbersThatF16LacksAlone) {
  auto large = rounded(product("70000.0"), "f16");
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(count_calls(*large, "cast"), 0);
  EXPECT_EQ(element_after("70144.0", "bf16"), 70144);
}

TEST(RoundWeights, LeavesSmallMatricesAndOtherReadersAlone) {
  auto small = rounded(module_of(R"(fn main(%x: f32[2,2]) {
  %w = const([1.00048828125, 2.0, 3.0, 4.0]) : f32[2,2]
  %0 = matmul(%x, %w)
  return %0
})"),
                       "f16");
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(count_calls(*small, "cast"), 0);
  IRModule module = product("0.1");
  auto same = rounded(module, "f32");
  ASSERT_TRUE(same.ok());
  expect_equal(*same, module);
}

TEST(RoundWeights, RefusesAnotherPrecision) {
  EXPECT_EQ(rounded(product("0.1"), "f8").status().slug(), "usage");
}

}  // namespace
}  // namespace byoc
