// SPDX-License-Identifier: Apache-2.0
// encode_float and decode_float. Sources of the expected values: arXiv:2209.05433, table 1 (E4M3FN,
// E5M2); arXiv:2206.02915 (FNUZ); OCP Microscaling Formats 1.0, section 5.3 (the other formats);
// ONNX opset 28, Cast (saturation).
#include <cmath>
#include <limits>

#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

std::vector<double> decoded(const char* format, std::vector<double> codes) {
  auto n = static_cast<int64_t>(codes.size());
  return run_op1("decode_float", {tensor(DType::kU8, {n}, std::move(codes))}, {{"format", format}})
      .values;
}
std::vector<double> encoded(const char* format, std::vector<double> x, Attrs attrs = {},
                            DType dtype = DType::kF32) {
  attrs.set("format", format);
  auto n = static_cast<int64_t>(x.size());
  return run_op1("encode_float", {tensor(dtype, {n}, std::move(x))}, attrs).values;
}
using List = std::vector<double>;

TEST(DecodeFloat, ReadsTheExtremesOfEachFormat) {
  EXPECT_EQ(decoded("f8e4m3fn", {0x7e, 0x08, 0x07, 0x01, 0xfe, 0x38}),
            (List{448, 0x1p-6, 0.875 * 0x1p-6, 0x1p-9, -448, 1}));
  EXPECT_EQ(decoded("f8e4m3fnuz", {0x7f, 0x08, 0x01, 0xff, 0x40}),
            (List{240, 0x1p-7, 0x1p-10, -240, 1}));
  EXPECT_EQ(decoded("f8e5m2", {0x7b, 0x04, 0x01, 0x7c, 0xfc, 0x3c}),
            (List{57344, 0x1p-14, 0x1p-16, kInf, -kInf, 1}));
  EXPECT_EQ(decoded("f8e5m2fnuz", {0x7f, 0x04, 0x01, 0x40}), (List{57344, 0x1p-15, 0x1p-17, 1}));
  EXPECT_EQ(decoded("f8e8m0", {0, 127, 254}), (List{0x1p-127, 1, 0x1p127}));
  EXPECT_EQ(decoded("f6e2m3", {0x1f, 0x01, 0x08, 0x3f}), (List{7.5, 0.125, 1, -7.5}));
  EXPECT_EQ(decoded("f6e3m2", {0x1f, 0x01, 0x0c, 0x3f}), (List{28, 0.0625, 1, -28}));
  EXPECT_EQ(decoded("f4e2m1", {0, 1, 2, 3, 4, 5, 6, 7, 15}),
            (List{0, 0.5, 1, 1.5, 2, 3, 4, 6, -6}));
}

TEST(DecodeFloat, ReadsNan) {
  EXPECT_TRUE(std::isnan(decoded("f8e4m3fn", {0x7f})[0]));
  EXPECT_TRUE(std::isnan(decoded("f8e4m3fn", {0xff})[0]));
  EXPECT_TRUE(std::isnan(decoded("f8e4m3fnuz", {0x80})[0]));
  EXPECT_TRUE(std::isnan(decoded("f8e5m2", {0x7d})[0]));
  EXPECT_TRUE(std::isnan(decoded("f8e5m2fnuz", {0x80})[0]));
  EXPECT_TRUE(std::isnan(decoded("f8e8m0", {255})[0]));
}

