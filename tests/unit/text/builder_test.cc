// SPDX-License-Identifier: Apache-2.0
#include "byoc/text/builder.h"

#include <gtest/gtest.h>

#include "byoc/text/text.h"

namespace byoc {
namespace {

const TensorType kType{DType::kF32, {2}};

TEST(FunctionBuilder, BuildsWhatTheTextSays) {
  IRModule built;
  FunctionBuilder b(built, all_ops());
  ASSERT_TRUE(b.finish("twice", {b.call("add", {b.param("a", kType), {0, 0}})}).ok());
  ValueId x = b.param("x", kType), w = b.constant_f32({2}, {1, 0.5});
  ValueId sum =
      b.end_region(b.call("add", {b.begin_region(x, "json", 3), w}, {}, "Add_0"), "json", 3);
  EXPECT_EQ(cat(b.type(sum)), "f32[2]");
  ValueId shape = b.constant_i64({1}, {2});
  Status status =
      b.finish("main", {b.invoke("twice", {sum}), x, shape}, {{"compiler", std::string("json")}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  auto written = parse_module(R"(
    fn twice(%a: f32[2]) { %0 = add(%a, %a)  return %0 }
    fn main(%x: f32[2]) {compiler="json"} { %0 = const([1.0,0.5]) : f32[2]
      %1 = compiler_begin(%x) {compiler="json", region=3}  %2 = add(%1, %0) loc("Add_0")
      %3 = compiler_end(%2) {compiler="json", region=3}  %4 = const([2]) : i64[1]  %5 = @twice(%3)
      return %5, %x, %4 })",
                              all_ops());
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(built, *written, &why)) << why << print(built);
  EXPECT_TRUE(verify(built).ok()) << verify(built).to_string();
}

// Returns the error of finish after `build`.
std::string refusal(const std::function<ValueId(FunctionBuilder&)>& build) {
  IRModule module;
  FunctionBuilder b(module, all_ops());
  ValueId result = build(b);
  result = b.call("relu", {result});  // has no effect after an error
  b.type(result);
  Status status = b.finish("f", {result});
  EXPECT_TRUE(module.functions.empty());
  return cat(status.where(), " | ", status.message());
}

TEST(FunctionBuilder, RemembersTheFirstError) {
  EXPECT_EQ(refusal([](auto& b) {
              return b.call("relu", {ValueId{7, 0}});
            }),
            "@f: relu | there is no value 7#0");
  EXPECT_EQ(refusal([](auto& b) { return b.invoke("g", {}); }),
            "@f: @g | the module has no function @g");
  EXPECT_EQ(refusal([](auto& b) { return b.constant_f32({3}, {1}); }),
            "@f: constant | f32[3] takes 12 bytes, 4 are given");
  EXPECT_EQ(refusal([](auto& b) { return b.constant(kType, nullptr); }),
            "@f: constant | a constant needs data");
  EXPECT_EQ(refusal([](auto& b) {
              b.constant_f32({}, {1});
              return b.param("x", kType);
            }),
            "@f: parameter x | parameters come before all other nodes");
  EXPECT_EQ(refusal([](auto& b) {
              b.param("x", kType);
              return b.param("x", kType);
            }),
            "@f: parameter x | a parameter needs a name of its own");
  EXPECT_EQ(refusal([](auto& b) { return b.call("rellu", {b.param("x", kType)}); }).substr(0, 11),
            "@f: rellu |");
}

TEST(FunctionBuilder, RefusesResultsAndNamesThatCannotBe) {
  IRModule module;
  FunctionBuilder b(module, all_ops());
  EXPECT_EQ(b.finish("f", {ValueId{0, 0}}).message(), "@f returns 0#0, which does not exist");
  EXPECT_TRUE(b.finish("f", {}).ok());
  EXPECT_EQ(b.finish("f", {}).code(), Code::kAlreadyExists);
}

}  // namespace
}  // namespace byoc
