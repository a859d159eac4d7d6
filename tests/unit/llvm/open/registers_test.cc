// SPDX-License-Identifier: Apache-2.0
// Tiles of the last rows of products of an open number of rows: their sums are in registers.
#include "plugins/llvm/families/calls.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

std::string assembly_of(const IRModule& module, const te::Target& target) {
  auto dags = llvm_plugin::translate_open(module, target);
  EXPECT_TRUE(dags.ok()) << dags.status().to_string();
  if (!dags.ok()) return "";
  auto kernel = llvm_plugin::lower_open(dags->open, dags->nominal, 1, target);
  auto machine = llvm_plugin::machine_of(target);
  EXPECT_TRUE(kernel.ok() && machine.ok());
  if (!kernel.ok() || !machine.ok()) return "";
  auto code = llvm_plugin::list_kernel(kernel->loops, *machine, {});
  EXPECT_TRUE(code.ok()) << code.status().to_string();
  return code.ok() ? code->assembly : "";
}

// A branch goes to the loop of one, two, .. rows. With the first sums of all these loops before it
// there were more of them than registers, and five rows took as long as eleven.
TEST(OpenProducts, HaveTheSumsOfTheLastRowsInRegisters) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const te::Target target = *te::parse_target(cpu);
    IRModule module = at_sizes::module_of(
        [](auto& d) {
          return cat("fn main(%x: f32[", d[0], ",", d[1], ",256], %w: f32[256,256]) {\n",
                     "  %0 = matmul(%x, %w)\n  return %0\n}\n");
        },
        {"1<=B<=64", "1<=T<=512"});
    module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});  // w: a constant
    size_t tiles = 0;
    for (const auto& loop : test::innermost_loops(assembly_of(module, target))) {
      const size_t sums = test::count(loop, "vfmadd");
      if (sums == 0) continue;
      ++tiles;
      EXPECT_EQ(test::count(loop, "%rsp|%rbp"), 0u) << cpu << "\n" << test::joined(loop);
    }
    EXPECT_GE(tiles, 6u) << cpu << ": a whole tile, and tiles of fewer rows";
  }
}

}  // namespace
}  // namespace byoc
