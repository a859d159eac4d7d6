// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/visit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace byoc {
namespace {

Function calls(std::initializer_list<const char*> callees) {
  Function f;
  for (const char* callee : callees) f.add_invoke(callee, {}, {});
  return f;
}

TEST(Rewriter, DropsANodeAndRewiresItsReaders) {
  IRModule module = small_module();
  const Function& f = module.function("main");
  Rewriter rewriter(f);
  rewriter.copy(0);
  rewriter.copy(1);
  rewriter.set({2, 0}, rewriter.map(ValueId{0, 0}));  // relu(x) becomes x
  rewriter.copy(3);
  Function now = std::move(rewriter).finish();
  ASSERT_EQ(now.nodes.size(), 3u);
  auto args = now.args(now.nodes[2]);
  EXPECT_EQ((std::vector<ValueId>(args.begin(), args.end())),
            (std::vector<ValueId>{{0, 0}, {1, 0}}));
  EXPECT_EQ(now.results, (std::vector<ValueId>{{2, 0}}));
}

TEST(Rewriter, StopsWhenADroppedValueIsRead) {
  IRModule module = small_module();
  Rewriter rewriter(module.function("main"));
  rewriter.copy(0);
  rewriter.copy(1);
  EXPECT_DEATH(rewriter.copy(3), "value 2#0 was dropped but is used");
}

TEST(UseCounts, CountOperandsAndResults) {
  IRModule module = small_module();
  Function& f = module.function("main");
  f.results.push_back({2, 0});
  UseCounts uses(f);
  EXPECT_EQ(uses({0, 0}), 1u);
  EXPECT_EQ(uses({2, 0}), 2u);
  EXPECT_EQ(uses.of_node(3), 1u);
}

TEST(CalleesFirst, PutsEveryFunctionBehindWhatItCalls) {
  IRModule module;
  module.functions["main"] = calls({"b", "a", "b"});
  module.functions["b"] = calls({"a"});
  module.functions["a"] = calls({});
  module.functions["alone"] = calls({});
  EXPECT_EQ(*callees_first(module, "main"), (std::vector<Symbol>{"a", "b", "main"}));
  EXPECT_EQ(callees_first(module)->size(), 4u);
}

TEST(CalleesFirst, NamesTheCircle) {
  IRModule module;
  module.functions["main"] = calls({"a"});
  module.functions["a"] = calls({"b"});
  module.functions["b"] = calls({"a"});
  Status status = callees_first(module, "main").status();
  EXPECT_EQ(status.slug(), "recursion");
  EXPECT_EQ(status.message(), "functions call each other in a circle: @a -> @b -> @a");
}

TEST(CalleesFirst, NamesTheMissingFunctionAndItsCaller) {
  IRModule module;
  module.functions["main"] = calls({"gone"});
  Status status = callees_first(module, "main").status();
  EXPECT_EQ(status.slug(), "unknown-function");
  EXPECT_EQ(status.message(), "@main calls @gone, which the module does not have");
}

TEST(CalleesFirst, FollowsALongChainOfCalls) {
  IRModule module;
  const int n = 100000;
  for (int k = 0; k < n; ++k) {
    Function& f = module.functions[cat("f", k)];
    if (k + 1 < n) f.add_invoke(cat("f", k + 1), {}, {});
  }
  auto order = callees_first(module, "f0");
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->front(), Symbol(cat("f", n - 1)));
  EXPECT_EQ(order->back(), Symbol("f0"));
}

}  // namespace
}  // namespace byoc
