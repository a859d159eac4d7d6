// SPDX-License-Identifier: Apache-2.0
// Element types of at most 8 bits: Cast, QuantizeLinear, DequantizeLinear, and ops that move them.
// Expected values: ONNX opset 25, the texts of these operators.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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

// A constant matrix [8, 2], or [2, 8], of 4 bits with one block of 8 along `axis`.
OnnxModel matrix_in_blocks(int dtype, int axis, bool has_zero_point) {
  FoldedNode node("DequantizeLinear", 21);
  const bool is_first = axis == 0;
  raw(node, is_first ? std::vector<int64_t>{8, 2} : std::vector<int64_t>{2, 8}, dtype,
      is_first ? "\x08\x19\x2a\x3b\x4c\x5d\x6e\x7f" : "\x98\xba\xdc\xfe\x10\x32\x54\x76");
  node.floats(is_first ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 1}, {2, 1});
  if (has_zero_point)
    raw(node, is_first ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 1}, dtype, "\x0f");
  node.with("axis", axis).with("block_size", 8);
  return node.model;
}

TEST(DequantizeLinearRow, KeepsConstantMatricesInBlocksPacked) {
  // [8, 2] has the columns 8 9 a b c d e f and 0 1 2 3 4 5 6 7
  EXPECT_THAT(ops_of(matrix_in_blocks(kUint4, 0, true)),
              AllOf(HasSubstr("const([152,186,220,254,16,50,84,118]) : u8[2,4]"),
                    HasSubstr("const([15,0]) : u8[2,1]"), HasSubstr("const([2.0,1.0]) : f32[2,1]"),
                    HasSubstr("{block=8, rows=8}"), Not(HasSubstr("transpose"))));
  EXPECT_THAT(ops_of(matrix_in_blocks(kUint4, 1, false)),
              AllOf(HasSubstr("const([152,186,220,254,16,50,84,118]) : u8[2,4]"),
                    HasSubstr("const([0,0]) : u8[2,1]"), HasSubstr("transpose")));
}

TEST(DequantizeLinearRow, RaisesIntegersWithASign) {
  EXPECT_THAT(ops_of(matrix_in_blocks(kInt4, 0, false)),
              AllOf(HasSubstr("const([16,50,84,118,152,186,220,254]) : u8[2,4]"),
                    Not(HasSubstr("u8[2,1]"))));
  EXPECT_THAT(ops_of(matrix_in_blocks(kInt4, 0, true)), HasSubstr("const([7,8]) : u8[2,1]"));
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
