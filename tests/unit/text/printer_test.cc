// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "byoc/text/text.h"
#include "unit/ir/support.h"

namespace byoc {
namespace {

TEST(Print, ShowsAModule) {
  EXPECT_EQ(print(small_module()), R"(module {
  fn main(%x: f32[2]) {
    %0 = const([1.5,nan]) : f32[2]
    %1 = relu(%x) loc("Relu_0")
    %2 = add(%1, %0) {k=1}
    return %2
  }
}
)");
}

TEST(Print, LeavesOutAttributesThatEqualTheDefault) {
  OpDef op = *test_op("pool");
  op.attrs = {{"k", int64_t{1}}, {"m", int64_t{2}}};
  Function f;
  f.add_call(&op, intern({{"k", int64_t{1}}, {"m", int64_t{3}}}), {}, TypeId());
  EXPECT_EQ(print(f, "f"), "fn f() {\n  %0 = pool() {m=3}\n  return\n}\n");
}

TEST(Print, ElidesWhatIsAskedAndWhatIsLarge) {
  IRModule module = small_module();
  Function& f = module.function("main");
  std::string key = std::get<Constant>(f.nodes[1].kind).data->key().hex();
  EXPECT_NE(print(module, {.elide = 1}).find(cat("const<", key, "> : f32[2]")), std::string::npos);
  auto large = f32_buffer(std::vector<float>(65, 1.0f));
  f.add_constant(module.add_constant(large), TensorType{DType::kF32, {65}});
  EXPECT_NE(print(module).find(cat("const<", large->key(), "> : f32[65]")), std::string::npos);
}

TEST(Print, QuotesWhatIsNoIdentifier) {
  Function f;
  f.add_param("0", TypeId());
  f.add_param("input.1", TypeId(), "a \"b\"");
  f.results = {{0, 0}, {1, 0}};
  EXPECT_EQ(print(f, "my net"),
            "fn \"my net\"(%\"0\": f32[], %\"input.1\": f32[] loc(\"a \\\"b\\\"\")) {\n"
            "  return %\"0\", %\"input.1\"\n}\n");
}

TEST(Print, ShowsExternsCallsAndOutputs) {
  Function f;
  TypeId type = TensorType{DType::kI8, {Dim::symbol("N", 0, 4)}};
  uint32_t e = f.add_extern("plug_0", {}, std::vector<TypeId>{type, TypeId()}, "Split");
  ValueId second[] = {{e, 1}};
  f.add_invoke("g", second, TypeId());
  f.results = {{e, 1}};
  f.attrs.set("compiler", std::string("onednn"));
  EXPECT_EQ(print(f, "f"),
            "fn f() {compiler=\"onednn\"} {\n"
            "  %0 = call_dps_packed(@plug_0) : i8[N<=4], f32[] loc(\"Split\")\n"
            "  %1 = @g(%0#1)\n  return %0#1\n}\n");
}

TEST(Print, ShowsOneFunctionWhenAsked) {
  IRModule module = small_module();
  module.functions.emplace("other", Function());
  EXPECT_EQ(print(module, {.only_function = "other"}), "fn other() {\n  return\n}\n");
}

TEST(Print, NamesEntryAttributesAndExternalModules) {
  IRModule module;
  module.entry = "net";
  module.attrs.set("opset", int64_t{17});
  module.functions.emplace("net", Function());
  ExternalModule external{.plugin = "onednn"};
  external.functions.push_back({.symbol = "net_0", .n_in = 1, .n_out = 1});
  external.blob = f32_buffer({1});
  module.external_mods.push_back(external);
  EXPECT_EQ(print(module).substr(0, print(module).find('\n')),
            cat("module {entry=\"net\", opset=17, external_mods=[{plugin=\"onednn\", "
                "symbols=[\"net_0\"], key=\"",
                external.blob->key(), "\", functions=[{n_in=1, n_out=1}]}]} {"));
}

TEST(Describe, GivesNumberKindAndTheUsersName) {
  IRModule module = small_module();
  const Function& f = module.function("main");
  EXPECT_EQ(describe(f, 0), "%x (parameter)");
  EXPECT_EQ(describe(f, 2), "%1 (relu \"Relu_0\")");
}

}  // namespace
}  // namespace byoc
