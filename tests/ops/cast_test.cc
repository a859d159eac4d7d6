// SPDX-License-Identifier: Apache-2.0
// Conversion of element types.
#include <limits>

#include "ops/constants.h"
#include "support/run_op.h"

namespace byoc::testing {
namespace {

Values cast(const Values& x, DType to) { return run_op1("cast", {x}, {{"to", to}}); }

TEST(CastInfer, ChangesTheDtypeAlone) {
  EXPECT_EQ(infer("cast", {{DType::kF32, {Dim::symbol("N"), Dim(2)}}}, {{"to", DType::kI64}}),
            "i64[N,2]");
  EXPECT_EQ(infer("cast", {type_of(DType::kF32, {2})}), "cast needs the attribute \"to\" (dtype)");
}

TEST(Cast, GoesBetweenAllDtypes) {
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      SCOPED_TRACE(cat(static_cast<DType>(from), " to ", static_cast<DType>(to)));
      expect_close(cast(tensor(static_cast<DType>(from), {3}, {0, 1, 1}), static_cast<DType>(to)),
                   tensor(static_cast<DType>(to), {3}, {0, 1, 1}));
    }
  }
}

TEST(Cast, CutsFloatsTowardsZero) {
  expect_close(cast(f32({4}, {-2.7, -0.5, 0.5, 2.7}), DType::kI32),
               tensor(DType::kI32, {4}, {-2, 0, 0, 2}));
}

TEST(Cast, KeepsFloatsWithinTheRangeOfIntegers) {
  Values x = f32({4}, {-300, 300, kNaN, kInf});
  expect_close(cast(x, DType::kI8), tensor(DType::kI8, {4}, {-128, 127, 0, 127}));
  expect_close(cast(x, DType::kU8), tensor(DType::kU8, {4}, {0, 255, 0, 255}));
  expect_close(cast(f32({1}, {1e30}), DType::kI64), i64({1}, {9223372036854775807.0}));
}

TEST(Cast, WrapsAroundBetweenIntegers) {
  expect_close(cast(i64({3}, {-1, 257, 128}), DType::kU8), tensor(DType::kU8, {3}, {255, 1, 128}));
  expect_close(cast(i64({3}, {-1, 257, 128}), DType::kI8), tensor(DType::kI8, {3}, {-1, 1, -128}));
}

TEST(Cast, TakesAnythingButZeroForTrue) {
  expect_close(cast(f32({4}, {0, 0.25, -3, kNaN}), DType::kBool),
               tensor(DType::kBool, {4}, {0, 1, 1, 1}));
}

// 1 + 2^-11 and 1 + 3 * 2^-11 are halfway between f16 numbers; 1 + 2^-8 is so between bf16 numbers.
TEST(Cast, RoundsHalvesToEvenIn16Bits) {
  Values x = f32({3}, {1 + 0x1p-11, 1 + 3 * 0x1p-11, 65520});
  expect_near(cast(x, DType::kF16), tensor(DType::kF16, {3}, {1, 1 + 0x1p-9, kInf}), 0);
  expect_near(cast(f32({2}, {1 + 0x1p-8, 1 + 3 * 0x1p-8}), DType::kBF16),
              tensor(DType::kBF16, {2}, {1, 1 + 0x1p-6}), 0);
}

TEST(BitCast, KeepsTheBits) {  // IEEE 754: 1.0 is 0x3f800000, -2.0 is 0xc0000000
  EXPECT_EQ(run_op1("bit_cast", {f32({2}, {1, -2})}, {{"to", DType::kI32}}).values,
            (std::vector<double>{0x3f800000, -0x40000000}));
  EXPECT_EQ(run_op1("bit_cast", {tensor(DType::kU16, {1}, {0x3c00})}, {{"to", DType::kF16}}).values,
            (std::vector<double>{1}));
  EXPECT_EQ(run_op1("bit_cast", {tensor(DType::kBool, {2}, {1, 0})}, {{"to", DType::kU8}}).values,
            (std::vector<double>{1, 0}));
}

TEST(BitCastInfer, RejectsOtherWidthsAndBools) {
  EXPECT_EQ(infer("bit_cast", {type_of(DType::kF32, {2})}, {{"to", DType::kI64}}),
            "bit_cast: x is f32[2], an element of 32 bits is not one of i64, which has 64");
  EXPECT_EQ(infer("bit_cast", {type_of(DType::kU8, {2})}, {{"to", DType::kBool}}),
            "bit_cast: x is u8[2], only a bool has the bits of a bool");
}

}  // namespace
}  // namespace byoc::testing
