// SPDX-License-Identifier: Apache-2.0
// The interpreter of loops, tested for each element type.
#include <bit>
#include <cmath>
#include <limits>

#include "byoc/te/copy.h"
#include "run.h"

namespace byoc::te {
namespace {

Tensor scalar(const char* name, DType dtype) { return Tensor(name, dtype, {}); }

// Returns `value` of x after conversion to the type `to`.
template <class To, class From>
To cast_of(DType to, DType from, From value) {
  Tensor x = scalar("x", from), y = scalar("y", to);
  LoopFunction f{"f", {x}, {y}, make_store(y, {}, cast(to, x()))};
  To result{};
  const void* in[] = {&value};
  void* out[] = {&result};
  Status status = evaluate(f, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return result;
}

// Source of the bit patterns: IEEE 754, binary16.
TEST(Evaluate, RoundsToF16AsIeeeDoes) {
  auto f16 = [](float x) { return cast_of<uint16_t>(DType::kF16, DType::kF32, x); };
  EXPECT_EQ(f16(1.0f), 0x3c00);
  EXPECT_EQ(f16(-2.0f), 0xc000);
  EXPECT_EQ(f16(65504.0f), 0x7bff);
  EXPECT_EQ(f16(65519.96f), 0x7bff);
  EXPECT_EQ(f16(65520.0f), 0x7c00);      // the tie above the largest number: infinity
  EXPECT_EQ(f16(0x1p-24f), 0x0001);      // the smallest subnormal
  EXPECT_EQ(f16(0x1p-25f), 0x0000);      // a tie, to even
  EXPECT_EQ(f16(0x1.8p-24f), 0x0002);    // 1.5 units, to even
  EXPECT_EQ(f16(0x1.ff8p-15f), 0x03ff);  // the largest subnormal
  EXPECT_EQ(f16(0x1.ffcp-15f), 0x0400);  // rounds up to the smallest normal
  EXPECT_EQ(f16(1 + 0x1p-11f), 0x3c00);  // a tie, to even
  EXPECT_EQ(f16(1 + 0x3p-11f), 0x3c02);  // a tie, to even, upwards
  EXPECT_EQ(f16(-0.0f), 0x8000);
  EXPECT_EQ(f16(NAN) & 0x7c00, 0x7c00);
  EXPECT_NE(f16(NAN) & 0x03ff, 0);
}

TEST(Evaluate, ReadsEveryF16Back) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float wide = cast_of<float>(DType::kF32, DType::kF16, static_cast<uint16_t>(bits));
    if (std::isnan(wide)) continue;
    ASSERT_EQ(wide, static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))));
    ASSERT_EQ(cast_of<uint16_t>(DType::kF16, DType::kF32, wide), bits);
    bits += 6;  // every seventh
  }
}

TEST(Evaluate, RoundsToBf16ToNearestEven) {
  auto bf16 = [](float x) { return cast_of<uint16_t>(DType::kBF16, DType::kF32, x); };
  EXPECT_EQ(bf16(1.0f), 0x3f80);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f808000)), 0x3f80);  // a tie, to even
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f818000)), 0x3f82);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f808001)), 0x3f81);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x00010000)), 0x0001);  // subnormal
  EXPECT_EQ(cast_of<float>(DType::kF32, DType::kBF16, uint16_t{0x4049}), 3.140625f);
}

// 2048 + 1 is not representable in f16. The sum is rounded to 2048, although
// f32 could represent it.
TEST(Evaluate, RoundsAfterEachOperationOfANarrowType) {
  Tensor y = scalar("y", DType::kF16);
  Expr sum = constant(DType::kF16, 2048) + constant(DType::kF16, 1) + constant(DType::kF16, 1);
  LoopFunction f{"f", {}, {y}, make_store(y, {}, sum)};
  uint16_t bits = 0;
  void* out[] = {&bits};
  ASSERT_TRUE(evaluate(f, {}, out).ok());
  EXPECT_EQ(bits, std::bit_cast<uint16_t>(static_cast<_Float16>(2048)));
}

