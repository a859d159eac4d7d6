// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

namespace byoc {
namespace {

constexpr std::string_view kCalls =
    "fn main(%x: f32[2,3]) { %0 = @f(%x)  %1 = relu(%0)  return %1 }\n"
    "fn f(%x: f32[2,3]) { %0 = transpose(%x) {perm=[1,0]}  return %0 }";

TEST(InferTypes, BringsForgottenTypesBackCalleesFirst) {
  IRModule module = module_of(kCalls), forgotten = module;
  for (auto& [name, function] : forgotten.functions) {
    for (Node& node : function.nodes) {
      if (!std::holds_alternative<Param>(node.kind)) node.types = TypeId();
    }
  }
  auto inferred = infer_types(forgotten, {});
  ASSERT_TRUE(inferred.ok()) << inferred.status().to_string();
  expect_equal(*inferred, module);
}

TEST(InferTypes, SaysWhichOpDoesNotFitItsOperands) {
  IRModule module =
      module_of("fn main(%x: f32[2,3], %y: f32[2,3]) { %0 = add(%x, %y)  return %0 }");
  module.function("main").nodes[1].types = TypeId(TensorType{DType::kF32, {Dim(5)}});
  Status status = infer_types(module, {}).status();
  EXPECT_THAT(status.message(), ::testing::StartsWith("add: "));
  EXPECT_EQ(status.where(), "@main: %0 (add)");
}

TEST(InferTypes, RefusesValuesThatDoNotExist) {
  auto refusal = [](const std::function<void(Function&)>& change) {
    IRModule module = module_of("fn main(%x: f32[2]) { %0 = relu(%x)  %1 = tanh(%0)  return %1 }");
    change(module.function("main"));
    Status status = infer_types(module, {}).status();
    EXPECT_EQ(status.slug(), "ir-invalid");
    return cat(status.where(), " | ", status.message());
  };
  EXPECT_EQ(refusal([](Function& f) {
              f.operands[0] = {2, 0};
            }),
            "@main: %0 (relu) | value 2#0 is read, and no node before computes it");
  EXPECT_EQ(refusal([](Function& f) {
              f.operands[1] = {1, 7};
            }),
            "@main: %1 (tanh) | value 1#7 is read, and no node before computes it");
  EXPECT_EQ(refusal([](Function& f) {
              f.results[0] = {9, 0};
            }),
            "@main: return | value 9#0 is read, and no node before computes it");
  EXPECT_EQ(refusal([](Function& f) { f.operands.pop_back(); }),
            "@main: %1 (tanh) | its operands are outside the function's list of operands");
}

TEST(InferTypes, RefusesACallThatDoesNotFitItsFunction) {
  IRModule module = module_of(kCalls);
  module.function("main").nodes[0].types = TypeId(TensorType{DType::kF32, {Dim(4), Dim(3)}});
  Status status = infer_types(module, {}).status();
  EXPECT_EQ(status.message(), "argument 0 is f32[4,3], parameter x is f32[2,3]");
  EXPECT_EQ(status.slug(), "signature-mismatch");
  module = module_of(kCalls);
  std::get<Invoke>(module.function("main").nodes[1].kind).args.count = 0;
  EXPECT_EQ(infer_types(module, {}).status().message(), "@f takes 1 arguments, the call gives 0");
}

TEST(InferTypes, RefusesRecursionAndMissingFunctions) {
  IRModule module = module_of(kCalls);
  std::get<Invoke>(module.function("main").nodes[1].kind).function = "g";
  EXPECT_EQ(infer_types(module, {}).status().slug(), "unknown-function");
  std::get<Invoke>(module.function("main").nodes[1].kind).function = "main";
  EXPECT_EQ(infer_types(module, {}).status().slug(), "recursion");
}

}  // namespace
}  // namespace byoc
