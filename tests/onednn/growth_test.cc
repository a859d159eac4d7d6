// SPDX-License-Identifier: Apache-2.0
// Chains after an anchor in which an operand broadcasts the result so far to a larger one. The
// anchor's primitive has the anchor's own shape; the op that makes the result larger runs after it.
#include <gmock/gmock.h>

#include "support/flow.h"

namespace byoc::test {
namespace {

struct Program {
  const char* name;
  const char* text;
};

// As x and bias, parameters named w are given at run time; constants are written out.
const Program kPrograms[] = {
    {"rows",
     "fn main(%x: f32[1,1,8], %w: f32[8,16], %b: f32[1,5,16]) {"
     " %0 = matmul(%x, %w)  %1 = add(%0, %b)  return %1 }"},
    {"batch",
     "fn main(%x: f32[4,8], %w: f32[8,16], %b: f32[3,4,16]) {"
     " %0 = matmul(%x, %w)  %1 = multiply(%b, %0)  return %1 }"},
    {"rank",
     "fn main(%x: f32[4,8], %w: f32[8,16], %b: f32[1,1,1,16]) {"
     " %0 = gemm(%x, %w)  %1 = add(%0, %b)  %2 = relu(%1)  return %2 }"},
    {"columns",
     "fn main(%x: f32[2,9,8], %w: f32[8,1], %b: f32[2,9,6]) {"
     " %0 = matmul(%x, %w)  %1 = subtract(%0, %b)  %2 = tanh(%1)  return %2 }"},
    {"both",
     "fn main(%x: f32[1,1,8], %w: f32[8,16], %b: f32[5,1]) {"
     " %0 = matmul(%x, %w)  %1 = add(%0, %b)  %2 = relu(%1)  return %2 }"},
    {"twice",
     "fn main(%x: f32[1,8], %w: f32[8,16], %a: f32[9,16], %b: f32[2,9,16]) {"
     " %0 = matmul(%x, %w)  %1 = add(%0, %a)  %2 = relu(%1)  %3 = multiply(%2, %b)"
     " return %3 }"},
    {"after a bias",
     "fn main(%x: f32[1,1,8], %w: f32[8,2], %b: f32[1,9,2]) {"
     " %c = const([0.5,-1]) : f32[2]"
     " %0 = matmul(%x, %w)  %1 = add(%0, %c)  %2 = add(%1, %b)  return %2 }"},
    {"before a bias",
     "fn main(%x: f32[1,1,8], %w: f32[8,2], %b: f32[1,9,2]) {"
     " %c = const([0.5,-1]) : f32[2]"
     " %0 = matmul(%x, %w)  %1 = add(%0, %b)  %2 = add(%1, %c)  return %2 }"},
    {"a constant",
     "fn main(%x: f32[1,8], %w: f32[8,2]) {"
     " %c = const([0.5,-1,2,3,4,-5]) : f32[3,2]"
     " %0 = matmul(%x, %w)  %1 = add(%0, %c)  return %1 }"},
    {"one matrix each",
     "fn main(%x: f32[3,1,8], %w: f32[3,8,16], %b: f32[3,7,16]) {"
     " %0 = matmul(%x, %w)  %1 = add(%0, %b)  return %1 }"},
    {"mish in pieces, then growth",
     "fn main(%x: f32[1,2,8], %w: f32[8,16], %b: f32[5,2,16]) {"
     " %0 = matmul(%x, %w)  %1 = softplus(%0)  %2 = tanh(%1)  %3 = multiply(%0, %2)"
     " %4 = multiply(%3, %b)  return %4 }"},
    {"growth, then swish in pieces",
     "fn main(%x: f32[1,1,8], %w: f32[8,16], %b: f32[1,9,16]) {"
     " %0 = matmul(%x, %w)  %1 = add(%0, %b)  %2 = sigmoid(%1)  %3 = multiply(%1, %2)"
     " return %3 }"},
    {"swish in pieces, then growth",
     "fn main(%x: f32[1,1,8], %w: f32[8,16], %b: f32[1,9,16]) {"
     " %0 = matmul(%x, %w)  %1 = sigmoid(%0)  %2 = multiply(%0, %1)  %3 = add(%2, %b)"
     " return %3 }"},
    {"hard_swish in pieces with constants of a higher rank",
     "fn main(%x: f32[4,8], %w: f32[8,16], %b: f32[16]) {"
     " %three = const([3]) : f32[1,1,1]  %six = const([6]) : f32[1,1,1]"
     " %0 = matmul(%x, %w)  %1 = add(%0, %three)  %2 = clip(%1) {min=0.0, max=6.0}"
     " %3 = multiply(%2, %0)  %4 = divide(%3, %six)  %5 = add(%4, %b)  return %5 }"},
    {"a convolution of one image",
     "fn main(%x: f32[1,8,4,4], %w: f32[8,8,3,3], %b: f32[3,8,2,2]) {"
     " %0 = conv2d(%x, %w)  %1 = add(%0, %b)  %2 = relu(%1)  return %2 }"},
    {"a convolution of one pixel",
     "fn main(%x: f32[1,8,1,1], %w: f32[8,8,1,1], %b: f32[1,8,6,5]) {"
     " %0 = conv2d(%x, %w)  %1 = multiply(%0, %b)  return %1 }"},
    {"a convolution of one channel",
     "fn main(%x: f32[1,8,4,4], %w: f32[1,8,3,3], %b: f32[8,1,1]) {"
     " %0 = conv2d(%x, %w)  %1 = add(%0, %b)  return %1 }"},
    {"a transposed convolution",
     "fn main(%x: f32[1,8,2,1], %w: f32[8,3,3,1], %b: f32[2,3,5,4]) {"
     " %0 = conv2d_transpose(%x, %w) {strides=[2,1]}  %1 = maximum(%0, %b)  return %1 }"},
};

std::vector<Tensor> run_by(const IRModule& module, std::vector<std::string> compilers,
                           uint32_t threads) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = std::move(compilers);
  options.threads = threads;
  Result<Executable> executable = build(module, options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  return executable.ok() ? execute(*executable, options.plugins, {}, 1, threads)
                         : std::vector<Tensor>();
}

TEST(OnednnGrowth, ChainsThatMakeTheResultLargerAreAsTheReferenceComputesThem) {
  const bool has_llvm = built_plugins()->get("llvm").ok();
  for (const Program& program : kPrograms) {
    SCOPED_TRACE(program.name);
    const IRModule module = parse(program.text);
    const std::vector<Tensor> right = run_by(module, {"json"}, 1);
    for (uint32_t threads : {1u, 2u}) {
      expect_close(run_by(module, {"onednn"}, threads), right);
      if (has_llvm) expect_close(run_by(module, {"onednn", "llvm"}, threads), right);
    }
  }
}

// [1 2] x [[1 0] [0 1]] = [1 2], to which three rows are added.
TEST(OnednnGrowth, AddsEachRowToTheOneRowOfTheProduct) {
  const IRModule module = parse(
      "fn main(%x: f32[1,1,2], %w: f32[2,2], %b: f32[1,3,2]) {"
      " %0 = matmul(%x, %w)  %1 = add(%0, %b)  return %1 }");
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {"onednn"};
  Result<Executable> executable = build(module, options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({1, 1, 2}, {1, 2}));
  inputs.push_back(tensor_f32({2, 2}, {1, 0, 0, 1}));
  inputs.push_back(tensor_f32({1, 3, 2}, {10, 20, 30, 40, 50, 60}));
  EXPECT_THAT(floats(execute(*executable, options.plugins, inputs)[0]),
              testing::ElementsAre(11, 22, 31, 42, 51, 62));
}

// The two units are in one region, so that no border is between them.
TEST(OnednnGrowth, TheLargerSumIsInTheRegionOfTheProduct) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {"onednn"};
  Result<Executable> executable = build(parse(kPrograms[0].text), options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  ASSERT_EQ(executable->program.steps.size(), 1u);
  EXPECT_EQ(executable->modules[executable->program.steps[0].module].plugin, "onednn");
}

}  // namespace
}  // namespace byoc::test
