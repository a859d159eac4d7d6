// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "runtime/artifact/view.h"

namespace byoc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tensor, IsZeroedAndAlignedTo64Bytes) {
  auto tensor = Tensor::make({DType::kF32, {3, 5}});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->size_bytes(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
  for (int k = 0; k < 15; ++k) EXPECT_EQ(reinterpret_cast<float*>(tensor->data())[k], 0.0f);
}

TEST(Tensor, ScalarsHaveOneElementAndZeroExtentsNone) {
  EXPECT_EQ(Tensor::make({DType::kI64, {}})->size_bytes(), 8u);
  EXPECT_EQ(Tensor::make({DType::kI64, {4, 0, int64_t{1} << 62}})->size_bytes(), 0u);
}

TEST(Tensor, RefusesSizesThatOverflowOrDoNotFitInMemory) {
  auto overflow = Tensor::make({DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}});
  EXPECT_EQ(overflow.status().code(), Code::kOutOfRange);
  EXPECT_THAT(overflow.status().to_string(), HasSubstr("error[tensor-size]"));
  auto negative = Tensor::make({DType::kF32, {-1}});
  EXPECT_THAT(negative.status().to_string(), HasSubstr("a dim of f32[-1] is negative"));
  auto huge = Tensor::make({DType::kU8, {int64_t{1} << 62}});
  EXPECT_EQ(huge.status().code(), Code::kResourceExhausted);
}

TEST(Tensor, CopyIsIndependent) {
  auto tensor = Tensor::make({DType::kU8, {2}});
  auto copy = tensor->copy();
  tensor->data()[0] = std::byte{7};
  EXPECT_EQ(copy->data()[0], std::byte{0});
}

TEST(Dlpack, TypesAreThoseOfTheDlpackHeader) {
  auto same = [](DLDataType type, int code, int bits) {
    return type.code == code && type.bits == bits && type.lanes == 1;
  };
  EXPECT_TRUE(same(to_dlpack(DType::kF16), kDLFloat, 16));
  EXPECT_TRUE(same(to_dlpack(DType::kBF16), kDLBfloat, 16));
  EXPECT_TRUE(same(to_dlpack(DType::kI8), kDLInt, 8));
  EXPECT_TRUE(same(to_dlpack(DType::kU64), kDLUInt, 64));
  EXPECT_TRUE(same(to_dlpack(DType::kBool), kDLUInt, 8));  // its meaning is in the graph
  for (int k = 0; k < kDTypeCount - 1; ++k) {
    EXPECT_EQ(*from_dlpack(to_dlpack(static_cast<DType>(k))), static_cast<DType>(k));
  }
  EXPECT_EQ(*from_dlpack(to_dlpack(DType::kBool)), DType::kU8);
  EXPECT_THAT(from_dlpack({kDLFloat, 32, 4}).status().message(), HasSubstr("4 lanes"));
  EXPECT_FALSE(from_dlpack({kDLComplex, 64, 1}).ok());
}

double half_value(uint16_t bits) {  // IEEE 754 binary16, normal numbers
  double value = std::ldexp(1024 + (bits & 1023), (bits >> 10 & 31) - 25);
  return (bits & 0x7fff) == 0 ? 0 : bits >> 15 ? -value : value;
}

TEST(FillRandom, IsAFunctionOfSeedAndIndex) {
  auto a = Tensor::make({DType::kF32, {100}}), b = Tensor::make({DType::kF32, {1000}});
  fill_random(*a, 5), fill_random(*b, 5);
  EXPECT_EQ(std::memcmp(a->data(), b->data(), a->size_bytes()), 0);
  fill_random(*b, 6);
  EXPECT_NE(std::memcmp(a->data(), b->data(), a->size_bytes()), 0);
}

TEST(FillRandom, FloatsAreUniformInMinusOneToOne) {
  constexpr int kCount = 4096;
  auto f32 = Tensor::make({DType::kF32, {kCount}}), f16 = Tensor::make({DType::kF16, {kCount}}),
       bf16 = Tensor::make({DType::kBF16, {kCount}});
  for (Tensor* tensor : {&*f32, &*f16, &*bf16}) fill_random(*tensor, 1);
  double sums[3] = {}, squares[3] = {};
  for (int k = 0; k < kCount; ++k) {
    uint32_t wide = uint32_t{reinterpret_cast<uint16_t*>(bf16->data())[k]} << 16;
    float bfloat;
    std::memcpy(&bfloat, &wide, 4);
    double values[] = {reinterpret_cast<float*>(f32->data())[k],
                       half_value(reinterpret_cast<uint16_t*>(f16->data())[k]), bfloat};
    for (int type = 0; type < 3; ++type) {
      ASSERT_GE(values[type], -1.0);
      ASSERT_LT(values[type], 1.0);
      sums[type] += values[type], squares[type] += values[type] * values[type];
    }
    EXPECT_NEAR(values[0], values[1], 1.0 / 1024);  // the same number, with fewer bits
    EXPECT_NEAR(values[0], values[2], 1.0 / 128);
  }
  for (int type = 0; type < 3; ++type) {  // mean 0, variance 1/3; 5 standard errors
    EXPECT_NEAR(sums[type] / kCount, 0, 5 * std::sqrt(1.0 / 3 / kCount));
    EXPECT_NEAR(squares[type] / kCount, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kCount));
  }
}

TEST(FillRandom, IntegersAreSmallAndBoolsAreBoth) {
  auto ints = Tensor::make({DType::kI64, {256}}), bools = Tensor::make({DType::kBool, {256}});
  fill_random(*ints, 1), fill_random(*bools, 1);
  auto* values = reinterpret_cast<int64_t*>(ints->data());
  EXPECT_EQ(std::set<int64_t>(values, values + 256), (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  auto* flags = reinterpret_cast<uint8_t*>(bools->data());
  EXPECT_EQ(std::set<int>(flags, flags + 256), (std::set<int>{0, 1}));
}

TEST(View, CopiesTransposedNegativeAndBroadcastStrides) {
  int16_t data[] = {0, 1, 2, 3, 4, 5}, out[6];
  int64_t shape[] = {3, 2}, transposed[] = {1, 3}, backwards[] = {-2, -1}, broadcast[] = {1, 0};
  DLTensor view{data, {kDLCPU, 0}, 2, to_dlpack(DType::kI16), shape, transposed, 0};
  EXPECT_FALSE(is_compact(view));
  copy_to_compact(view, reinterpret_cast<std::byte*>(out));
  EXPECT_THAT(out, ElementsAre(0, 3, 1, 4, 2, 5));
  view.strides = backwards, view.byte_offset = 10;
  copy_to_compact(view, reinterpret_cast<std::byte*>(out));
  EXPECT_THAT(out, ElementsAre(5, 4, 3, 2, 1, 0));
  view.strides = broadcast, view.byte_offset = 2;
  copy_to_compact(view, reinterpret_cast<std::byte*>(out));
  EXPECT_THAT(out, ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST(View, StridesOfExtentOneDoNotMatter) {
  int64_t shape[] = {1, 3, 1}, strides[] = {77, 1, -5};
  DLTensor view{nullptr, {kDLCPU, 0}, 3, to_dlpack(DType::kI16), shape, strides, 0};
  EXPECT_TRUE(is_compact(view));
}

}  // namespace
}  // namespace byoc
