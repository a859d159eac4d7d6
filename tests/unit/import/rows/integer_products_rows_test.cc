// SPDX-License-Identifier: Apache-2.0
// QLinearConv, QLinearMatMul, MatMulInteger: products that plugins compute with integers.
// Expected values: ONNX opset 21, the texts of these operators.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr int kU8 = onnx::TensorProto::UINT8, kI8 = onnx::TensorProto::INT8;

TEST(QLinearConvRow, IsAConvolutionOfDequantizedOperands) {
  OnnxModel model;
  model.input("x", {1, 3, 4, 4}, kU8).input("xs", {}).input("xz", {}, kU8);
  model.input("w", {2, 3, 3, 3}, kI8).input("ws", {2}).input("wz", {2}, kI8);
  model.input("ys", {}).input("yz", {}, kU8).input("b", {2}, onnx::TensorProto::INT32).output("y");
  model.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"}, "q");
  EXPECT_EQ(ops_of(model),
            "%0 = dequantize(%x, %xs, %xz) {axis=0}\n%1 = dequantize(%w, %ws, %wz) {axis=0}\n"
            "%2 = conv2d(%0, %1)\n%3 = multiply(%xs, %ws)\n%4 = dequantize(%b, %3) {axis=0}\n"
            "%5 = reshape(%4) {shape=[-1,1,1]}\n%6 = add(%2, %5)\n"
            "%7 = quantize(%6, %ys, %yz) {axis=0}\n");
}

TEST(QLinearMatMulRow, HasAScalePerRowAndColumn) {
  OnnxModel model;
  model.input("a", {5, 4, 3}, kU8).input("as", {4}).input("az", {4}, kU8);
  model.input("b", {3, 2}, kI8).input("bs", {2}).input("bz", {2}, kI8);
  model.input("ys", {}).input("yz", {}, kU8).output("y");
  model.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"}, "q");
  EXPECT_EQ(ops_of(model),
            "%0 = dequantize(%a, %as, %az)\n%1 = dequantize(%b, %bs, %bz)\n"
            "%2 = matmul(%0, %1)\n%3 = quantize(%2, %ys, %yz) {axis=0}\n");
}

std::string product_of_integers(int terms) {
  OnnxModel model;
  model.input("a", {2, terms}, kU8).input("b", {terms, 3}, kU8).output("y");
  model.node("MatMulInteger", {"a", "b"}, {"y"}, "m");
  return ops_of(model);
}

// 257 products of 255 by 255 are below 2^24, 259 are not.
TEST(MatMulIntegerRow, IsAProductOfFloatsThatHaveAllItsSums) {
  EXPECT_THAT(product_of_integers(257), HasSubstr("dequantize"));
  EXPECT_THAT(product_of_integers(259), Not(HasSubstr("dequantize")));
}

// Scores of attention are of several matrices, which are those of the run.
TEST(MatMulIntegerRow, IsAProductOfFloatsOfSeveralMatrices) {
  for (int terms : {257, 259}) {
    OnnxModel model;
    model.input("a", {2, 5, terms}, kU8).input("b", {2, terms, 3}, kU8).output("y");
    model.node("MatMulInteger", {"a", "b"}, {"y"}, "m");
    EXPECT_EQ(ops_of(model).find("dequantize") != std::string::npos, terms == 257);
  }
}

TEST(MatMulIntegerRow, CountsKnownWeights) {
  for (int weight : {127, 1}) {
    OnnxModel model;
    model.input("a", {2, 600}, kU8).output("y");
    auto* b = model.graph().add_initializer();
    b->set_name("b");
    b->set_data_type(kI8);
    for (int64_t dim : {600, 3}) b->add_dims(dim);
    for (int k = 0; k < 1800; ++k) b->add_int32_data(k % 2 == 0 ? weight : -weight);
    model.node("MatMulInteger", {"a", "b"}, {"y"}, "m");
    EXPECT_THAT(ops_of(model), HasSubstr(weight == 1 ? "dequantize" : "matmul(%0, "));
    EXPECT_EQ(ops_of(model).find("dequantize") != std::string::npos, weight == 1);
  }
}

TEST(MatMulIntegerRow, MovesAZeroPointOfTheRunAfterTheProduct) {
  OnnxModel model;
  model.input("a", {2, 4}, kU8).input("b", {4, 3}, kI8).input("az", {}, kU8).output("y");
  model.node("MatMulInteger", {"a", "b", "az"}, {"y"}, "m");
  EXPECT_EQ(ops_of(model),
            "%0 = const(1.0) : f32[]\n%1 = dequantize(%a, %0) {axis=0}\n"
            "%2 = const(1.0) : f32[]\n%3 = dequantize(%b, %2)\n%4 = matmul(%1, %3)\n"
            "%5 = cast(%b) {to=f32}\n%6 = sum(%5) {axes=[0], keepdims=false}\n"
            "%7 = cast(%az) {to=f32}\n%8 = multiply(%7, %6)\n%9 = subtract(%4, %8)\n"
            "%10 = cast(%9) {to=i32}\n");
}

}  // namespace
}  // namespace byoc::test
