// SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

using testing::random_values;

// Returns a constant of random values as text of the IR.
std::string constant(const std::string& name, const std::vector<int64_t>& dims, uint64_t seed,
                     double offset = 0) {
  testing::Values values = random_values({DType::kF32, make_shape(dims)}, seed);
  std::string list;
  for (double v : values.values)
    list += cat(list.empty() ? "" : ",", static_cast<float>(v + offset));
  return cat("  %", name, " = const([", list, "]) : ", values.type, "\n");
}

// Returns constants for gamma, beta, mean and variance of c channels. Variances are positive.
std::string norm_constants(int64_t c) {
  return constant("g", {c}, 11) + constant("b", {c}, 12) + constant("m", {c}, 13) +
         constant("v", {c}, 14, 1.5);
}

constexpr std::string_view kNorm = "batch_norm(%0, %g, %b, %m, %v)";

// Checks that `text` becomes one linear op and at most one add, with equal results up to rounding.
// A result is a sum of some tens of products, and folding adds a rounding of each weight. The
// tolerance of 64 units in the last place of the largest value covers both.
void expect_folds(const std::string& text, int adds = 1) {
  IRModule module = module_of(text);
  auto folded = after(module, "fold_batch_norm,eliminate_dead_code");
  ASSERT_TRUE(folded.ok()) << folded.status().to_string();
  EXPECT_EQ(count_calls(*folded, "batch_norm") + count_calls(*folded, "multiply"), 0)
      << print(*folded);
  EXPECT_EQ(count_calls(*folded, "add"), adds) << print(*folded);
  testing::expect_same_results(module, *folded, 64.0 / (1 << 24));
}

void expect_stays(const std::string& text) {
  IRModule module = module_of(text);
  auto folded = after(module, "fold_batch_norm");
  ASSERT_TRUE(folded.ok()) << folded.status().to_string();
  expect_equal(*folded, module);
}

std::string norm_after(const std::string& input, const std::string& weights, const std::string& op,
                       int64_t channels) {
  return cat("fn main(%x: ", input, ") {\n", weights, norm_constants(channels), "  %0 = ", op,
             "\n  %1 = ", kNorm, "\n  return %1 }");
}

TEST(FoldBatchNorm, FoldsIntoConvolutions) {
  expect_folds(norm_after("f32[2,3,6,5]", constant("w", {4, 3, 3, 3}, 1),
                          "conv2d(%x, %w) {pads=[1,1,1,1]}", 4));
  expect_folds(
      norm_after("f32[2,4,6,5]", constant("w", {6, 2, 3, 3}, 1), "conv2d(%x, %w) {group=2}", 6));
  expect_folds(norm_after("f32[2,3,9]", constant("w", {4, 3, 3}, 1), "conv1d(%x, %w)", 4));
  expect_folds(
      norm_after("f32[1,2,4,4,4]", constant("w", {3, 2, 2, 2, 2}, 1), "conv3d(%x, %w)", 3));
}

TEST(FoldBatchNorm, FoldsIntoTransposedConvolutionsWithGroups) {
  expect_folds(norm_after("f32[1,4,5,5]", constant("w", {4, 3, 2, 2}, 1),
                          "conv2d_transpose(%x, %w) {group=2, strides=[2,2]}", 6));
  expect_folds(
      norm_after("f32[1,4,5]", constant("w", {4, 3, 2}, 1), "conv1d_transpose(%x, %w)", 3));
}

TEST(FoldBatchNorm, FoldsIntoMatrixProducts) {
  expect_folds(norm_after("f32[3,8]", constant("w", {8, 5}, 1), "matmul(%x, %w)", 5));
  expect_folds(norm_after("f32[3,8]", constant("w", {8, 5}, 1), "gemm(%x, %w) {alpha=0.5}", 5));
  expect_folds(norm_after("f32[3,8]", constant("w", {5, 8}, 1), "gemm(%x, %w) {trans_b=true}", 5));
}

TEST(FoldBatchNorm, FoldsInDoublePrecision) {
  IRModule module = module_of(
      "fn main(%x: f64[1,2]) { %w = const([1.0,2.0,3.0,4.0]) : f64[2,2]\n"
      "  %s = const([0.1,0.3]) : f64[2]\n"
      "  %0 = matmul(%x, %w)  %1 = multiply(%0, %s)  return %1 }");
  auto folded = after(module, "fold_batch_norm,eliminate_dead_code");
  ASSERT_TRUE(folded.ok());
  expect_equal(*folded, module_of(cat("fn main(%x: f64[1,2]) { %w = const([", 1 * 0.1, ",", 2 * 0.3,
                                      ",", 3 * 0.1, ",", 4 * 0.3,
                                      "]) : f64[2,2]\n"
                                      "  %0 = matmul(%x, %w)  return %0 }")));
}

TEST(FoldBatchNorm, FoldsABiasBeforeIt) {
  expect_folds("fn main(%x: f32[1,3,5,5]) {\n" + constant("w", {4, 3, 3, 3}, 1) +
               constant("bias", {4, 1, 1}, 2) + norm_constants(4) +
               "  %c = conv2d(%x, %w)\n  %0 = add(%bias, %c)\n  %1 = " + std::string(kNorm) +
               "\n  return %1 }");
}

