// SPDX-License-Identifier: Apache-2.0
// Sizes of steps of rounding, worked out by hand.
#include "core/tools/rounding/value_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/op/registry.h"
#include "byoc/text/text.h"

namespace byoc::test {
namespace {

using driver::ValueSteps;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

/// Returns the steps of the results of main. Its parameters are %q: u8[1,2,3], the values of %r are
/// rounded, with a scale of 0.5, and %s has a scale for each of two channels.
std::vector<ValueSteps> steps_of(const std::string& body) {
  auto module = parse_module(R"(fn main(%x: f32[1,2,3]) {
    %half = const(0.5) : f32[]
    %two = const([0.25, 2.0]) : f32[2]
    %zero = const(0) : u8[]
    %zeros = const([0, 0]) : u8[2]
    %r = quantize(%x, %half, %zero)
    %f = dequantize(%r, %half, %zero)
    %c = dequantize(%r, %two, %zeros) {axis=1}
)" + body + "}",
                             all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? driver::result_steps(*module, module->function("main"))
                     : std::vector<ValueSteps>();
}

ValueSteps step_of(const std::string& body) { return steps_of(body).at(0); }

TEST(ValueSteps, OfADequantizeAreItsScale) {
  EXPECT_THAT(step_of("return %r").sizes, ElementsAre(1));
  EXPECT_THAT(step_of("return %f").sizes, ElementsAre(0.5));
  const ValueSteps channels = step_of("return %c");
  EXPECT_THAT(channels.sizes, ElementsAre(0.25, 2));
  EXPECT_EQ(channels.axis, 1u);
  EXPECT_EQ(channels.roundings, 1u);
}

TEST(ValueSteps, AreNoneBeforeTheFirstRounding) {
  EXPECT_TRUE(step_of("%0 = tanh(%x)  return %0").is_exact());
}

TEST(ValueSteps, KeepTheirChannelsThroughOpsThatMoveElements) {
  const ValueSteps moved = step_of("%0 = transpose(%c) {perm=[1,2,0]}  return %0");
  EXPECT_THAT(moved.sizes, ElementsAre(0.25, 2));
  EXPECT_EQ(moved.axis, 0u);
  EXPECT_THAT(step_of("%0 = relu(%c)  return %0").sizes, ElementsAre(0.25, 2));
  EXPECT_THAT(step_of("%0 = reshape(%c) {shape=[3,2]}  return %0").sizes, ElementsAre(2));
  EXPECT_THAT(step_of("%0 = concat(%c, %f) {axis=2}  return %0").sizes, ElementsAre(2));
}

TEST(ValueSteps, GrowWithFactorsAndSums) {
  EXPECT_THAT(step_of("%k = const(-3.0) : f32[]  %0 = multiply(%f, %k)  return %0").sizes,
              ElementsAre(1.5));
  EXPECT_THAT(step_of("%k = const(4.0) : f32[]  %0 = divide(%c, %k)  return %0").sizes,
              ElementsAre(0.0625, 0.5));
  EXPECT_THAT(step_of("%0 = add(%f, %c)  return %0").sizes, ElementsAre(2.5));
  EXPECT_THAT(step_of("%0 = subtract(%x, %f)  return %0").sizes, ElementsAre(0.5));
}

// The slope of a sigmoid is at most 1/4; a softmax moves by half of what its operands move at most.
TEST(ValueSteps, ShrinkInFlatFunctions) {
  EXPECT_THAT(step_of("%0 = sigmoid(%f)  return %0").sizes, ElementsAre(0.125));
  EXPECT_THAT(step_of("%0 = softmax(%c) {axis=1}  return %0").sizes, ElementsAre(1));
}

TEST(ValueSteps, HaveNoSizeAfterProducts) {
  const ValueSteps product = step_of(
      "%w = const([1.0,2.0,3.0]) : f32[3,1]\n"
      "%0 = matmul(%f, %w)  return %0");
  EXPECT_THAT(product.sizes, IsEmpty());
  EXPECT_EQ(product.roundings, 1u);
}

TEST(ValueSteps, OfAScaleThatIsComputedHaveNoSize) {
  EXPECT_THAT(step_of("%m = max(%x) {keepdims=false}\n"
                      "%0 = dequantize(%r, %m)  return %0")
                  .sizes,
              IsEmpty());
}

TEST(ValueSteps, CountTheRoundingsOnTheWay) {
  EXPECT_EQ(step_of("%0 = quantize(%f, %half, %zero)  return %0").roundings, 2u);
  EXPECT_EQ(step_of("%0 = quantize(%x, %half, %zero)  return %0").roundings, 1u);
}

TEST(Rounds, TellsQuantisedModelsFromOthers) {
  auto rounds = [](const std::string& body) {
    auto module = parse_module("fn main(%x: f32[2]) {" + body + "}", all_ops());
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    return driver::rounds(*module);
  };
  EXPECT_FALSE(rounds("%0 = tanh(%x)  return %0"));
  EXPECT_FALSE(rounds("%0 = round(%x)  return %0"));
  EXPECT_FALSE(rounds("%0 = cast(%x) {to=u8}  return %0"));
  EXPECT_TRUE(rounds("%0 = round(%x)  %1 = cast(%0) {to=u8}  return %1"));
}

}  // namespace
}  // namespace byoc::test
