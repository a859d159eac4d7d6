// SPDX-License-Identifier: Apache-2.0
#include "byoc/plugin/sdk/pattern.h"

#include <gmock/gmock.h>

namespace byoc::sdk {
namespace {

TEST(SdkPattern, WritesAnOp) {
  EXPECT_EQ(op("relu").json(), R"({"op":"relu"})");
  EXPECT_EQ(op("add", {any("a"), constant("b")}).json(),
            R"({"op":"add","args":[{"any":true,"as":"a"},{"const":true,"as":"b"}]})");
}

TEST(SdkPattern, WritesConditions) {
  EXPECT_EQ(
      op("conv2d")
          .attr("group", "1")
          .attr("dilations", R"({"max":2})")
          .dtype({"f32", "f16"})
          .rank({4})
          .as("conv")
          .json(),
      R"({"op":"conv2d","dtype":["f32","f16"],"rank":[4],"as":"conv","attrs":{"group":1,"dilations":{"max":2}}})");
}

TEST(SdkPattern, KeepsConditionsOfOperandsApart) {
  EXPECT_EQ(op("relu", {op("conv2d").attr("group", "1")}).attr("x", "2").json(),
            R"({"op":"relu","args":[{"op":"conv2d","attrs":{"group":1}}],"attrs":{"x":2}})");
}

TEST(SdkPattern, WritesChoicesRepetitionsAndOptions) {
  Dag bias = optional(op("add", {prior(), constant("b")}), op("conv2d"));
  EXPECT_EQ(
      bias.json(),
      R"({"optional":{"op":"add","args":["$",{"const":true,"as":"b"}]},"on":{"op":"conv2d"}})");
  EXPECT_EQ(
      repeat(one_of({op("relu", {prior()}), op("add", {prior(), same("x")})}), op("conv2d"), "post",
             1, 3)
          .json(),
      R"({"repeat":{"one_of":[{"op":"relu","args":["$"]},{"op":"add","args":["$",{"same":"x"}]}]},)"
      R"("on":{"op":"conv2d"},"min":1,"max":3,"as":"post"})");
}

TEST(SdkPattern, ListsOpsByTheirNames) {
  std::vector<Pattern> patterns;
  add_ops(patterns, {"relu", "tanh"});
  ASSERT_EQ(patterns.size(), 2u);
  EXPECT_EQ(patterns[1].name, "tanh");
  EXPECT_EQ(patterns[1].dag_json, R"({"op":"tanh"})");
}

}  // namespace
}  // namespace byoc::sdk
