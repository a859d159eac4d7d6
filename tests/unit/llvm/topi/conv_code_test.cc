// SPDX-License-Identifier: Apache-2.0
// The machine code of convolutions, those of ResNet-50 and of integers, with the default schedules.
#include <set>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/native.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/conv.h"

namespace byoc {
namespace {

// Returns a usual target with AVX2, independent of the machine that runs the test.
te::Target avx2_target() {
  te::Target target;
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "bmi", "bmi2", "fma"};
  return target;
}

// Returns the number of registers that the multiply-adds of the loop accumulate in.
size_t sums_in(const std::vector<std::string>& loop) {
  std::set<std::string> out;
  const std::regex fma(R"(vfmadd\S+.*(%ymm\d+)\s*$)");
  std::smatch match;
  for (const std::string& line : loop) {
    if (std::regex_search(line, match, fma)) out.insert(match[1]);
  }
  return out.size();
}

TEST(ConvCode, TouchesNoStackInItsInnermostLoops) {
  const te::Target target = avx2_target();
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  const test::Conv cases[] = {{64, 64, 56, 56, 3, 1, 1},   {128, 128, 28, 28, 3, 1, 1},
                              {256, 256, 14, 14, 3, 1, 1}, {512, 512, 7, 7, 3, 1, 1},
                              {128, 128, 56, 56, 3, 2, 1}, {256, 64, 56, 56, 1, 1, 0},
                              {512, 128, 28, 28, 1, 1, 0}, {1024, 256, 14, 14, 1, 1, 0},
                              {512, 2048, 7, 7, 1, 1, 0},  {256, 512, 56, 56, 1, 2, 0}};
  for (const test::Conv& conv : cases) {
    SCOPED_TRACE(cat(conv.kernel, "x", conv.kernel, " ", conv.c, " to ", conv.o, " at ", conv.h));
    namespace topi = llvm_plugin::topi;
    const te::Dag dag = test::translated(conv, target);
    auto schedule = topi::first_schedules(llvm_plugin::family_template, target)(dag);
    ASSERT_TRUE(schedule && schedule->ok());
    auto loops = te::lower(**schedule);
    ASSERT_TRUE(loops.ok());
    auto listed = llvm_plugin::list_kernel(*loops, *machine, {});
    ASSERT_TRUE(listed.ok()) << listed.status().message();
    // Without a frame pointer, rbp is an ordinary register.
    const bool has_frame = listed->assembly.find("%rsp, %rbp") != std::string::npos;
    const char* stack = has_frame ? "%rsp|\\(%rbp" : "%rsp";
    size_t most_sums = 0;
    for (const auto& loop : test::innermost_loops(listed->assembly)) {
      if (test::count(loop, "vfmadd") == 0) continue;
      most_sums = std::max(most_sums, sums_in(loop));
      EXPECT_EQ(test::count(loop, stack), 0u) << test::joined(loop);
    }
    EXPECT_GE(most_sums, 10u) << te::print((*schedule)->trace());
  }
}

// Returns the loops of a convolution of bytes with constant weights.
te::LoopFunction loops_of_integers(const test::Conv& conv, const te::Target& target) {
  namespace topi = llvm_plugin::topi;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kU8, {1, conv.c / 8, conv.h, conv.h, 8}});
  ValueId w = f.param("w", {DType::kI8, {conv.o, conv.c, conv.kernel, conv.kernel}});
  const int64_t pad = conv.pad, stride = conv.stride;
  ValueId y =
      f.call("conv2d_nchwc_integers", {x, w},
             {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}, {"block", 8}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});  // w: a constant
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto schedule = topi::first_schedules(llvm_plugin::family_template, target)(*dag);
  EXPECT_TRUE(schedule && schedule->ok());
  auto loops = te::lower(**schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

TEST(ConvCode, UnpacksNoIntegersInItsInnermostLoops) {
  const te::Target target = avx2_target();
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  for (const test::Conv& conv :
       {test::Conv{96, 576, 14, 14, 1, 1, 0}, test::Conv{256, 64, 28, 28, 1, 1, 0},
        test::Conv{256, 512, 28, 28, 1, 2, 0}, test::Conv{64, 64, 28, 28, 3, 1, 1}}) {
    auto listed = llvm_plugin::list_kernel(loops_of_integers(conv, target), *machine, {});
    ASSERT_TRUE(listed.ok()) << listed.status().message();
    size_t tiles = 0;
    for (const auto& loop : test::innermost_loops(listed->assembly)) {
      const size_t products = test::count(loop, "vpmaddwd.*ymm");
      if (products == 0) continue;
      tiles += products >= 10;
      EXPECT_EQ(test::count(loop, "vpaddd.*ymm"), products) << test::joined(loop);
      EXPECT_EQ(test::count(loop, "vps[rl]|vpand|vpunpck|vpmov|rsp"), 0u) << test::joined(loop);
    }
    EXPECT_GE(tiles, 1u) << listed->assembly;
  }
}

}  // namespace
}  // namespace byoc
