// SPDX-License-Identifier: Apache-2.0
// Sums in f32, one term after the other, are allowed, however long they are; sums that lack a term
// are not. The sums are computed here.
#include "sums.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace byoc::fuzz {
namespace {

using Floats32 = std::vector<float>;

struct Evaluated {
  std::vector<Known> args, results;
};

using Operands = std::vector<std::pair<Floats32, Ints>>;

Result<Evaluated> try_to_evaluate(const char* op, const Operands& operands, Attrs given = {}) {
  Evaluated out;
  std::vector<const Known*> args;
  std::vector<TypeId> in;
  for (const auto& [values, dims] : operands) {
    TypeId type = TensorType{DType::kF32, make_shape(dims)};
    out.args.push_back(exact(type, from_elements(type, {values.begin(), values.end()})));
    in.push_back(type);
  }
  for (const Known& arg : out.args) args.push_back(&arg);
  const OpDef& def = *all_ops().find(op);
  Attrs attrs = *complete_attrs(def, std::move(given));
  BYOC_TRY(out.results, evaluate_step(def, attrs, args, *infer_types(def, in, attrs), kOracleSeed));
  return out;
}

/// Returns the allowed error of the first result of a convolution, times the largest magnitude.
double share_of_largest(const Ints& strides, Sums sums) {
  const Floats32 x(2 * 8 * 8, 0.5f), w(3 * 2 * 3 * 3, 0.25f);
  TypeId image = TensorType{DType::kF32, make_shape(Ints{1, 2, 8, 8})};
  TypeId filters = TensorType{DType::kF32, make_shape(Ints{3, 2, 3, 3})};
  const Known a = exact(image, from_elements(image, {x.begin(), x.end()}));
  const Known b = exact(filters, from_elements(filters, {w.begin(), w.end()}));
  const OpDef& def = *all_ops().find("conv2d");
  Attrs attrs = *complete_attrs(def, {{"strides", strides}});
  auto results = *evaluate_step(def, attrs, {&a, &b}, *infer_types(def, {{image, filters}}, attrs),
                                kOracleSeed, sums);
  return allowed_errors(results[0])[0] / (18 * 0.125);
}

Evaluated evaluated(const char* op, const Operands& operands, Attrs given = {}) {
  return *try_to_evaluate(op, operands, std::move(given));
}

std::string difference_of(const Floats32& got, const Evaluated& wanted) {
  return difference(reinterpret_cast<const std::byte*>(got.data()), wanted.results[0]);
}

/// Positive numbers without a pattern; each occurs `times` in a row.
Floats32 numbers(size_t count, size_t times = 1) {
  Floats32 out;
  for (size_t k = 0; k < count; ++k) {
    const double turn = static_cast<double>(k / times + 1) * std::numbers::phi;
    out.push_back(static_cast<float>(0.5 + (turn - std::floor(turn))));
  }
  return out;
}

float in_sequence(const Floats32& terms) {
  float sum = 0;
  for (float term : terms) sum += term;
  return sum;
}

Floats32 without_last(Floats32 terms) {
  terms.pop_back();
  return terms;
}

// The bound is that of plugins/llvm/families/winograd/README.md.
TEST(SumErrors, AllowTheErrorsOfTilesWhereConvolutionsMayHaveThem) {
  for (int64_t stride : {1, 2}) {
    EXPECT_GT(share_of_largest({stride, stride}, Sums::kInTiles), 2e-5);
    EXPECT_LT(share_of_largest({stride, stride}, Sums::kInTiles), 3e-5);
    EXPECT_LT(share_of_largest({stride, stride}, Sums::kDirect), 1e-5);
  }
  EXPECT_LT(share_of_largest({3, 3}, Sums::kInTiles), 1e-5);
}

TEST(SumErrors, AllowAMeanOfManyPixelsInSequence) {
  for (size_t times : {1, 2, 4}) {
    const Floats32 x = numbers(1120, times);
    Evaluated mean = evaluated("global_average_pool", {{x, {1, 1, 35, 32}}});
    EXPECT_EQ(difference_of({in_sequence(x) / 1120}, mean), "");
    EXPECT_NE(difference_of({in_sequence(without_last(x)) / 1120}, mean), "");
  }
}

TEST(SumErrors, AllowASumOfEqualTermsInSequence) {
  for (size_t count : {100, 1000, 6000}) {
    for (float term : {0.7f, 1.1f, 1.9f}) {
      const Floats32 x(count, term);
      Evaluated sum = evaluated("sum", {{x, {static_cast<int64_t>(count)}}});
      EXPECT_EQ(difference_of({in_sequence(x)}, sum), "") << count << " of " << term;
      const auto lacking = static_cast<float>(static_cast<double>(count - 1) * term);
      EXPECT_NE(difference_of({lacking}, sum), "") << count << " of " << term;
    }
  }
}

TEST(SumErrors, AllowAProductOfLongRowsInSequence) {
  const Floats32 a(1000, 0.7f), b(1000, 1.3f);
  Floats32 terms;
  for (size_t k = 0; k < a.size(); ++k) terms.push_back(a[k] * b[k]);
  Evaluated product = evaluated("matmul", {{a, {1, 1000}}, {b, {1000, 1}}});
  EXPECT_EQ(difference_of({in_sequence(terms)}, product), "");
  EXPECT_NE(difference_of({in_sequence(without_last(terms))}, product), "");
}

TEST(SumErrors, AllowAConvolutionOfManyChannelsInSequence) {
  const Floats32 x(900, 0.7f), weight(900, -1.3f);
  Floats32 terms;
  for (size_t k = 0; k < x.size(); ++k) terms.push_back(x[k] * weight[k]);
  Evaluated conv = evaluated("conv2d", {{x, {1, 100, 3, 3}}, {weight, {1, 100, 3, 3}}});
  EXPECT_EQ(difference_of({in_sequence(terms)}, conv), "");
  EXPECT_NE(difference_of({in_sequence(without_last(terms))}, conv), "");
}

/// Normalises with a mean and a variance that are added up in sequence.
Floats32 normalised(const Floats32& x, double forgotten = 0) {
  const auto n = static_cast<float>(x.size());
  const float mean = (in_sequence(x) - static_cast<float>(forgotten)) / n;
  Floats32 squares, out;
  for (float value : x) squares.push_back((value - mean) * (value - mean));
  const float deviation = std::sqrt(in_sequence(squares) / n + 1e-5f);
  for (float value : x) out.push_back((value - mean) / deviation);
  return out;
}

TEST(SumErrors, AllowTheMeanOfANormInSequence) {
  Floats32 x = numbers(1000, 8);
  for (float& value : x) value = 3 + value / 8;
  Evaluated norm = evaluated("layer_norm", {{x, {1, 1000}}});
  EXPECT_EQ(difference_of(normalised(x), norm), "");
  EXPECT_NE(difference_of(normalised(x, x.back()), norm), "");
  Evaluated same = evaluated("mean_variance_norm", {{x, {10, 100}}}, {{"axes", Ints{0, -1}}});
  EXPECT_NE(difference_of(normalised(x, x.back()), same), "");
}

TEST(SumErrors, AllowASoftmaxWhoseSumIsInSequence) {
  const Floats32 x(1000, 0.3f);
  Floats32 terms(x.size(), std::exp(0.3f));
  Evaluated softmax = evaluated("softmax", {{x, {1000}}});
  EXPECT_EQ(difference_of(Floats32(1000, terms[0] / in_sequence(terms)), softmax), "");
  const float lacking = in_sequence(without_last(terms));
  EXPECT_NE(difference_of(Floats32(1000, terms[0] / lacking), softmax), "");
}

// The error is relative to the terms, not to the tensor's largest value.
TEST(SumErrors, AreThoseOfTheOwnTerms) {
  Floats32 x = numbers(3000);
  for (size_t k = 1000; k < x.size(); ++k) x[k] *= 1e-3f;
  Evaluated sums = evaluated("sum", {{x, {3, 1000}}}, {{"axes", Ints{1}}});
  Floats32 got;
  for (auto row = x.begin(); row != x.end(); row += 1000)
    got.push_back(in_sequence({row, row + 1000}));
  EXPECT_EQ(difference_of(got, sums), "");
  got[1] *= 1.0001f;
  EXPECT_NE(difference_of(got, sums), "");
}

// 0.1^50 is 0 in f32, and 0 times an infinity NaN; an infinity that comes first stays.
TEST(Products, OfAnInfinityAndManySmallFactorsAreNotDetermined) {
  Floats32 x(50, 0.1f);
  x[20] = INFINITY;
  auto last = try_to_evaluate("prod", {{x, {50}}});
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.status().message(), "prod: its range depends on the order");
  EXPECT_FALSE(try_to_evaluate("cumprod", {{x, {50}}}, {{"axis", int64_t{0}}}).ok());
  EXPECT_TRUE(try_to_evaluate("prod", {{x, {10, 5}}}, {{"axes", Ints{1}}}).ok());
}

