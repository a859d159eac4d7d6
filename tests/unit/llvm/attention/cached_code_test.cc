// SPDX-License-Identifier: Apache-2.0
// Loops of attention to a cache: sums of many queries stay in registers.
#include <gtest/gtest.h>

#include "byoc/op/registry.h"
#include "byoc/text/text.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/machine/machine.h"
#include "unit/llvm/assembly.h"

namespace byoc {
namespace {

// A tile of 8 sums by 16 lanes is all registers of AVX2, and took twice the time of one of 4.
TEST(CachedAttention, KeepsTheSumsOfManyQueriesInRegisters) {
  const auto module = parse_module(
      "fn main(%q: f32[1,12,512,64], %k: f32[1,4,512,64], %v: f32[1,4,512,64], %n: i64[1]) {\n"
      "  %0 = cached_attention(%q, %k, %v, %n) {heads=12, kv_heads=4, causal=true}\n"
      "  return %0\n}\n",
      all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const te::Target target = *te::parse_target(cpu);
    auto dag = llvm_plugin::translate(*module, target);
    ASSERT_TRUE(dag.ok()) << dag.status().to_string();
    auto kernel = llvm_plugin::lower_with_constants(*dag, 1, target);
    auto machine = llvm_plugin::machine_of(target);
    ASSERT_TRUE(kernel.ok() && machine.ok());
    auto code = llvm_plugin::list_kernel(kernel->loops, *machine, {});
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    size_t tiles = 0;
    for (const auto& loop : test::innermost_loops(code->assembly)) {
      const char* elements = R"(vbroadcastss\s+-?\d*\((?!%rip)|1to16)";  // of keys and values
      if (test::count(loop, elements) < 4) continue;
      ++tiles;
      const char* stores = R"(vmov[ua]ps\s+%[xyz]mm\d+, -?\d*\()";
      EXPECT_EQ(test::count(loop, stores), 0u) << cpu << "\n" << test::joined(loop);
    }
    EXPECT_GE(tiles, 2u) << cpu << ": of scores, and of values that all rows see";
  }
}

}  // namespace
}  // namespace byoc
