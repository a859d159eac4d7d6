// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/elementwise.cc that do more than rename an op.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

OnnxModel two_inputs(const char* op, int opset, std::vector<DimSpec> a, std::vector<DimSpec> b) {
  OnnxModel model(opset);
  model.input("a", a).input("b", b).output("y");
  model.node(op, {"a", "b"}, {"y"}, "n");
  return model;
}
onnx::NodeProto& elementwise_node(OnnxModel& model) { return *model.graph().mutable_node(0); }

TEST(LegacyBroadcast, AlignsTheSecondOperandAtTheAxis) {
  OnnxModel model = two_inputs("Add", 6, {2, 3, 4, 5}, {3, 4});
  set(elementwise_node(model), "broadcast", 1);
  set(elementwise_node(model), "axis", 1);
  EXPECT_EQ(ops_of(model), "%0 = unsqueeze(%b) {axes=[2]}\n%1 = add(%a, %0)\n");
}

TEST(LegacyBroadcast, WithoutAnAxisAlignsAtTheEnd) {
  OnnxModel model = two_inputs("Mul", 6, {2, 3}, {3});
  set(elementwise_node(model), "broadcast", 1);
  EXPECT_EQ(ops_of(model), "%0 = multiply(%a, %b)\n");
}

TEST(LegacyBroadcast, IsGoneFromOpset7On) {
  EXPECT_EQ(ops_of(two_inputs("Sub", 7, {2, 3}, {3})), "%0 = subtract(%a, %b)\n");
}

TEST(PRelu, HasASlopePerChannelUpToOpset6) {
  EXPECT_EQ(ops_of(two_inputs("PRelu", 6, {2, 3, 4, 5}, {3})),
            "%0 = unsqueeze(%b) {axes=[1,2]}\n%1 = prelu(%a, %0)\n");
  EXPECT_EQ(ops_of(two_inputs("PRelu", 6, {2, 3, 4, 5}, {1})), "%0 = prelu(%a, %b)\n");
}

TEST(PRelu, BroadcastsItsSlopeFromOpset7On) {
  EXPECT_EQ(ops_of(two_inputs("PRelu", 9, {2, 3, 4}, {3, 1})), "%0 = prelu(%a, %b)\n");
}

TEST(Variadic, BecomesAChain) {
  OnnxModel model;
  model.input("a", {2}).input("b", {2}).input("c", {2}).output("y");
  model.node("Max", {"a", "b", "c"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = maximum(%a, %b)\n%1 = maximum(%0, %c)\n");
}

TEST(Variadic, OfOneIsThatOne) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  model.node("Sum", {"a"}, {"y"});
  EXPECT_EQ(ops_of(model), "");
}

// A variadic operand cannot be omitted: Max("a", "", "b") is not the same as Max("a", "b").
TEST(Variadic, RefusesAnEmptyName) {
  for (const char* op : {"Max", "Min", "Sum", "Mean", "Concat"}) {
    for (size_t empty : {0u, 1u, 2u}) {
      OnnxModel model;
      model.input("a", {2}).input("b", {2}).output("y");
      std::vector<std::string> names = {"a", "b"};
      names.insert(names.begin() + static_cast<ptrdiff_t>(empty), "");
      auto& node = model.node(op, names, {"y"}, "the_node");
      if (op == std::string("Concat")) set(node, "axis", 0);
      EXPECT_ERROR(model.import(), "onnx-graph", cat("input ", empty, " has an empty name"));
      EXPECT_THAT(model.import().status().to_string(), testing::HasSubstr("node \"the_node\""));
    }
  }
}

TEST(Variadic, RefusesAnEmptyNameOfATwoOperandOp) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  model.node("Add", {"", "a"}, {"y"}, "the_node");
  EXPECT_ERROR(model.import(), "onnx-graph", "input 0 has no name; Add needs the first 2 inputs");
}

TEST(Mean, DividesTheSumByTheNumberOfOperands) {
  EXPECT_EQ(ops_of(two_inputs("Mean", 13, {2}, {2})),
            "%0 = add(%a, %b)\n%1 = const(2.0) : f32[]\n%2 = divide(%0, %1)\n");
}

TEST(Selu, HasRoundedConstantsBeforeOpset6) {
  OnnxModel model(5);
  model.input("a", {2}).output("y");
  model.node("Selu", {"a"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = selu(%a) {alpha=1.6732, gamma=1.0507}\n");
}

TEST(Clip, TakesAttributesUpToOpset10) {
  OnnxModel model(10);
  model.input("a", {2}).output("y");
  auto& node = model.node("Clip", {"a"}, {"y"});
  set(node, "max", 6.0f);
  EXPECT_EQ(ops_of(model), "%0 = clip(%a) {max=6.0}\n");
  set(node, "min", -3.402823466e+38f);  // the explicit default: no bound
  EXPECT_EQ(ops_of(model), "%0 = clip(%a) {max=6.0}\n");
}

TEST(Clip, TurnsConstantBoundsIntoAttributes) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  model.initializer("low", {}, {0});
  model.initializer("high", {}, {6});
  model.node("Clip", {"a", "low", "high"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = clip(%a) {max=6.0, min=0.0}\n");
}

TEST(Clip, LeavesOutABoundThatIsNotGiven) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  model.initializer("high", {}, {6});
  model.node("Clip", {"a", "", "high"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = clip(%a) {max=6.0}\n");
}

TEST(Clip, ComparesWithBoundsThatAreComputed) {
  OnnxModel model;
  model.input("a", {2}).input("low", {}).input("high", {}).output("y");
  model.initializer("six", {}, {6});
  auto& node = model.node("Clip", {"a", "low", "high"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = maximum(%a, %low)\n%1 = minimum(%0, %high)\n");
  node.set_input(1, "");
  EXPECT_EQ(ops_of(model), "%0 = clip(%a)\n%1 = minimum(%0, %high)\n");
}

TEST(Cast, RefusesStrings) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  set(model.node("Cast", {"a"}, {"y"}, "n"), "to", onnx::TensorProto::STRING);
  EXPECT_THAT(ops_of(model),
              HasSubstr("error[onnx-unsupported]: element type STRING is not supported"));
}

TEST(CastLike, TakesTheDtypeOfTheOther) {
  OnnxModel model(15);
  model.input("a", {2}).input("b", {1}, onnx::TensorProto::INT64).output("y");
  model.node("CastLike", {"a", "b"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = cast(%a) {to=i64}\n");
}

TEST(BitShift, RefusesAnUnknownDirection) {
  OnnxModel model(11);
  model.input("a", {2}, onnx::TensorProto::UINT8)
      .input("b", {2}, onnx::TensorProto::UINT8)
      .output("y");
  auto& node = model.node("BitShift", {"a", "b"}, {"y"}, "n");
  set(node, "direction", "UP");
  EXPECT_THAT(ops_of(model), HasSubstr("its direction is \"UP\", expected \"LEFT\" or \"RIGHT\""));
  node.mutable_attribute(0)->set_s("LEFT");
  EXPECT_EQ(ops_of(model), "%0 = bit_shift(%a, %b) {direction=\"left\"}\n");
}

TEST(SameRow, PassesAttributesOn) {
  OnnxModel model;
  model.input("a", {2}).output("y");
  auto& node = model.node("HardSigmoid", {"a"}, {"y"});
  set(node, "alpha", 0.25f);
  EXPECT_EQ(ops_of(model), "%0 = hard_sigmoid(%a) {alpha=0.25}\n");
}

}  // namespace
}  // namespace byoc::test
