// SPDX-License-Identifier: Apache-2.0
// The machine code of the convolutions of ResNet-50 with the default schedules.
#include <set>

#include "plugins/llvm/native.h"
#include "plugins/llvm/topi/anchors.h"
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
    auto schedule = topi::first_schedules(topi::anchor_template, target)(dag);
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

}  // namespace
}  // namespace byoc
