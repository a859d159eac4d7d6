// SPDX-License-Identifier: Apache-2.0
// Kernels compiled: as many as there are different regions, which in a graph that repeats itself is
// a number that does not depend on its length.
#include <gtest/gtest.h>

#include "byoc/compile.h"
#include "graphs.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

struct Count {
  size_t kernels = 0, steps = 0;
};

Count compile(Shape shape, uint32_t ops) {
  BuildOptions options;
  options.plugins = selective_plugins({{"a", {{"ops", "relu,add,conv2d"}, {"count", "1"}}},
                                       {"b", {{"ops", "tanh,multiply"}, {"count", "1"}}}});
  options.compilers = {"a", "b"};
  Result<Executable> executable = build(make_graph(shape, ops), options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  Count out;
  if (!executable.ok()) return out;
  for (const ExternalModule& module : executable->modules) {
    const auto functions = module.functions.size();
    if (module.plugin != "json") {
      EXPECT_EQ(module.functions.back().implementation, cat("function ", functions))
          << module.plugin << " was given functions that are not used";
    }
    out.kernels += functions;
  }
  out.steps = executable->program.steps.size();
  return out;
}

TEST(KernelsCompiled, DoNotGrowWithAGraphThatRepeatsItself) {
  for (Shape shape : {Shape::kChain, Shape::kLadder}) {
    Count small = compile(shape, 1000), large = compile(shape, 10000);
    EXPECT_GT(large.steps, 4000u);
    EXPECT_EQ(small.kernels, 11u);
    EXPECT_EQ(large.kernels, 11u);
  }
}

TEST(KernelsCompiled, GrowAtMostWithARandomGraph) {
  Count small = compile(Shape::kRandom, 1000), large = compile(Shape::kRandom, 10000);
  EXPECT_LE(large.kernels, 7 * small.kernels) << "of ten times as many regions";
  EXPECT_LT(large.kernels, large.steps / 8);
}

}  // namespace
}  // namespace byoc::test
