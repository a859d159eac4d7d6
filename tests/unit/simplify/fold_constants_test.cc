// SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

TEST(FoldConstants, GivesWhatTheOpsGive) {
  IRModule module = module_of(
      "fn main(%x: f32[2,3]) {\n"
      "  %a = const([1.0,2.0,3.0,4.0,5.0,6.0]) : f32[2,3]\n"
      "  %b = const([0.5,-1.0]) : f32[2]\n"
      "  %0 = transpose(%a) {perm=[1,0]}\n"
      "  %1 = multiply(%0, %b)\n"
      "  %2 = matmul(%a, %1)\n"
      "  %3 = softmax(%2)\n"
      "  %4 = matmul(%3, %x)\n"
      "  return %4, %1 }");
  auto folded = after(module, "fold_constants,eliminate_dead_code");
  ASSERT_TRUE(folded.ok()) << folded.status().to_string();
  EXPECT_EQ(folded->function("main").nodes.size(), 4u)
      << print(*folded);  // x, two constants, matmul
  testing::expect_same_results(module, *folded, 0);
}

TEST(FoldConstants, LeavesLargeResults) {
  // 64 MiB are 4096 * 4096 f32; one row more is too much.
  IRModule module = module_of(
      "fn main() {\n"
      "  %a = const(1.0) : f32[4097,1]\n"
      "  %b = const(1.0) : f32[1,4096]\n"
      "  %0 = add(%a, %b)\n"
      "  return %0 }");
  auto folded = after(module, "fold_constants");
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "add"), 1);
}

TEST(FoldConstants, MovesElementsOfLargeConstants) {
  // 65 MiB, which a kernel would otherwise transpose in every run.
  auto folded = after(module_of("fn main() {\n"
                                "  %a = const(1.0) : f32[4160,4096]\n"
                                "  %0 = transpose(%a) {perm=[1,0]}\n"
                                "  return %0 }"),
                      "fold_constants");
  ASSERT_TRUE(folded.ok()) << folded.status().to_string();
  EXPECT_EQ(count_calls(*folded, "transpose"), 0);
}

// Returns a module of four sums of 24 MiB each. The constants are small.
std::string four_large_sums() {
  std::string text = "fn main() {\n  %b = const(1.0) : f32[1,4096]\n";
  for (int k = 0; k < 4; ++k) text += cat("  %a", k, " = const(", k, ".0) : f32[1536,1]\n");
  for (int k = 0; k < 4; ++k) text += cat("  %", k, " = add(%a", k, ", %b)\n");
  return text + "  return %0, %1, %2, %3 }";
}

TEST(FoldConstants, LeavesResultsThatWouldSwellTheModelInAll) {
  auto folded = after(module_of(four_large_sums()), "fold_constants");
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "add"), 2) << "two of the four fit into 64 MiB";
}

TEST(FoldConstants, AddsAsMuchAsTheOptionAllows) {
  for (auto [mib, left] : {std::pair("0", 4), std::pair("24", 3), std::pair("1000", 0)}) {
    PassContext context;
    context.options["fold_mib"] = mib;
    auto folded = fold_constants(module_of(four_large_sums()), context);
    ASSERT_TRUE(folded.ok());
    EXPECT_EQ(count_calls(*folded, "add"), left) << mib;
  }
  PassContext context;
  context.options["fold_mib"] = "many";
  auto refused = fold_constants(module_of(four_large_sums()), context);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().to_string().find("fold_mib is \"many\""), std::string::npos);
}

TEST(FoldConstants, DoesNotCountResultsThatOneComputedOpAloneReads) {
  PassContext context;
  context.options["fold_mib"] = "0";
  auto folded = fold_constants(module_of("fn main() {\n"
                                         "  %a = const([1.0,2.0,3.0,4.0,5.0,6.0]) : f32[2,3]\n"
                                         "  %0 = transpose(%a) {perm=[1,0]}\n"
                                         "  %1 = negative(%0)\n"
                                         "  %2 = transpose(%1) {perm=[1,0]}\n"
                                         "  %3 = relu(%2)\n"
                                         "  return %3 }"),
                               context);
  ASSERT_TRUE(folded.ok()) << folded.status().to_string();
  EXPECT_EQ(count_calls(*folded, "relu"), 0) << print(*folded);

  auto kept = fold_constants(module_of("fn main() {\n"
                                       "  %a = const([1.0,2.0,3.0,4.0,5.0,6.0]) : f32[2,3]\n"
                                       "  %0 = transpose(%a) {perm=[1,0]}\n"
                                       "  %1 = relu(%0)\n"
                                       "  return %0, %1 }"),
                             context);
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  EXPECT_EQ(count_calls(*kept, "relu"), 1) << "its operand is a result and stays";
}

