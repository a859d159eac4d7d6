// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/literal.h"

#include <gtest/gtest.h>

#include <cstring>

namespace byoc {
namespace {

std::string text_of(DType dtype, uint64_t bits) {
  std::string out;
  print_element(out, dtype, reinterpret_cast<const std::byte*>(&bits));
  return out;
}

uint64_t bits_of(DType dtype, std::string_view text) {
  uint64_t bits = 0;
  EXPECT_TRUE(parse_element(text, dtype, reinterpret_cast<std::byte*>(&bits))) << text;
  return bits;
}

bool parses(DType dtype, std::string_view text) {
  uint64_t bits = 0;
  return parse_element(text, dtype, reinterpret_cast<std::byte*>(&bits));
}

// Bit patterns from IEEE 754 (and, for bf16, the upper half of a binary32).
TEST(Literal, IsTheShortestDecimalOfTheDType) {
  EXPECT_EQ(text_of(DType::kF32, 0x3dcccccd), "0.1");
  EXPECT_EQ(text_of(DType::kF64, 0x3fb999999999999a), "0.1");
  EXPECT_EQ(text_of(DType::kF32, 0x3f800000), "1.0");
  EXPECT_EQ(text_of(DType::kF16, 0x3c00), "1.0");
  EXPECT_EQ(text_of(DType::kBF16, 0x4049), "3.140625");
  EXPECT_EQ(text_of(DType::kI8, 0x80), "-128");
  EXPECT_EQ(text_of(DType::kU64, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(text_of(DType::kI64, uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(text_of(DType::kBool, 1), "true");
}

TEST(Literal, NamesWhatNoDecimalNames) {
  EXPECT_EQ(text_of(DType::kF32, 0x7f800000), "inf");
  EXPECT_EQ(text_of(DType::kF16, 0xfc00), "-inf");
  EXPECT_EQ(text_of(DType::kF32, 0x7fc00000), "nan");
  EXPECT_EQ(text_of(DType::kF32, 0xffc00001), "0xffc00001");
  EXPECT_EQ(text_of(DType::kF32, 0x80000000), "-0.0");
  EXPECT_EQ(text_of(DType::kBool, 2), "0x2");
}

TEST(Literal, EveryHalfReadsBackBitForBit) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint64_t bits = 0; bits < 0x10000; ++bits) {
      ASSERT_EQ(bits_of(dtype, text_of(dtype, bits)), bits) << dtype_name(dtype) << " " << bits;
    }
  }
}

TEST(Literal, FloatsReadBackBitForBit) {
  uint64_t state = 1;
  for (int k = 0; k < 20000; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ASSERT_EQ(bits_of(DType::kF64, text_of(DType::kF64, state)), state);
    uint64_t low = state >> 32;
    ASSERT_EQ(bits_of(DType::kF32, text_of(DType::kF32, low)), low);
  }
  for (uint64_t bits : {1u, 0x7fffffu, 0x800000u, 0x7f7fffffu}) {  // denormals and extremes
    EXPECT_EQ(bits_of(DType::kF32, text_of(DType::kF32, bits)), bits);
  }
}

TEST(Literal, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(parses(DType::kI8, "128"));
  EXPECT_FALSE(parses(DType::kU8, "-1"));
  EXPECT_FALSE(parses(DType::kI32, "1.0"));
  EXPECT_FALSE(parses(DType::kI32, "nan"));
  EXPECT_FALSE(parses(DType::kF16, "65520"));  // rounds to infinity
  EXPECT_FALSE(parses(DType::kF32, "1e39"));
  EXPECT_FALSE(parses(DType::kF32, "nan(1)"));
  EXPECT_FALSE(parses(DType::kF32, "0x1ffffffff"));
  EXPECT_FALSE(parses(DType::kBool, "1"));
  EXPECT_FALSE(parses(DType::kF32, ""));
}

TEST(ElementValue, IsTheNumberOfEveryDtype) {
  auto value = [](DType dtype, uint64_t bits) {
    return element_value(dtype, reinterpret_cast<const std::byte*>(&bits));
  };
  EXPECT_EQ(value(DType::kF32, 0xc0200000), -2.5);  // bit patterns: IEEE 754
  EXPECT_EQ(value(DType::kF64, 0x3ff8000000000000), 1.5);
  EXPECT_EQ(value(DType::kF16, 0x3e00), 1.5);
  EXPECT_EQ(value(DType::kBF16, 0x3fc0), 1.5);
  EXPECT_EQ(value(DType::kI8, 0xff), -1);
  EXPECT_EQ(value(DType::kU8, 0xff), 255);
  EXPECT_EQ(value(DType::kI16, 0xfffe), -2);
  EXPECT_EQ(value(DType::kU16, 0xfffe), 65534);
  EXPECT_EQ(value(DType::kI32, 0xffffffff), -1);
  EXPECT_EQ(value(DType::kU32, 0xffffffff), 4294967295.0);
  EXPECT_EQ(value(DType::kI64, ~uint64_t{0}), -1);
  EXPECT_EQ(value(DType::kU64, uint64_t{1} << 63), 9223372036854775808.0);
  EXPECT_EQ(value(DType::kBool, 1), 1);
}

}  // namespace
}  // namespace byoc
