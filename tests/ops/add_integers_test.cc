// SPDX-License-Identifier: Apache-2.0
// add_integers. Expected values by hand from the formula.
#include "support/run_op.h"

namespace byoc::testing {
namespace {

using ::testing::HasSubstr;
using List = std::vector<double>;

Attrs rescaling(double a, double b, double shift, int64_t min = 0, int64_t max = 255,
                DType to = DType::kU8) {
  return {{"to", to},       {"a_factor", a}, {"b_factor", b},
          {"shift", shift}, {"min", min},    {"max", max}};
}

List sums(const Values& a, const Values& b, const Attrs& attrs) {
  return run_op1("add_integers", {a, b}, attrs).values;
}

TEST(AddIntegers, RescalesBothOperandsAndRoundsHalvesToEven) {
  EXPECT_EQ(sums(tensor(DType::kU8, {4}, {1, 3, 10, 200}), tensor(DType::kU8, {4}, {0, 0, 4, 30}),
                 rescaling(0.5, 0.25, 1)),
            (List{2, 2, 7, 108}));  // 1.5, 2.5, 7, 108.5
}

TEST(AddIntegers, KeepsResultsWithinItsBounds) {
  const Values a = tensor(DType::kU8, {3}, {0, 255, 100}),
               b = tensor(DType::kI8, {3}, {-128, 127, 0});
  EXPECT_EQ(sums(a, b, rescaling(1, 1, 0)), (List{0, 255, 100}));
  EXPECT_EQ(sums(a, b, rescaling(1, 1, 0, 7, 90)), (List{7, 90, 90}));
  EXPECT_EQ(sums(a, b, rescaling(1, 1, 0, -128, 127, DType::kI8)), (List{-128, 127, 100}));
}

TEST(AddIntegers, HoldsTheLargestFactors) {
  const double most = 1 << 20;
  EXPECT_EQ(sums(tensor(DType::kU8, {2}, {255, 0}), tensor(DType::kI8, {2}, {127, -128}),
                 rescaling(most, most, 1 << 30)),
            (List{255, 255}));
  EXPECT_EQ(sums(tensor(DType::kU8, {2}, {255, 0}), tensor(DType::kU8, {2}, {255, 0}),
                 rescaling(-most, -most, -(1 << 30))),
            (List{0, 0}));
}

TEST(AddIntegers, RoundsAProductWithASumOnce) {
  // The factor is the f32 after 0.3: 5 times it is 1.5 + 2^-24, which f32 would round to 1.5.
  EXPECT_EQ(sums(tensor(DType::kU8, {1}, {5}), tensor(DType::kU8, {1}, {0}),
                 rescaling(0x1.333334p-2, 1, -1)),
            (List{1}));
}

TEST(AddIntegers, HasNoElementsOfEmptyTensors) {
  EXPECT_EQ(
      sums(tensor(DType::kU8, {0, 3}, {}), tensor(DType::kU8, {0, 3}, {}), rescaling(1, 1, 0)),
      List{});
}

TEST(AddIntegers, RefusesOtherTypesShapesAndAttributes) {
  const TensorType u8 = type_of(DType::kU8, {2, 3});
  EXPECT_EQ(infer("add_integers", {u8, u8}, rescaling(1, 1, 0)), "u8[2,3]");
  EXPECT_THAT(infer("add_integers", {u8, type_of(DType::kU8, {3})}, rescaling(1, 1, 0)),
              HasSubstr("a is u8[2,3] and b u8[3], expected one shape"));
  EXPECT_THAT(infer("add_integers", {u8, type_of(DType::kF32, {2, 3})}, rescaling(1, 1, 0)),
              HasSubstr("b"));
  EXPECT_THAT(infer("add_integers", {u8, u8}, rescaling(1, 1, 0, 0, 255, DType::kI32)),
              HasSubstr("to is i32, expected u8 or i8"));
  EXPECT_THAT(infer("add_integers", {u8, u8}, rescaling(1 << 21, 1, 0)),
              HasSubstr("a_factor is 2097152, expected at most 1048576 in size"));
  EXPECT_THAT(infer("add_integers", {u8, u8}, rescaling(1, 1, NAN)), HasSubstr("shift is nan"));
  EXPECT_THAT(infer("add_integers", {u8, u8}, rescaling(1, 1, 0, -1, 255)),
              HasSubstr("min is -1 and max 255, expected values of u8"));
  EXPECT_THAT(infer("add_integers", {u8, u8}, rescaling(1, 1, 0, 9, 8)),
              HasSubstr("with min up to max"));
}

}  // namespace
}  // namespace byoc::testing
