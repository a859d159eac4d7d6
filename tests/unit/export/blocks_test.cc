// SPDX-License-Identifier: Apache-2.0
// Matrices of few bits in ONNX files that byoc writes: packed as they are, and packed again when
// they are read.
#include <onnx/onnx_pb.h>

#include <fstream>
#include <set>

#include "byoc/export.h"
#include "byoc/import.h"
#include "byoc/text/text.h"
#include "support/evaluate.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kUint4 = 21;

class ExportBlocks : public ::testing::Test {
 protected:
  /// Writes the module and reads it again; both compute the same.
  void write(const std::string& text) {
    const Result<IRModule> given = parse_module(text, all_ops());
    ASSERT_TRUE(given.ok()) << given.status().to_string();
    const IRModule& module = *given;
    const Status status = export_onnx(module, path_);
    ASSERT_TRUE(status.ok()) << status.to_string();
    std::ifstream in(path_, std::ios::binary);
    ASSERT_TRUE(model_.ParseFromIstream(&in));
    auto read = import_onnx(path_, all_ops());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    testing::expect_same_results(module, *read, 1e-6);
    read_ = print(*read);
  }
  const onnx::TensorProto* initializer(int dtype) const {
    for (const onnx::TensorProto& tensor : model_.graph().initializer())
      if (tensor.data_type() == dtype) return &tensor;
    return nullptr;
  }
  test::TempFolder folder_;
  std::string path_ = folder_.file("m.onnx"), read_;
  onnx::ModelProto model_;
};

// A block that is not whole, scales of f16, zero points.
TEST_F(ExportBlocks, KeepsBytesOfFourBits) {
  write(R"(fn main(%x: f32[3,10]) {
    %codes = const([18,52,86,120,154,188,222,240,33,67,101,135,169,203,237,15]) : u8[2,8]
    %scale = const([0.5,0.25,2,1]) : f16[2,2]
    %zero = const([1,0,15,8]) : u8[2,2]
    %0 = matmul_blocks(%x, %codes, %scale, %zero) {block=8}
    return %0 })");
  EXPECT_EQ(model_.opset_import(0).version(), 21);
  EXPECT_EQ(model_.ir_version(), 10);
  const onnx::TensorProto* codes = initializer(kUint4);
  ASSERT_NE(codes, nullptr);
  EXPECT_EQ(codes->dims(1), 16);
  EXPECT_EQ(codes->raw_data().size(), 16u);
  EXPECT_THAT(read_, HasSubstr("dequantize_blocks"));
}

// Runtimes refuse graphs in which two nodes have one name.
TEST_F(ExportBlocks, NamesEachNodeOnce) {
  write(R"(fn main(%x: f32[3,8]) {
    %codes = const([18,52,86,120,154,188,222,240]) : u8[2,4]
    %scale = const([0.5,0.25]) : f32[2,1]
    %0 = dequantize_blocks(%codes, %scale) {block=8, rows=8} loc("node")
    %1 = matmul(%x, %0) loc("node")
    return %1 })");
  std::set<std::string> names;
  for (const onnx::NodeProto& node : model_.graph().node()) {
    if (node.name().empty()) continue;
    EXPECT_TRUE(names.insert(node.name()).second) << node.name();
  }
  EXPECT_TRUE(names.contains("node"));
}

// Whole blocks are read as they were.
TEST_F(ExportBlocks, IsReadAsItWas) {
  write(R"(fn main(%x: f32[3,8], %y: f16[1,8]) {
    %codes = const([18,52,86,120,154,188,222,240,33,67,101,135,169,203,237,15]) : u8[2,8]
    %four = const([18,52,86,120,154,188,222,240]) : u8[2,4]
    %scale = const([0.5,0.25]) : f32[2,1]
    %zero = const([100,130]) : u8[2,1]
    %0 = dequantize_blocks(%codes, %scale, %zero) {bits=8, block=8, rows=8}
    %1 = matmul(%x, %0)
    %2 = dequantize_blocks(%four, %scale) {block=8, rows=8, to=f16}
    %3 = matmul(%y, %2)
    return %1, %3 })");
  EXPECT_THAT(read_, HasSubstr("{bits=8, block=8, rows=8}"));
  EXPECT_THAT(read_, HasSubstr("u8[2,4]"));
}

// A constant that is read as bytes, too, is there in both forms; functions of the model get theirs.
TEST_F(ExportBlocks, WritesAConstantInTheFormsThatAreRead) {
  write(R"(
fn region(%x: f32[1,8]) {compiler="p", global_symbol="region", primitive=true} {
  %codes = const([18,52,86,120,154,188,222,240]) : u8[2,4]
  %scale = const([0.5,0.25]) : f32[2,1]
  %0 = matmul_blocks(%x, %codes, %scale) {block=8}
  return %0 }
fn main(%x: f32[1,8]) {
  %codes = const([18,52,86,120,154,188,222,240]) : u8[2,4]
  %0 = @region(%x)
  %1 = cast(%codes) {to=f32}
  return %0, %1, %codes })");
  ASSERT_EQ(model_.graph().initializer_size(), 3);
  ASSERT_NE(initializer(kUint4), nullptr);
  ASSERT_NE(initializer(onnx::TensorProto::UINT8), nullptr);
  EXPECT_EQ(initializer(kUint4)->raw_data(), initializer(onnx::TensorProto::UINT8)->raw_data());
}

// Zero points of floats, and codes that a run gives, are steps of opset 18.
TEST_F(ExportBlocks, WritesOtherFormsInSteps) {
  write(R"(fn main(%x: f32[2,8], %codes: u8[2,4], %scale: f16[2,1]) {
    %own = const([18,52,86,120,154,188,222,240]) : u8[2,4]
    %zero = const([7.5,0.25]) : f32[2,1]
    %0 = matmul_blocks(%x, %own, %scale, %zero) {block=8}
    %1 = matmul_blocks(%x, %codes, %scale) {block=8}
    return %0, %1 })");
  EXPECT_EQ(model_.opset_import(0).version(), 18);
  EXPECT_THAT(read_, Not(HasSubstr("dequantize_blocks")));
}

TEST_F(ExportBlocks, KeepsFloatsOfSixteenBits) {
  write(R"(fn main(%x: f32[2,1,3]) {
    %half = const([1,2,3,4,5,6]) : f16[3,2]
    %small = const([1,2,3,4,5,6]) : bf16[2,3]
    %0 = matmul_widened(%x, %half)
    %1 = matmul_widened(%x, %small) {trans_b=true}
    return %0, %1 })");
  ASSERT_NE(initializer(onnx::TensorProto::FLOAT16), nullptr);
  ASSERT_NE(initializer(onnx::TensorProto::BFLOAT16), nullptr);
  EXPECT_EQ(initializer(onnx::TensorProto::FLOAT), nullptr);
}

}  // namespace
}  // namespace byoc
