// SPDX-License-Identifier: Apache-2.0
// The names of implementations: the header that reads them has each one that onednn reports. The
// rows of onednn_ops_test.cc and onednn_conv_loop_test.cc are checked there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onednn_names.h"
#include "programs.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

struct Shape {
  const char* name;
  const char* op;
  const char* operands;  // w... are constants
  const char* attrs;
};

void PrintTo(const Shape& shape, std::ostream* to) { *to << shape.name; }

// The properties that select a convolution's or a product's kernel: channels, groups,
// taps, steps, rows.
const Shape kImplementationShapes[] = {
    {"image", "conv2d", "%x: f32[1,3,16,16], %w: f32[32,3,3,3]", "pads=[1,1,1,1]"},
    {"blocks", "conv2d", "%x: f32[1,32,8,8], %w: f32[32,32,3,3]", "pads=[1,1,1,1]"},
    {"pointwise", "conv2d", "%x: f32[1,32,8,8], %w: f32[64,32,1,1]", ""},
    {"pointwise_strided", "conv2d", "%x: f32[1,32,8,8], %w: f32[64,32,1,1]", "strides=[2,2]"},
    {"depthwise", "conv2d", "%x: f32[1,32,8,8], %w: f32[32,1,3,3]", "group=32, pads=[1,1,1,1]"},
    {"grouped", "conv2d", "%x: f32[1,32,8,8], %w: f32[32,8,3,3]", "group=4"},
    {"grouped_oddly", "conv2d", "%x: f32[1,15,8,8], %w: f32[9,5,3,3]", "group=3"},
    {"dilated", "conv2d", "%x: f32[1,32,9,9], %w: f32[32,32,3,3]", "dilations=[2,2]"},
    {"odd_channels", "conv2d", "%x: f32[1,17,8,8], %w: f32[19,17,3,3]", ""},
    {"run_time_weights", "conv2d", "%x: f32[1,16,8,8], %v: f32[16,16,3,3]", ""},
    {"line", "conv1d", "%x: f32[1,16,20], %w: f32[32,16,3]", ""},
    {"volume", "conv3d", "%x: f32[1,16,6,6,6], %w: f32[16,16,3,3,3]", ""},
    {"transposed", "conv2d_transpose", "%x: f32[1,16,8,8], %w: f32[16,32,2,2]", "strides=[2,2]"},
    {"transposed_grouped", "conv2d_transpose", "%x: f32[1,16,8,8], %w: f32[16,4,3,3]", "group=4"},
    {"transposed_oddly", "conv2d_transpose", "%x: f32[1,3,8,8], %w: f32[3,5,3,3]", ""},
    {"row", "matmul", "%x: f32[1,64], %w: f32[64,32]", ""},
    {"rows", "matmul", "%x: f32[64,64], %w: f32[64,32]", ""},
    {"batch", "matmul", "%x: f32[4,8,16], %y: f32[4,16,8]", ""},
    {"columns", "gemm", "%x: f32[16,64], %w: f32[32,64]", "trans_b=true"},
    {"batch_norm", "batch_norm",
     "%x: f32[1,16,8,8], %a: f32[16], %b: f32[16], %m: f32[16], %v: f32[16]", ""},
};

/// Returns "%x, %w" for "%x: f32[2], %w: f32[3]".
std::string names_of(std::string_view operands) {
  std::string out;
  for (size_t at = 0; (at = operands.find('%', at)) != operands.npos; ++at)
    out += cat(out.empty() ? "" : ", ", operands.substr(at, operands.find(':', at) - at));
  return out;
}

class OnednnImplementations : public testing::TestWithParam<Shape> {};

TEST_P(OnednnImplementations, HaveNamesThatAreKnown) {
  const Shape& shape = GetParam();
  const std::string op =
      cat("%0 = ", shape.op, "(", names_of(shape.operands), ") {", shape.attrs, "}");
  for (const char* rest : {"return %0", "%1 = relu(%0) return %1", "%1 = tanh(%0) return %1",
                           "%1 = softmax(%0) return %1"}) {
    SCOPED_TRACE(rest);
    IRModule module = with_constants(cat("fn main(", shape.operands, ") { ", op, " ", rest, " }"));
    Executable built = built_by(built_plugins(), module, {"onednn", "json"}, 2);
    EXPECT_THAT(onednn_names(built), Not(IsEmpty())) << "no function was checked";
    EXPECT_THAT(unknown_names(built), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnednnImplementations, testing::ValuesIn(kImplementationShapes),
                         [](const auto& info) { return std::string(info.param.name); });

// oneDNN has names for AVX-512 and of its later versions that this machine never reports. Source:
// src/cpu/x64 of oneDNN 3.2, the calls of DECLARE_COMMON_PD_T.
TEST(OnednnNames, AreReadWithTheirInstructionSetAndPrefix) {
  EXPECT_TRUE(onednn::is_known("brgconv_1x1:avx512_core_bf16"));
  EXPECT_TRUE(onednn::is_known("x64:gemm:jit"));
  EXPECT_TRUE(onednn::is_known("conv:any+jit_1x1:avx2"));
  EXPECT_TRUE(onednn::is_known("conv:any+x64:gemm:jit"));
  for (const char* strange : {"", "winograd:any", "jit_of_tomorrow:avx2", "ocl:ref:any",
                              "conv:any+winograd:any", "reference"})
    EXPECT_FALSE(onednn::is_known(strange)) << strange;
}

TEST(OnednnNames, TellGeneratedCodeFromReferenceKernels) {
  for (const char* name : {"jit:avx2", "x64:gemm:jit", "bnorm_jit:avx2", "brgconv:avx2",
                           "brdgmm_dw:avx2", "conv:any+jit:avx2"}) {
    EXPECT_TRUE(onednn::is_generated(name)) << name;
    EXPECT_FALSE(onednn::is_reference(name)) << name;
  }
  for (const char* name : {"ref:any", "ref_int8:any", "gemm:ref", "simple:any", "loop"})
    EXPECT_FALSE(onednn::is_generated(name)) << name;
  EXPECT_TRUE(onednn::is_reference("ref:any"));
  EXPECT_FALSE(onednn::is_reference("reduction_ref:any")) << "2.6 has no other";
  EXPECT_FALSE(onednn::is_reference("reorder"));
  EXPECT_TRUE(onednn::is_own_loop("loop:avx2"));
  EXPECT_FALSE(onednn::is_own_loop("reorder"));
}

TEST(OnednnNames, AreListedWithTheirNumber) {
  EXPECT_THAT(names_in("jit:avx2 x12, reorder, simple:any x2"),
              ElementsAre("jit:avx2", "reorder", "simple:any"));
  EXPECT_THAT(names_in("view"), ElementsAre("view"));
  EXPECT_THAT(names_in(""), IsEmpty());
}

}  // namespace
}  // namespace byoc::test
