// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes. Adjacent ones are one long axis, which is summed in lanes.
#include <algorithm>

#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

struct Folded {
  double value;
  double magnitude;  // of the terms, for the bound of the error
};

Folded fold(const std::string& op, const std::vector<double>& line) {
  double sum = 0, size = 0, squares = 0, product = 1, top = -INFINITY, low = INFINITY, powers = 0;
  for (double x : line) {
    sum += x, size += std::abs(x), squares += x * x, product *= x;
    if (x > top || std::isnan(x)) top = std::isnan(top) ? top : x;
    if (x < low || std::isnan(x)) low = std::isnan(low) ? low : x;
  }
  for (double x : line) powers += std::exp(x - top);
  const auto n = static_cast<double>(line.size());
  if (op == "sum") return {sum, size};
  if (op == "mean") return {sum / n, size / n};
  if (op == "max") return {top, 0};
  if (op == "min") return {low, 0};
  if (op == "prod") return {product, std::abs(product)};
  if (op == "l1") return {size, size};
  if (op == "l2") return {std::sqrt(squares), std::sqrt(squares)};
  if (op == "sum_square") return {squares, squares};
  return {top + std::log(powers), std::abs(top) + 1};
}

// Returns the elements of each result, in order.
std::vector<std::vector<double>> lines_of(const Ints& shape, const Ints& axes,
                                          const std::vector<float>& x) {
  std::vector<std::vector<double>> out;
  for (int64_t k = 0; k < count_of(shape); ++k) {
    int64_t rest = k, line = 0, step = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      if (std::ranges::count(axes, static_cast<int64_t>(d)) > 0) continue;
      line += rest % shape[d] * step;
      step *= shape[d];
    }
    if (out.size() <= static_cast<size_t>(line)) out.resize(static_cast<size_t>(line) + 1);
    out[static_cast<size_t>(line)].push_back(static_cast<double>(x[static_cast<size_t>(k)]));
  }
  return out;
}

