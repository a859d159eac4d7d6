// SPDX-License-Identifier: Apache-2.0
// Matrices in blocks and products with them. Expected values: by hand from (code - zero point) *
// scale; the order of the entries in a byte is that of ONNX Runtime's MatMulNBits.
#include <cmath>
#include <limits>

#include "support/run_op.h"

namespace byoc::testing {
namespace {

// Two columns of ten rows in blocks of eight: the second block of a column has two entries.
const Values kNibbles = tensor(DType::kU8, {2, 8},
                               {0x98, 0xba, 0xdc, 0xfe, 0x08, 0, 0, 0,  //
                                0x10, 0x32, 0x54, 0x76, 0xf7, 0, 0, 0});
const Values kGrainScale = f32({2, 2}, {0.5, 2, 1, 4});
const Attrs kBlocks = {{"block", 8}};

Attrs with_rows(Attrs attrs, int64_t rows) {
  attrs.set("rows", rows);
  return attrs;
}

TEST(DequantizeBlocks, HasTheEvenEntryInTheLowHalf) {
  expect_close(run_op1("dequantize_blocks", {kNibbles, kGrainScale}, with_rows(kBlocks, 10)),
               f32({10, 2}, {0,   -8, 0.5, -7, 1,   -6, 1.5, -5, 2,   -4,  //
                             2.5, -3, 3,   -2, 3.5, -1, 0,   -4, -16, 28}));
}

TEST(DequantizeBlocks, SubtractsZeroPoints) {
  const Values zero = tensor(DType::kU8, {2, 2}, {8, 0, 0, 15});
  expect_close(run_op1("dequantize_blocks", {kNibbles, kGrainScale, zero}, with_rows(kBlocks, 10)),
               f32({10, 2}, {0,   0, 0.5, 1, 1,   2, 1.5, 3,   2, 4,  //
                             2.5, 5, 3,   6, 3.5, 7, 16,  -32, 0, 0}));
  const Values half = tensor(DType::kF16, {2, 2}, {7.5, 0, 0, 15});
  EXPECT_EQ(
      run_op1("dequantize_blocks", {kNibbles, kGrainScale, half}, with_rows(kBlocks, 10)).values[0],
      0.25);
}

TEST(DequantizeBlocks, OfBytes) {
  const Values codes = tensor(DType::kU8, {1, 8}, {0, 255, 128, 129, 1, 2, 3, 4});
  expect_close(run_op1("dequantize_blocks", {codes, tensor(DType::kF16, {1, 1}, {0.5})},
                       {{"block", 8}, {"bits", 8}, {"rows", 4}}),
               f32({4, 1}, {-64, 63.5, 0, 0.5}));
}

TEST(DequantizeBlocks, RoundsToTheStatedType) {
  const Values codes = tensor(DType::kU8, {1, 8}, {0, 255, 128, 129, 1, 2, 3, 4});
  const Values scale = f32({1, 1}, {0.3f});  // 127 * 0.3f is 38.1; f16 has steps of 1 / 32 there
  const Values y = run_op1("dequantize_blocks", {codes, scale},
                           {{"block", 8}, {"bits", 8}, {"rows", 2}, {"to", DType::kF16}});
  EXPECT_EQ(y.type.dtype, DType::kF16);
  EXPECT_EQ(y.values, (std::vector<double>{-38.40625, 38.09375}));
}

TEST(MatmulBlocks, MultipliesRows) {
  const Values x = f32({2, 1, 10}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                    0, 1, 0, 0, 0, 0, 0, 0, 2, 1});
  expect_close(run_op1("matmul_blocks", {x, kNibbles, kGrainScale}, kBlocks),
               f32({2, 1, 2}, {0, -8, -15.5, 13}));
}

// A step is 1 / 127 of the block's largest magnitude: 1, 0.5 / 127, and none.
TEST(RoundRows, RoundsEachBlockToItsSteps) {
  const Values x = f32({1, 20}, {127,  1.4f,   -2.5f,   3.5f,   0, -126.5f, 63.6f, 0.5f,  //
                                 0.5f, -0.25f, 0.0078f, 0.002f, 0, 0,       0,     0,     //
                                 0,    0,      0,       1e-37f});
  const double step = 0.5 / 127;
  expect_close(run_op1("round_rows", {x}, {{"block", 8}}),
               f32({1, 20}, {127,
                             1,
                             -2,
                             4,
                             0,
                             -126,
                             64,
                             0,  //
                             0.5f,
                             static_cast<float>(-64 * step),  //
                             static_cast<float>(2 * step),
                             static_cast<float>(step),
                             0,
                             0,
                             0,
                             0,  //
                             0,
                             0,
                             0,
                             0}));
}

TEST(RoundRows, MakesBlocksWithoutALargestMagnitudeNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float special : {inf, -inf, std::nanf("")}) {
    const Values y =
        run_op1("round_rows", {f32({10}, {1, special, 0, 0, 0, 0, 0, 2, 3, 0})}, {{"block", 8}});
    for (size_t k = 0; k < 8; ++k) EXPECT_TRUE(std::isnan(y.values[k])) << special << " at " << k;
    EXPECT_EQ(y.values[8], 3);
  }
}

