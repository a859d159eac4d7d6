// SPDX-License-Identifier: Apache-2.0
#include "support/evaluate.h"
#include "unit/simplify/modules.h"

namespace byoc {
namespace {

// One kernel that is called twice: with constant weights, and with weights that are an input.
constexpr std::string_view kConvRelu =
    "fn main(%x: f32[1,2,4,4], %w: f32[2,2,3,3]) {\n"
    "  %c = const(0.5) : f32[2,2,3,3]\n"
    "  %0 = @conv_relu(%x, %c)\n"
    "  %1 = @conv_relu(%0, %w)\n"
    "  return %1 }\n"
    "fn conv_relu(%x: f32[1,2,4,4], %w: f32[2,2,3,3]) {compiler=\"p\"} {\n"
    "  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}  %1 = relu(%0)  return %1 }";

TEST(BindConstantArguments, KeepsTheResults) {
  IRModule module = module_of(kConvRelu);
  auto bound = after(module, "bind_constant_arguments,eliminate_dead_code");
  ASSERT_TRUE(bound.ok()) << bound.status().to_string();
  EXPECT_EQ(bound->function("conv_relu").num_params(), 2u);
  EXPECT_EQ(bound->function("conv_relu_1").num_params(), 1u);
  testing::expect_same_results(module, *bound, 0);
}

TEST(BindConstantArguments, LeavesRegionsAndCompositesAlone) {
  IRModule module = module_of(
      "fn main(%x: f32[1]) { %c = const([1.0]) : f32[1]  %0 = @r(%x, %c)  %1 = @p_add(%0, %c)\n"
      "  return %1 }\n"
      "fn r(%x: f32[1], %w: f32[1]) {compiler=\"p\", global_symbol=\"r\", primitive=1} {\n"
      "  %0 = add(%x, %w)  return %0 }\n"
      "fn p_add(%x: f32[1], %w: f32[1]) {composite=\"p.add\"} { %0 = add(%x, %w)  return %0 }");
  auto bound = after(module, "bind_constant_arguments");
  ASSERT_TRUE(bound.ok());
  expect_equal(*bound, module);
}

TEST(BindConstantArguments, TakesTimeInProportionToTheCalls) {
  // 20,000 calls with distinct constants: a linear search per call would exceed the time limit.
  IRModule module = module_of(
      "fn main(%x: f32[1]) { %0 = @f(%x, %x)  return %0 }\n"
      "fn f(%x: f32[1], %w: f32[1]) {compiler=\"p\"} { %0 = add(%x, %w)  return %0 }");
  Function& main = module.function("main");
  TypeId type = main.nodes[0].types[0];
  ValueId last{0, 0};
  for (int k = 0; k < 20000; ++k) {
    float value = static_cast<float>(k);
    const Buffer* data = module.add_constant(Buffer::copy(std::as_bytes(std::span(&value, 1))));
    ValueId args[] = {last, {main.add_constant(data, type), 0}};
    last = {main.add_invoke("f", args, type), 0};
  }
  main.results = {last};
  auto bound = after(module, "bind_constant_arguments,eliminate_dead_code");
  ASSERT_TRUE(bound.ok()) << bound.status().to_string();
  EXPECT_EQ(bound->functions.size(), 20001u);  // main and the copies; f is dead code
}

}  // namespace
}  // namespace byoc