TEST(FoldConstants, LeavesWhatWouldTakeSeconds) {
  IRModule module =
      module_of("fn main() { %a = const(1.0) : f32[1000,1000]  %0 = matmul(%a, %a)  return %0 }");
  auto folded = after(module, "fold_constants");
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "matmul"), 1);  // 2e9 operations
}

// The products have 128 million operations each, and the constants 5 MB in all.
TEST(FoldConstants, LeavesWorkThatWouldTakeSecondsInAll) {
  std::string text = "fn main() {\n";
  for (int k = 0; k < 8; ++k)
    text += cat("  %a", k, " = const(", k, ".0) : f32[400,400]  %", k, " = matmul(%a", k, ", %a", k,
                ")\n");
  IRModule module = module_of(text + "  return %0, %1, %2, %3, %4, %5, %6, %7 }");
  for (auto [mops, left] : {std::pair("0", 8), std::pair("130", 7), std::pair("300", 6)}) {
    PassContext context;
    context.options["fold_mops"] = mops;
    auto folded = fold_constants(module, context);
    ASSERT_TRUE(folded.ok());
    EXPECT_EQ(count_calls(*folded, "matmul"), left) << mops;
  }
}

// The second convolution has 0.9e9 operations, and constants of 3 MB.
TEST(FoldConstants, LeavesAConvolutionThatIsLargerThanItsConstants) {
  IRModule module = module_of(
      "fn main() { %x = const(1.0) : f32[1,64,32,32]  %w = const(0.5) : f32[64,64,3,3]\n"
      "  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}  %1 = relu(%w)  return %0, %1 }");
  auto folded = after(module, "fold_constants");
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "conv2d"), 0) << "0.08e9 operations";
  module = module_of(
      "fn main() { %x = const(1.0) : f32[1,64,112,112]  %w = const(0.5) : f32[64,64,3,3]\n"
      "  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}  %1 = relu(%w)  return %0, %1 }");
  folded = after(module, "fold_constants");
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "conv2d"), 1);
  EXPECT_EQ(count_calls(*folded, "relu"), 0) << "later ops that fit are computed";
}

// A transpose has no flops, and moves its elements: work grows with what the model has.
TEST(FoldConstants, ComputesOpsOnWeightsOfAnySize) {
  PassContext context;
  context.options["fold_mops"] = "0";
  auto folded = fold_constants(
      module_of("fn main() { %w = const(0.5) : f32[512,512]  %0 = transpose(%w) {perm=[1,0]}\n"
                "  %1 = relu(%0)  %2 = transpose(%1) {perm=[1,0]}  return %2 }"),
      context);
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(count_calls(*folded, "transpose") + count_calls(*folded, "relu"), 0);
}

TEST(FoldConstants, KnowsTheShapeOfWhatItDoesNotKnow) {
  expect_equal(after("fn main(%x: f32[2,3]) { %0 = relu(%x)  %1 = shape(%0)  return %1 }",
                     "fold_constants,eliminate_dead_code"),
               "fn main(%x: f32[2,3]) { %0 = const([2,3]) : i64[2]  return %0 }");
}

TEST(FoldConstants, LeavesOpsWithoutAKernel) {
  OpRegistry ops;
  OpDef without{.name = "mystery", .doc = "", .inputs = {{"x", ""}}};
  without.infer = [](Types in, const Attrs&) -> Result<std::vector<TensorType>> {
    return std::vector<TensorType>{*in[0]};
  };
  ops.add(without);
  without.name = "refuses";
  without.reference = [](Types, Types, const Attrs&) -> Result<RefKernel> {
    return unimplemented("no kernel for f32");
  };
  ops.add(without);
  auto module = parse_module(
      "fn main() { %a = const(1.0) : f32[]  %0 = mystery(%a)  %1 = refuses(%a)\n"
      "  return %0, %1 }",
      ops);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto folded = fold_constants(*module, {});
  ASSERT_TRUE(folded.ok());
  expect_equal(*folded, *module);
}

TEST(FoldConstants, IsTheSameEveryTime) {
  constexpr std::string_view kText =
      "fn main(%x: f32[3]) { %a = const([0.1,0.2,0.3]) : f32[3]  %0 = exp(%a)  %1 = tanh(%0)\n"
      "  %2 = add(%x, %1)  return %2 }";
  auto first = after(kText, "fold_constants"), second = after(kText, "fold_constants");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(print(*first), print(*second));
}

}  // namespace
}  // namespace byoc
