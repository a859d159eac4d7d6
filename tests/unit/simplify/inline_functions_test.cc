// SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

TEST(InlineFunctions, KeepsTheResults) {
  IRModule module = module_of(
      "fn main(%x: f32[4], %y: f32[4]) { %0 = @f(%x, %y)  %1 = @f(%y, %0#0)  return %1#1, %0#0, "
      "%1#0 }\n"
      "fn f(%a: f32[4], %b: f32[4]) { %0 = subtract(%a, %b)  %1 = @g(%0)  return %1, %a }\n"
      "fn g(%a: f32[4]) { %c = const([1.0,2.0,3.0,4.0]) : f32[4]  %0 = multiply(%a, %c)  return %0 "
      "}");
  auto inlined = after(module, "inline_functions");
  ASSERT_TRUE(inlined.ok()) << inlined.status().to_string();
  EXPECT_EQ(inlined->functions.size(), 1u);
  testing::expect_same_results(module, *inlined, 0);
}

TEST(InlineFunctions, WorksFromAnyEntry) {
  IRModule module = module_of(
      "module {entry=\"start\"} { fn start(%x: f32[1]) { %0 = @main(%x)  return %0 }\n"
      "fn main(%x: f32[1]) { %0 = relu(%x)  return %0 } }");
  auto inlined = after(module, "inline_functions");
  ASSERT_TRUE(inlined.ok()) << inlined.status().to_string();
  EXPECT_EQ(inlined->functions.begin()->first, Symbol("start"));
  EXPECT_EQ(count_calls(*inlined, "relu"), 1);
}

TEST(InlineFunctions, RefusesRecursion) {
  IRModule module = module_of(
      "fn main(%x: f32[1]) { %0 = @f(%x)  return %0 } fn f(%x: f32[1]) { %0 = @g(%x)  return %0 }\n"
      "fn g(%x: f32[1]) { %0 = relu(%x)  return %0 }");
  Function& g = module.function("g");
  g.add_invoke("f", std::vector<ValueId>{{0, 0}}, g.nodes[0].types);
  Status status = inline_functions(module, {}).status();
  EXPECT_EQ(status.slug(), "recursion");
  EXPECT_THAT(status.message(), ::testing::HasSubstr("@f -> @g -> @f"));
}

TEST(InlineFunctions, RefusesWhatWouldGrowBeyondAllBounds) {
  std::string text =
      "fn main(%x: f32[1]) { %0 = @f40(%x)  return %0 }\n"
      "fn f0(%x: f32[1]) { %0 = relu(%x)  return %0 }\n";
  for (int k = 1; k <= 40; ++k) {
    text += cat("fn f", k, "(%x: f32[1]) { %0 = @f", k - 1, "(%x)  %1 = @f", k - 1,
                "(%0)  return %1 }\n");
  }
  Status status = inline_functions(module_of(text), {}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(),
              ::testing::HasSubstr("nodes once the functions it calls are inlined"));
}

}  // namespace
}  // namespace byoc
