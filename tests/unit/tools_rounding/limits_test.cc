// SPDX-License-Identifier: Apache-2.0
// Limits made of known differences, and comparisons with them, worked out by hand.
#include "core/tools/rounding/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/tools/replay/replay_case.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using driver::Limit;
using driver::ValueSteps;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
Tensor tensor(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  auto out = Tensor::make({dtype, std::move(dims)});
  std::memcpy(out->data(), values.data(), out->size_bytes());
  return *std::move(out);
}

Tensor floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor(DType::kF32, std::move(dims), values);
}

TEST(CompareToLimit, AllowsStepsOfTheirChannel) {
  const Limit limit{.tolerance = 0, .steps = 2, .sizes = {0.25, 2}, .axis = 1};
  const Tensor right = floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_TRUE(driver::compare_to_limit(floats({1, 2, 2}, {0.5, 0, 4, 0}), right, limit).is_equal);
  auto wrong = driver::compare_to_limit(floats({1, 2, 2}, {0, 0.75, 4, 0}), right, limit);
  EXPECT_FALSE(wrong.is_equal);
  EXPECT_EQ(wrong.worst, 1);
  EXPECT_EQ(wrong.step, 0.25);
  EXPECT_THAT(driver::describe(wrong, right.spec()), HasSubstr("3 steps of 0.25, worst [0,0,1]"));
}

TEST(CompareToLimit, AllowsTheToleranceOnTopOfSteps) {
  const Limit limit{.tolerance = 1e-2, .steps = 1, .sizes = {0.5}};
  const Tensor right = floats({2}, {0, 10});
  EXPECT_TRUE(driver::compare_to_limit(floats({2}, {0.59F, 10}), right, limit).is_equal);
  EXPECT_FALSE(driver::compare_to_limit(floats({2}, {0.61F, 10}), right, limit).is_equal);
}

TEST(CompareToLimit, AllowsLargeIntegersTheirStepsAlone) {
  const Tensor right = tensor<int32_t>(DType::kI32, {2}, {1000, 7}),
               near = tensor<int32_t>(DType::kI32, {2}, {1003, 7});
  EXPECT_TRUE(driver::compare_to_limit(near, right, {.steps = 1, .sizes = {3}}).is_equal);
  EXPECT_FALSE(driver::compare_to_limit(near, right, {.steps = 1, .sizes = {2}}).is_equal);
  EXPECT_FALSE(driver::compare_to_limit(near, right, {.tolerance = 1, .steps = 1}).is_equal);
}

TEST(ValueText, HasTheLimitAndItsReason) {
  const Limit limit{.steps = 1, .sizes = {0.5}, .why = "a value next to a tie"};
  const Tensor right = floats({1}, {8});
  auto value = driver::compare_value("y", floats({1}, {9.5}), right, limit);
  EXPECT_EQ(driver::value_text(value),
            "f32[1]: max error 1.5 (0.1875 of max), 3 steps of 0.5, worst [0] 9.5 instead of 8, "
            "allowed 1 step: a value next to a tie");
}

TEST(LimitOf, IsNoStepForExactValues) {
  EXPECT_EQ(driver::limit_of({}, {}, 1e-4, "json").steps, 0);
}

TEST(LimitOf, IsOneStepAfterOneRounding) {
  const Limit limit = driver::limit_of({.roundings = 1, .sizes = {0.5}}, {}, -1, "json");
  EXPECT_EQ(limit.steps, 1);
  EXPECT_THAT(limit.sizes, ElementsAre(0.5));
  EXPECT_EQ(limit.why, "a value next to a tie is rounded to either side");
}

// The reference is off by 0.75, which is 1.5 steps: twice that and one are 4.
TEST(LimitOf, AddsTwiceTheMeasuredStepsAfterSeveralRoundings) {
  const Tensor right = floats({2}, {1, 2}), some = floats({2}, {1.25, 1.25});
  const Limit limit =
      driver::limit_of({.roundings = 2, .sizes = {0.5}}, {&right, &some, nullptr}, -1, "json");
  EXPECT_EQ(limit.steps, 4);
  EXPECT_THAT(limit.why, HasSubstr("twice the 1.5 steps by which json differs"));
}

// A step is 0.5, the most that the last rounding changes.
TEST(LimitOf, MeasuresStepsWithoutASize) {
  const Tensor right = floats({2}, {1, 2}), some = floats({2}, {1.25, 2}),
               last = floats({2}, {1.5, 2});
  const Limit limit = driver::limit_of({.roundings = 2}, {&right, &some, &last}, -1, "json");
  EXPECT_THAT(limit.sizes, ElementsAre(0.5));
  EXPECT_EQ(limit.steps, 2);
}

TEST(ReplayFolder, KeepsTheLimitsOfItsOutputs) {
  Byoc byoc;
  const std::string folder = byoc.file("regions");
  Ran ran = byoc("dump " + byoc.write("m.ir", R"(fn main(%x: f32[1,2,3]) {
    %s = const([0.25, 2.0]) : f32[2]
    %z = const([0, 0]) : i8[2]
    %q = quantize(%x, %s, %z) {axis=1}
    %f = dequantize(%q, %s) {axis=1}
    return %f
  })") + " --compiler json -o " +
                 folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  auto replay = driver::read_replay(folder + "/json_main_0");
  ASSERT_TRUE(replay.ok()) << replay.status().to_string();
  const Limit limit = driver::limit_of(*replay, 0);
  EXPECT_EQ(limit.steps, 1);
  EXPECT_THAT(limit.sizes, ElementsAre(0.25, 2));
  EXPECT_EQ(limit.axis, 1u);
}

}  // namespace
}  // namespace byoc::test