// 3.5 and 0.6 of 254 are 4 and 1 of 127 steps of 2.
TEST(MatmulBlocks, RoundsRows) {
  const Values x = f32({1, 10}, {254, 7, 0, 0, 0, 0, 0, 1.2f, 2, 1});
  Attrs attrs = kBlocks;
  attrs.set("row_bits", int64_t{8});
  const Values rounded = run_op1("round_rows", {x}, kBlocks);
  EXPECT_EQ(rounded.values[1], 8);
  EXPECT_EQ(rounded.values[7], 2);
  expect_close(run_op1("matmul_blocks", {x, kNibbles, kGrainScale}, attrs),
               run_op1("matmul_blocks", {rounded, kNibbles, kGrainScale}, kBlocks));
}

TEST(MatmulWidened, MultipliesRowsByBothForms) {
  const Values x = f32({1, 2}, {2, -1});
  expect_close(run_op1("matmul_widened", {x, tensor(DType::kF16, {2, 3}, {1, 2, 3, 4, 5, 6})}),
               f32({1, 3}, {-2, -1, 0}));
  expect_close(run_op1("matmul_widened", {x, tensor(DType::kBF16, {3, 2}, {1, 2, 3, 4, 5, 6})},
                       {{"trans_b", true}}),
               f32({1, 3}, {0, 2, 4}));
}

TEST(BlockProducts, RefuseOperandsThatDoNotFit) {
  using ::testing::HasSubstr;
  const TensorType codes = type_of(DType::kU8, {5, 16}), scale = type_of(DType::kF32, {5, 1});
  const TensorType x = type_of(DType::kF32, {3, 20});
  EXPECT_EQ(infer("matmul_blocks", {x, codes, scale}), "f32[3,5]");
  EXPECT_EQ(infer("dequantize_blocks", {codes, scale}, {{"rows", 20}}), "f32[20,5]");
  EXPECT_EQ(infer("dequantize_blocks", {codes, scale}, {{"rows", 20}, {"to", DType::kBF16}}),
            "bf16[20,5]");
  EXPECT_THAT(infer("dequantize_blocks", {codes, scale}, {{"rows", 20}, {"to", DType::kI8}}),
              HasSubstr("to is i8, expects f32, f16 or bf16"));
  EXPECT_THAT(infer("matmul_blocks", {type_of(DType::kF32, {3, 40}), codes, scale}),
              HasSubstr("codes is u8[5,16], expected u8[5,32]"));
  EXPECT_THAT(infer("matmul_blocks", {x, codes, type_of(DType::kF32, {5, 2})}),
              HasSubstr("scale is f32[5,2], expected f32[5,1]"));
  EXPECT_THAT(infer("matmul_blocks", {x, codes, scale, type_of(DType::kU8, {5})}),
              HasSubstr("zero_point is u8[5], expected u8[5,1]"));
  EXPECT_THAT(infer("matmul_blocks", {x, codes, scale}, {{"bits", 3}}), HasSubstr("bits is 3"));
  EXPECT_THAT(infer("matmul_blocks", {x, codes, scale}, {{"block", 12}}), HasSubstr("block 12"));
  EXPECT_THAT(infer("matmul_blocks", {x, codes, scale}, {{"row_bits", 4}}),
              HasSubstr("block is 32 and row_bits 4, expected a multiple of 8, and 0 or 8"));
  for (int64_t rows : {int64_t{-1}, (int64_t{1} << 48) + 1, INT64_MAX}) {
    EXPECT_THAT(infer("dequantize_blocks", {codes, scale}, with_rows(kBlocks, rows)),
                HasSubstr(cat("the matrix has ", rows, " rows")));
  }
  EXPECT_THAT(infer("round_rows", {x}, {{"block", 12}}), HasSubstr("block is 12"));
  EXPECT_THAT(infer("round_rows", {type_of(DType::kF16, {8})}), HasSubstr("x is f16[8]"));
  EXPECT_THAT(infer("matmul_blocks", {type_of(DType::kF16, {3, 20}), codes, scale}),
              HasSubstr("x is f16[3,20]"));
  EXPECT_THAT(infer("matmul_widened", {x, type_of(DType::kF16, {21, 4})}),
              HasSubstr("x has 20 columns, the matrix has 21 rows"));
  EXPECT_THAT(infer("matmul_widened", {x, type_of(DType::kF32, {20, 4})}),
              HasSubstr("weight is f32[20,4]"));
}

}  // namespace
}  // namespace byoc::testing