TEST(Evaluate, CastsEveryIntegerType) {
  EXPECT_EQ((cast_of<int8_t>(DType::kI8, DType::kI32, 200)), -56);
  EXPECT_EQ((cast_of<uint8_t>(DType::kU8, DType::kI32, -1)), 255);
  EXPECT_EQ((cast_of<int16_t>(DType::kI16, DType::kU16, uint16_t{40000})), -25536);
  EXPECT_EQ((cast_of<uint16_t>(DType::kU16, DType::kI64, int64_t{65537})), 1);
  EXPECT_EQ((cast_of<uint32_t>(DType::kU32, DType::kI8, int8_t{-1})), 0xffffffffu);
  EXPECT_EQ((cast_of<uint64_t>(DType::kU64, DType::kI8, int8_t{-1})), ~uint64_t{0});
  EXPECT_EQ((cast_of<float>(DType::kF32, DType::kU64, ~uint64_t{0})), 0x1p64f);
  EXPECT_EQ((cast_of<double>(DType::kF64, DType::kI64, int64_t{-7})), -7.0);
  EXPECT_EQ((cast_of<int32_t>(DType::kI32, DType::kF32, -2.9f)), -2);
  EXPECT_EQ((cast_of<uint64_t>(DType::kU64, DType::kF64, 0x1p63)), uint64_t{1} << 63);
  EXPECT_EQ((cast_of<uint8_t>(DType::kBool, DType::kF32, 0.5f)), 1);
  EXPECT_EQ((cast_of<uint8_t>(DType::kBool, DType::kI32, 256)), 1);
  EXPECT_EQ((cast_of<float>(DType::kF32, DType::kBool, uint8_t{1})), 1.0f);
}

int64_t value(const Expr& x) {
  Result<int64_t> result = evaluate(x, {});
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *result : 0;
}
Expr of(DType dtype, int64_t value) { return int_constant(dtype, value); }

TEST(Evaluate, WrapsIntegersAround) {
  EXPECT_EQ(value(of(DType::kI8, 127) + of(DType::kI8, 1)), -128);
  EXPECT_EQ(value(of(DType::kU8, 0) - of(DType::kU8, 1)), 255);
  EXPECT_EQ(value(of(DType::kI64, INT64_MAX) + 1), INT64_MIN);
  EXPECT_EQ(value(of(DType::kI64, INT64_MIN) / -1), INT64_MIN);
  EXPECT_EQ(value(of(DType::kU64, -1) / of(DType::kU64, 2)), INT64_MAX);
  EXPECT_EQ(value(of(DType::kU32, -1) > of(DType::kU32, 1)), 1);
  EXPECT_EQ(value(unary(UnaryOp::kAbs, of(DType::kI8, -128))), -128);
  EXPECT_EQ(value(binary(BinaryOp::kShiftRight, of(DType::kI8, -4), of(DType::kI8, 1))), -2);
  EXPECT_EQ(value(binary(BinaryOp::kShiftRight, of(DType::kU8, 0xfc), of(DType::kU8, 1))), 0x7e);
}

TEST(Evaluate, DividesTowardsZeroAndDownwards) {
  EXPECT_EQ(value(Expr(-7) / 2), -3);
  EXPECT_EQ(value(binary(BinaryOp::kRemainder, -7, 2)), -1);
  EXPECT_EQ(value(floor_div(-7, 2)), -4);
  EXPECT_EQ(value(floor_mod(-7, 2)), 1);
  EXPECT_EQ(value(floor_div(7, -2)), -4);
  EXPECT_EQ(value(floor_mod(7, -2)), -1);
}

TEST(Evaluate, PicksTheSecondOfMinAndMaxForNan) {
  Expr nan = constant(DType::kF32, NAN), one = constant(DType::kF32, 1);
  EXPECT_EQ(value(min(nan, one) == one), 1);
  EXPECT_EQ(value(unary(UnaryOp::kIsNan, max(one, nan))), 1);
}

std::string error_of(const Expr& x) {
  Result<int64_t> result = evaluate(x, {});
  return result.ok() ? "" : result.status().message();
}