// Every number of a format has a code, which is the only one but for NaN.
TEST(EncodeFloat, InvertsDecodeFloat) {
  for (const char* format :
       {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f6e2m3", "f6e3m2", "f4e2m1"}) {
    SCOPED_TRACE(format);
    const int bits = format[1] - '0';
    for (int code = 0; code < 1 << bits; ++code) {
      double number = decoded(format, {static_cast<double>(code)})[0];
      if (std::isnan(number)) continue;
      Attrs attrs{{"saturate", false}};
      EXPECT_EQ(encoded(format, {number}, attrs)[0], code) << number;
    }
  }
}

TEST(EncodeFloat, RoundsHalvesToEven) {
  EXPECT_EQ(encoded("f8e4m3fn", {1.0625, 1.1875, 0x1p-10, 0x1.8p-9, 464}),
            (List{0x38, 0x3a, 0, 2, 0x7e}));
  EXPECT_EQ(encoded("f4e2m1", {0.25, 0.75, 2.5, 5, 5.1, -0.75}), (List{0, 2, 4, 6, 7, 10}));
}

TEST(EncodeFloat, SaturatesOrNotBeyondTheGreatestNumber) {
  const List x = {kInf, -kInf, 1e6, -1e6};
  const Attrs open{{"saturate", false}};
  EXPECT_EQ(encoded("f8e4m3fn", x), (List{0x7e, 0xfe, 0x7e, 0xfe}));
  EXPECT_EQ(encoded("f8e4m3fn", x, open), (List{0x7f, 0xff, 0x7f, 0xff}));
  EXPECT_EQ(encoded("f8e5m2", x), (List{0x7b, 0xfb, 0x7b, 0xfb}));
  EXPECT_EQ(encoded("f8e5m2", x, open), (List{0x7c, 0xfc, 0x7c, 0xfc}));
  EXPECT_EQ(encoded("f8e4m3fnuz", x, open), (List{0x80, 0x80, 0x80, 0x80}));
  EXPECT_EQ(encoded("f8e5m2fnuz", x), (List{0x7f, 0xff, 0x7f, 0xff}));
  EXPECT_EQ(encoded("f6e3m2", x, open), (List{0x1f, 0x3f, 0x1f, 0x3f}));
}

TEST(EncodeFloat, KeepsTheSignOfZeroWhereThereIsOne) {
  EXPECT_EQ(encoded("f8e4m3fn", {-0.0, 0.0}), (List{0x80, 0}));
  EXPECT_EQ(encoded("f8e4m3fnuz", {-0.0, -0x1p-20}), (List{0, 0}));
  EXPECT_EQ(encoded("f8e4m3fn", {kNaN})[0], 0x7f);
  EXPECT_EQ(encoded("f8e4m3fnuz", {kNaN})[0], 0x80);
}

// log(-1) is -NaN by one library, NaN by another: IEEE 754 does not determine the sign.
TEST(EncodeFloat, LeavesOutTheSignOfNan) {
  for (const char* format : {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0"})
    EXPECT_EQ(encoded(format, {-kNaN}), encoded(format, {kNaN})) << format;
}

// The table of ONNX's Cast to FLOAT8E8M0.
TEST(EncodeFloat, RoundsScalesAsStated) {
  Attrs up{{"rounding", "up"}}, down{{"rounding", "down"}}, open{{"saturate", false}};
  EXPECT_EQ(encoded("f8e8m0", {1, 1.25, 1.5, 2}, up), (List{127, 128, 128, 128}));
  EXPECT_EQ(encoded("f8e8m0", {1, 1.25, 1.5, 1.99}, down), (List{127, 127, 127, 127}));
  EXPECT_EQ(encoded("f8e8m0", {1.25, 1.5, 1.75}), (List{127, 128, 128}));
  EXPECT_EQ(encoded("f8e8m0", {0, kNaN, kInf}, up), (List{0, 255, 254}));
  EXPECT_EQ(encoded("f8e8m0", {0, kNaN, kInf}, open), (List{255, 255, 255}));
}

TEST(EncodeFloat, RoundsF64Once) {  // by way of f32, the excess over the half would be lost
  EXPECT_EQ(encoded("f8e4m3fn", {1.0625 + 0x1p-40}, {}, DType::kF64)[0], 0x39);
}

TEST(EncodeFloatInfer, RejectsOtherFormats) {
  EXPECT_EQ(infer("encode_float", {f32_type({2})}, {{"format", "f8"}}),
            "encode_float: format is \"f8\", expected one of f8e4m3fn, f8e4m3fnuz, f8e5m2, "
            "f8e5m2fnuz, f8e8m0, f6e2m3, f6e3m2, f4e2m1");
  EXPECT_EQ(infer("encode_float", {f32_type({2})}, {{"format", "f8e8m0"}, {"rounding", "away"}}),
            "encode_float: rounding is \"away\", expected nearest, up or down");
  EXPECT_EQ(infer("decode_float", {type_of(DType::kI8, {2})}, {{"format", "f4e2m1"}}),
            "decode_float: x is i8[2], expects one of u8");
}

}  // namespace
}  // namespace byoc::testing