TEST(Products, OfManyLargeAndManySmallFactorsAreNotDetermined) {
  Floats32 x(100, 10.0f);
  for (size_t k = 50; k < x.size(); ++k) x[k] = 0.1f;
  EXPECT_FALSE(try_to_evaluate("prod", {{x, {100}}}).ok());
  x[0] = 0;
  EXPECT_FALSE(try_to_evaluate("prod", {{x, {100}}}).ok());
  EXPECT_TRUE(try_to_evaluate("prod", {{Floats32(30, 0.1f), {30}}}).ok());
}

TEST(SumErrors, OfShortSumsAreSmall) {
  EXPECT_EQ(error_of_sum(1, DType::kF32), 0);
  EXPECT_LT(error_of_sum(9, DType::kF32), 4 * 0x1p-24);
  EXPECT_LT(error_of_sum(1000, DType::kF64), 100 * 0x1p-53);
}

// A coefficient next to nothing is a sum of the line's size: its error is relative to that.
TEST(Transforms, MayBeAddedInAnyOrder) {
  for (const int64_t line : {50, 64}) {
    const auto n = static_cast<size_t>(line);
    const Floats32 x = numbers(n);
    const Evaluated wanted = evaluated("dft", {{x, {1, line, 1}}});
    const std::vector<double> right = elements(wanted.results[0].type, *wanted.results[0].right);
    Floats32 got(right.begin(), right.end());
    got[n + 1] += 1e-6f;  // the imaginary part in the middle, which is 0
    EXPECT_EQ(difference_of(got, wanted), "") << line;
    got[n + 1] += 1e-3f;
    EXPECT_NE(difference_of(got, wanted), "") << line;
    const Evaluated back = evaluated("dft", {{got, {1, line, 2}}}, {{"inverse", true}});
    EXPECT_EQ(allowed_errors(back.results[0]).size(), 2 * n);
  }
}

}  // namespace
}  // namespace byoc::fuzz