TEST(Reductions, OverAnyAxesAreThoseOfTheDefinition) {
  Chooser choose(21);
  for (int k = 0; k < 250; ++k) {
    OpCase c{.op = choose.one_of<std::string>(
                 {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum_exp"}),
             .dtype = DType::kF32};
    const auto rank = static_cast<size_t>(choose.between(1, 5));
    for (size_t d = 0; d < rank; ++d)
      c.shape.push_back(choose.one_of<int64_t>({1, 2, 3, 5, 8, 13, 17}));
    c.shape[static_cast<size_t>(choose.between(0, static_cast<int64_t>(rank) - 1))] =
        choose.one_of<int64_t>({1, 31, 64, 97, 150});
    Ints axes;
    for (size_t d = 0; d < rank; ++d) {
      if (choose.chance(0.6)) axes.push_back(static_cast<int64_t>(d));
    }
    if (axes.empty()) axes.push_back(static_cast<int64_t>(rank) - 1);
    c.attrs = {{"axes", axes}, {"keepdims", choose.chance(0.5)}};
    c.threads = choose.chance(0.4) ? 3 : 1;
    c.has_short_vectors = choose.chance(0.3);
    const bool is_order = c.op == "max" || c.op == "min";
    std::vector<float> x = elements<float>(choose, count_of(c.shape), is_order, 8);
    if (c.op == "prod") std::ranges::transform(x, x.begin(), [](float v) { return 1 + v / 800; });
    const std::vector<float> got = run(c, f32(x)).as<float>();
    const auto lines = lines_of(c.shape, axes, x);
    ASSERT_EQ(got.size(), lines.size()) << print(c);
    for (size_t line = 0; line < lines.size(); ++line) {
      const Folded want = fold(c.op, lines[line]);
      const auto value = static_cast<double>(got[line]);
      if (std::isnan(want.value)) EXPECT_TRUE(std::isnan(value)) << print(c);
      else if (is_order) EXPECT_EQ(value, want.value) << print(c);
      else
        EXPECT_NEAR(value, want.value,
                    want.magnitude * 1.2e-7 * (4 + static_cast<double>(lines[line].size()) / 16))
            << print(c);
    }
  }
}

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++out;
  return out;
}

// A row of 7 elements has no vector of 8 lanes; a plane of 49 does.
TEST(Reductions, OverPlanesSumInLanes) {
  OpCase c{"sum", DType::kF32, {1, 64, 7, 7}, {{"axes", Ints{2, 3}}}};
  c.has_short_vectors = true;
  const std::string text = te::print(loops_of(c).function);
  EXPECT_GE(count(text, "vectorized r0.r1.i in 0..8 {"), 1u) << text;
}

// One vector and a few elements more are worth lanes, too.
TEST(Reductions, OfShortRowsSumInLanes) {
  OpCase c{"sum", DType::kF32, {64, 11}, {{"axes", Ints{1}}}};
  c.has_short_vectors = true;
  const std::string text = te::print(loops_of(c).function);
  EXPECT_GE(count(text, "vectorized r0.i in 0..8 {"), 1u) << text;
}

// Rows of three elements fill no vector: the lanes are rows.
TEST(Reductions, OfRowsShorterThanAVectorHaveRowsAsLanes) {
  OpCase c{"sum_square", DType::kF32, {40, 64, 3}, {{"axes", Ints{2}}}};
  c.has_short_vectors = true;
  const std::string text = te::print(loops_of(c).function);
  EXPECT_GE(count(text, "vectorized i1"), 1u) << text;
}

// Roots of the variances are vectors of several rows, not a number in each row.
TEST(Reductions, OfShortRowsAreSharedStepByStep) {
  OpCase c{"layer_norm", DType::kF32, {8000, 13}, {}};
  c.threads = 3;
  const std::string text = te::print(loops_of(c).function);
  EXPECT_GE(count(text, "parallel"), 3u) << text;
}

// A root after the sums does not keep them from being shared.
TEST(Reductions, ThatAnotherStepFollowsAreShared) {
  OpCase c{"l2", DType::kF32, {256, 512}, {{"axes", Ints{1}}}};
  c.threads = 2;
  EXPECT_GE(count(te::print(loops_of(c).function), "parallel"), 1u);
}

// Blocks of a row are no rows: each of them would compute the maximum and the sum again.
TEST(Reductions, OfOneRowAreNotRepeatedInEachBlock) {
  OpCase c{"softmax", DType::kF32, {1, 151936}, {}};
  c.threads = 2;
  const std::string text = te::print(loops_of(c).function);
  const size_t first = text.find("parallel");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_GE(count(text.substr(0, first), "for r0"), 1u) << "the maximum comes first\n" << text;
  Chooser choose(23);
  const std::vector<float> x = elements<float>(choose, 151936, false, 4);
  constexpr double kBound = 151936.0 / 64 / (1 << 24);  // of a sum in at least 64 parts
  double sum = 0;
  for (float value : x) sum += std::exp(static_cast<double>(value));
  const std::vector<float> got = run(c, f32(x)).as<float>();
  for (size_t k = 0; k < x.size(); k += 97) {
    const double want = std::exp(static_cast<double>(x[k])) / sum;
    EXPECT_NEAR(static_cast<double>(got[k]), want, kBound * want) << k;
  }
}

// Both moments of a channel are in one loop with the plane that they scale.
TEST(Reductions, OverPlanesAreComputedWhereTheyAreRead) {
  OpCase c{"mean_variance_norm", DType::kF32, {4, 16, 64, 64}, {{"axes", Ints{2, 3}}}};
  c.threads = 2;
  const std::string text = te::print(loops_of(c).function);
  EXPECT_EQ(count(text, "parallel"), 1u) << text;
}

}  // namespace
}  // namespace byoc
