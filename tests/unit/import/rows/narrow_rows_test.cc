// SPDX-License-Identifier: Apache-2.0
// Element types of at most 8 bits: Cast, QuantizeLinear, DequantizeLinear, and ops that move them.
// Expected values: ONNX opset 25, the texts of these operators.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using Floats64 = std::vector<double>;
constexpr int kE4m3fn = 17, kUint4 = 21, kInt4 = 22, kE2m1 = 23, kInt2 = 26;

onnx::TensorProto& raw(FoldedNode& node, std::vector<int64_t> dims, int dtype, std::string bytes) {
  node.ints(dims, {}, dtype);
  auto& tensor = *node.model.graph().mutable_initializer(node.model.graph().initializer_size() - 1);
  tensor.set_raw_data(std::move(bytes));
  return tensor;
}

TEST(NarrowTypes, ArePackedLowBitsFirst) {
  FoldedNode four("Cast", 25), two("Cast", 25), eight("Cast", 25);
  raw(four, {3}, kInt4, "\x9f\x07").set_name("c0");
  EXPECT_EQ(four.with("to", 1).result(), (Floats64{-1, -7, 7}));
  raw(two, {5}, kInt2, "\xe4\x01").set_name("c0");
  EXPECT_EQ(two.with("to", 1).result(), (Floats64{0, 1, -2, -1, 1}));
  raw(eight, {2}, kE4m3fn, "\x38\xfe").set_name("c0");
  EXPECT_EQ(eight.with("to", 1).result(), (Floats64{1, -448}));
}

TEST(NarrowTypes, NeedTheirBytes) {
  FoldedNode node("Cast", 25);
  raw(node, {3}, kInt4, "\x9f").set_name("c0");
  EXPECT_THAT(ops_of(node.with("to", 1).model), HasSubstr("needs 2 bytes, its raw data has 1"));
}

TEST(CastRow, KeepsTheLowBits) {
  FoldedNode floats("Cast", 25), ints("Cast", 25);
  floats.floats({4}, {-9, 8, 3, -2.7f}).with("to", kInt4);
  EXPECT_EQ(floats.result(), (Floats64{7, -8, 3, -2}));
  ints.ints({4}, {200, -9, 8, 3}).with("to", kInt4);
  EXPECT_EQ(ints.result(), (Floats64{-8, 7, -8, 3}));
}

TEST(CastRow, EncodesFloats) {
  FoldedNode node("Cast", 25);
  node.floats({3}, {1, 1000, -0.75f}).with("to", kE4m3fn);
  EXPECT_EQ(node.result(), (Floats64{0x38, 0x7e, 0xb4}));
  node.with("saturate", 0);
  EXPECT_EQ(node.result(), (Floats64{0x38, 0x7f, 0xb4}));
}

TEST(DequantizeLinearRow, HasAScalePerBlock) {
  FoldedNode node("DequantizeLinear", 25);
  raw(node, {1, 5}, kUint4, "\x21\x43\x05");
  node.floats({1, 3}, {1, 10, 100}).with("axis", 1).with("block_size", 2);
  EXPECT_EQ(node.result(), (Floats64{1, 2, 30, 40, 500}));
}

TEST(DequantizeLinearRow, ReadsCodesOfFloats) {
  FoldedNode node("DequantizeLinear", 25);
  raw(node, {4}, kE2m1, "\x21\xf7");
  node.floats({}, {2});
  EXPECT_EQ(node.result(), (Floats64{1, 2, 12, -12}));
}

TEST(QuantizeLinearRow, RoundsToTheTypeOfTheZeroPoint) {
  FoldedNode node("QuantizeLinear", 25);
  node.floats({4}, {-100, 3, 5, 100}).floats({}, {2});
  raw(node, {}, kInt4, std::string(1, '\x01'));
  EXPECT_EQ(node.result(), (Floats64{-8, 3, 3, 7}));
}

TEST(QuantizeLinearRow, HasAStatedType) {
  FoldedNode node("QuantizeLinear", 25);
  node.floats({3}, {-1, 40000, 70000}).floats({}, {1}).with("output_dtype", 4);
  EXPECT_EQ(node.result(), (Floats64{0, 40000, 65535}));
}

TEST(QuantizeLinearRow, HasAScalePerBlock) {
  FoldedNode node("QuantizeLinear", 25);
  node.floats({2, 3}, {1, 2, 3, 4, 5, 6}).floats({1, 3}, {1, 2, 3});
  node.with("axis", 0).with("block_size", 2);
  EXPECT_EQ(node.result(), (Floats64{1, 1, 1, 4, 2, 2}));
}

TEST(QuantizeLinearRow, RefusesBlocksThatDoNotCoverX) {
  FoldedNode node("QuantizeLinear", 25);
  node.floats({2, 3}, pattern(6)).floats({1, 3}, {1, 2, 3}).with("axis", 0).with("block_size", 1);
  EXPECT_THAT(ops_of(node.model),
              HasSubstr("blocks of 1 along dim 0 of x, which has shape [2,3], do "
                        "not fit the scale f32[1,3]"));
}

TEST(NarrowTypes, PassThroughOpsThatMove) {
  FoldedNode node("Transpose", 25);
  raw(node, {2, 2}, kInt4, "\x21\x43").set_name("c0");
  node.node().set_output(0, "t");
  node.model.node("Cast", {"t"}, {"y0"}, "c");
  set(*node.model.graph().mutable_node(1), "to", 1);
  EXPECT_EQ(node.result(), (Floats64{1, 3, 2, 4}));
}

TEST(NarrowTypes, AreRefusedByOtherOps) {
  FoldedNode node("Add", 25);
  raw(node, {2}, kE4m3fn, "\x38\x38");
  node.node().add_input("c0");
  EXPECT_THAT(ops_of(node.model),
              HasSubstr("elements of type FLOAT8E4M3FN are supported by casts, QuantizeLinear, "
                        "DequantizeLinear and ops that move elements, not by this operator"));
}

TEST(NarrowTypes, AreTheDeclaredTypesOfResults) {
  FoldedNode node("Cast", 25);
  node.floats({1}, {1}).with("to", kE4m3fn);
  node.model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(kE2m1);
  EXPECT_THAT(ops_of(node.model),
              HasSubstr("is declared as FLOAT4E2M1, its value is FLOAT8E4M3FN"));
}

}  // namespace
}  // namespace byoc::test