TEST(Evaluate, CopiesAdjacentElements) {
  const Tensor x("x", DType::kI32, {2, 2}), y("y", DType::kI32, {2, 2});
  const int32_t from[] = {1, 2, 3, 4};
  int32_t to[] = {0, 0, 0, 0};
  const void* in[] = {from};
  void* out[] = {to};
  LoopFunction f{"f", {x}, {y}, make_copy(x, y)};
  ASSERT_TRUE(evaluate(f, in, out).ok());
  EXPECT_EQ(std::vector(to, to + 4), (std::vector<int32_t>{1, 2, 3, 4}));
  f.body = make_intrinsic(kCopy, {{x, {0, 1}}, {y, {1, 0}}}, {2});
  ASSERT_TRUE(evaluate(f, in, out).ok());
  EXPECT_EQ(std::vector(to, to + 4), (std::vector<int32_t>{1, 2, 2, 3}));
  f.body = make_intrinsic(kCopy, {{x, {0, 1}}, {y, {1, 0}}}, {3});
  EXPECT_EQ(evaluate(f, in, out).code(), byoc::Code::kOutOfRange);
}

TEST(Evaluate, RefusesWhatIsUndefined) {
  EXPECT_EQ(error_of(floor_div(3, 0)), "a division by 0: 3 by 0 of type i64");
  EXPECT_EQ(error_of(binary(BinaryOp::kShiftLeft, 1, 64)),
            "a shift by too many bits: 1 by 64 of type i64");
  EXPECT_EQ(error_of(cast(DType::kI8, constant(DType::kF32, 128))), "a cast of 128 to i8");
  EXPECT_EQ(error_of(cast(DType::kI64, constant(DType::kF32, NAN))), "a cast of nan to i64");
  EXPECT_EQ(error_of(Var("n")), "nothing binds variable n");
}

TEST(Evaluate, LeavesTheBranchNotTakenAlone) {
  EXPECT_EQ(value(select(of(DType::kBool, 1), 5, floor_div(1, 0))), 5);
}

TEST(Evaluate, NamesTensorAndIndexThatLeaveIt) {
  Tensor x("x", DType::kF32, {2, 3}), y = scalar("y", DType::kF32);
  LoopFunction f{"f", {x}, {y}, make_store(y, {}, x(1, 3))};
  float in_data[6] = {}, out_data = 0;
  const void* in[] = {in_data};
  void* out[] = {&out_data};
  Status status = evaluate(f, in, out);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(status.message(), "index 3 of dimension 1 of x, which has 3");
  EXPECT_EQ(status.where(), "loops f");
}

TEST(Evaluate, NamesATensorThatNothingAllocatesAndAnIntrinsic) {
  Tensor x("x", DType::kF32, {2}), y = scalar("y", DType::kF32);
  float result = 0;
  void* out[] = {&result};
  EXPECT_EQ(evaluate({"f", {}, {y}, make_store(y, {}, x(0))}, {}, out).message(),
            "nothing allocates tensor x where it is used");
  Status status = evaluate({"f", {}, {y}, make_intrinsic("gemm_6x16", {}, {})}, {}, out);
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.message(), "the interpreter has no intrinsic gemm_6x16");
}

TEST(Evaluate, TakesExtentsFromBindings) {
  Var n("n");
  Tensor y("y", DType::kI64, {n});
  Stmt body = loop("i", n, [&](Expr i) { return make_store(y, {i}, i * n); });
  int64_t result[3] = {};
  void* out[] = {result};
  ASSERT_TRUE(evaluate({"f", {}, {y}, body}, {}, out, {{n, 3}}).ok());
  EXPECT_EQ(result[2], 6);
}

// Written as a tree, the expression has 2^60 nodes.
TEST(Evaluate, ComputesSharedNodesOnce) {
  Expr x = 1;
  for (int k = 0; k < 60; ++k) x = x + x;
  EXPECT_EQ(value(x), int64_t{1} << 60);
}

TEST(Evaluate, KeepsSignAndBitsOfBitcasts) {
  EXPECT_EQ(value(bitcast(DType::kI32, constant(DType::kF32, -0.0))), INT32_MIN);
  EXPECT_EQ(value(bitcast(DType::kU16, constant(DType::kBF16, 1))), 0x3f80);
}

}  // namespace
}  // namespace byoc::te