TEST(FoldBatchNorm, FoldsAWholeChain) {
  expect_folds("fn main(%x: f32[1,3,5,5]) {\n" + constant("w", {4, 3, 3, 3}, 1) +
               constant("s", {1, 4, 1, 1}, 2) + constant("t", {1}, 3) + norm_constants(4) +
               "  %c = conv2d(%x, %w)\n  %d = multiply(%c, %s)\n  %0 = add(%d, %t)\n"
               "  %1 = batch_norm(%0, %g, %b, %m, %v)\n  %2 = batch_norm(%1, %b, %g, %v, %v)\n"
               "  return %2 }");
}

TEST(FoldBatchNorm, FoldsAFactorWithoutAnAdd) {
  expect_folds("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + constant("s", {5}, 2) +
                   "  %0 = matmul(%x, %w)\n  %1 = multiply(%s, %0)\n  return %1 }",
               0);
}

TEST(FoldBatchNorm, FoldsBatchedProductsByTheirLastAxis) {
  expect_folds("fn main(%x: f32[2,3,4]) {\n" + constant("w", {2, 4, 5}, 1) + constant("s", {5}, 2) +
                   "  %0 = matmul(%x, %w)\n  %1 = multiply(%0, %s)\n  return %1 }",
               0);
}

TEST(FoldBatchNorm, LeavesASingleBias) {
  expect_stays("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + constant("t", {5}, 2) +
               "  %0 = matmul(%x, %w)\n  %1 = add(%0, %t)\n  return %1 }");
}

TEST(FoldBatchNorm, LeavesAValueWithTwoReaders) {
  expect_stays("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + norm_constants(5) +
               "  %0 = matmul(%x, %w)\n  %1 = " + std::string(kNorm) +
               "\n  %2 = relu(%0)\n  return %1, %2 }");
  expect_stays("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + norm_constants(5) +
               "  %0 = matmul(%x, %w)\n  %1 = " + std::string(kNorm) + "\n  return %1, %0 }");
}

TEST(FoldBatchNorm, LeavesWhatHasNoConstantWeights) {
  expect_stays("fn main(%x: f32[3,8], %w: f32[8,5]) {\n" + norm_constants(5) +
               "  %0 = matmul(%x, %w)\n  %1 = " + std::string(kNorm) + "\n  return %1 }");
  expect_stays("fn main(%x: f32[3,5]) {\n" + norm_constants(5) +
               "  %0 = relu(%x)\n  %1 = " + std::string(kNorm) + "\n  return %1 }");
}

TEST(FoldBatchNorm, LeavesAnotherAxis) {
  // The channels of a batch_norm are axis 1; the columns of this product are axis 2.
  expect_stays(norm_after("f32[2,3,4]", constant("w", {4, 5}, 1), "matmul(%x, %w)", 3));
  // There is one factor per row.
  expect_stays("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + constant("s", {3, 1}, 2) +
               "  %0 = matmul(%x, %w)\n  %1 = multiply(%0, %s)\n  return %1 }");
  // The factor makes the result larger.
  expect_stays("fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) +
               constant("s", {2, 1, 5}, 2) +
               "  %0 = matmul(%x, %w)\n  %1 = multiply(%0, %s)\n  return %1 }");
}

TEST(FoldBatchNorm, LeavesFactorsThatAreNotFinite) {
  expect_stays(
      "fn main(%x: f32[1,2]) { %w = const(1.0) : f32[2,1]  %s = const([inf]) : f32[1]\n"
      "  %0 = matmul(%x, %w)  %1 = multiply(%0, %s)  return %1 }");
  // The folded weight is finite in f64, but not in f32.
  expect_stays(
      "fn main(%x: f32[1,2]) { %w = const(1e30) : f32[2,1]  %s = const([1e30]) : f32[1]\n"
      "  %0 = matmul(%x, %w)  %1 = multiply(%0, %s)  return %1 }");
}

TEST(FoldBatchNorm, StaysInsideARegion) {
  expect_stays(
      "fn main(%x: f32[3,8]) {\n" + constant("w", {8, 5}, 1) + constant("s", {5}, 2) +
      "  %a = compiler_begin(%x) {compiler=\"a\", region=0}\n  %0 = matmul(%a, %w)\n"
      "  %e = compiler_end(%0) {compiler=\"a\", region=0}\n  %1 = multiply(%e, %s)\n  return %1 }");
}

TEST(FoldBatchNorm, KeepsTheUsersNames) {
  auto folded = after(
      "fn main(%x: f32[1,1]) { %w = const([3.0]) : f32[1,1]  %s = const([2.0]) : f32[1]\n"
      "  %0 = matmul(%x, %w) loc(\"MatMul_0\")  %1 = multiply(%0, %s)\n"
      "  %2 = add(%1, %s) loc(\"Add_2\")  return %2 }",
      "fold_batch_norm,eliminate_dead_code");
  expect_equal(folded,
               "fn main(%x: f32[1,1]) { %w = const([6.0]) : f32[1,1]\n"
               "  %0 = matmul(%x, %w) loc(\"MatMul_0\")  %s = const([2.0]) : f32[1]\n"
               "  %1 = add(%0, %s) loc(\"Add_2\")  return %1 }");
}

}  // namespace
}  // namespace byoc
