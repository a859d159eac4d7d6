// SPDX-License-Identifier: Apache-2.0
// Simplified expressions have the same value. Tests each rule, and random expressions.
#include "byoc/te/simplify.h"

#include <cmath>
#include <random>

#include "run.h"

namespace byoc::te {
namespace {

class Simplify : public testing::Test {
 protected:
  Var i{"i"}, j{"j"}, k{"k"};
  Ranges ranges{{i.id(), {0, 7}}, {j.id(), {0, 15}}, {k.id(), {-3, 3}}};
  std::string text(const Expr& x) { return print(simplify(x, ranges)); }
};

TEST_F(Simplify, AddsUpLinearSums) {
  EXPECT_EQ(text((i + j) - i), "j");
  EXPECT_EQ(text((i + 1) * 4 - 4), "(i * 4)");
  EXPECT_EQ(text(i * 2 + j + i * 6 + 3), "(((i * 8) + j) + 3)");
  EXPECT_EQ(text(Expr(i) * 0 + j * 1 + 0), "j");
  EXPECT_EQ(text(-(i - j)), "(j - i)");
  EXPECT_EQ(text(Expr(i) - i), "0");
}

TEST_F(Simplify, DividesByConstants) {
  EXPECT_EQ(text(floor_div(i, 8)), "0");
  EXPECT_EQ(text(floor_mod(i, 8)), "i");
  EXPECT_EQ(text(floor_div(j * 8 + i, 8)), "j");
  EXPECT_EQ(text(floor_mod(j * 8 + i + 24, 8)), "i");
  EXPECT_EQ(text(floor_div(j * 8 + i + 24, 8)), "(j + 3)");
  EXPECT_EQ(text(floor_div(j * 8 + i, 16)), "floor_div(j, 2)");
  EXPECT_EQ(text(floor_mod(j * 8 + i, 16)), "((floor_mod(j, 2) * 8) + i)");
  EXPECT_EQ(text(floor_div(floor_div(j, 2), 3)), "floor_div(j, 6)");
  EXPECT_EQ(text(floor_mod(floor_mod(j, 8), 4)), "floor_mod(j, 4)");
  EXPECT_EQ(text(floor_div(k, 4)), "floor_div(k, 4)");  // -1 or 0
  EXPECT_EQ(text(floor_div(k - 4, 8)), "-1");
}

TEST_F(Simplify, PutsDividedPartsTogetherAgain) {
  EXPECT_EQ(text(floor_div(j, 3) * 3 + floor_mod(j, 3)), "j");
  EXPECT_EQ(text(floor_div(j, 6) * 12 + floor_mod(floor_div(j, 2), 3) * 4 + floor_mod(j, 2) * 2),
            "(j * 2)");
}

// The flat index of a reshape from [2048, 7, 7], whose loop is split over threads.
TEST_F(Simplify, PutsDigitsOfSplitIndicesTogetherAgain) {
  Var p("p"), c("c");
  ranges[p.id()] = {0, 27};
  ranges[c.id()] = {0, 3583};
  const Expr flat = p * 3584 + c;
  EXPECT_EQ(
      text(floor_div(flat, 49) * 49 + floor_mod(floor_div(flat, 7), 7) * 7 + floor_mod(flat, 7)),
      "((p * 3584) + c)");
  EXPECT_EQ(text(floor_div(p * 512 + floor_div(c, 7), 7)), "floor_div(((p * 3584) + c), 49)");
  EXPECT_EQ(text(floor_div(floor_div(c, 7) - p * 512 + 3, 7)),
            "floor_div(((c - (p * 3584)) + 21), 49)");
}

TEST_F(Simplify, DecidesComparisonsMinAndMaxByRanges) {
  EXPECT_EQ(text(i < 8), "true");
  EXPECT_EQ(text(i + j < i), "false");
  EXPECT_EQ(text(i * 16 + j <= i * 16 + 15), "true");
  EXPECT_EQ(text(i == 8), "false");
  EXPECT_EQ(text(i < 7), "(i < 7)");
  EXPECT_EQ(text(min(i, 7)), "i");
  EXPECT_EQ(text(max(i - 8, 0)), "0");
  EXPECT_EQ(text(min(min(i, j), i)), "min(i, j)");
  EXPECT_EQ(text(min(min(i, 5), 3)), "min(3, i)");
  EXPECT_EQ(text(select(i < 8 && j >= 0, i, j)), "i");
  EXPECT_EQ(text(select(!(i < 3), i, j)), "select((i < 3), j, i)");
  EXPECT_EQ(text(select(i < 3, j, j)), "j");
}

TEST_F(Simplify, KnowsNothingOfVariablesWithoutRange) {
  Var n("n");
  EXPECT_EQ(text(n < n + 1), "(n < (n + 1))");  // false for the largest n
  EXPECT_EQ(text(floor_div(n * 4, 4)), "floor_div((n * 4), 4)");
}

TEST_F(Simplify, FoldsFloatsWhereBitsAgree) {
  Tensor x("x", DType::kF32, {});
  auto f = [](double value) { return constant(DType::kF32, value); };
  EXPECT_EQ(text(x() * f(1)), "x[]");
  EXPECT_EQ(text(x() + f(-0.0)), "x[]");
  EXPECT_EQ(text(x() + f(0)), "(x[] + 0.0)");  // -0 + 0 is +0
  EXPECT_EQ(text(x() * f(0)), "(x[] * 0.0)");  // NaN for infinity and NaN
  EXPECT_EQ(text(f(0.1) + f(0.2)), print(f(0.1f + 0.2f)));
  EXPECT_EQ(text(unary(UnaryOp::kExp, f(1))), "exp(1.0)");  // implementations differ
  EXPECT_EQ(text(unary(UnaryOp::kSqrt, f(2))), print(f(std::sqrt(2.0f))));
}

TEST_F(Simplify, DropsCastsThatKeepTheValue) {
  EXPECT_EQ(text(cast(DType::kI64, cast(DType::kI32, i))), "i");
  EXPECT_EQ(text(cast(DType::kI64, cast(DType::kI8, j * 16))), "i64(i8((j * 16)))");  // up to 240
}

TEST_F(Simplify, KeepsUndefinedDivisionsForTheOneWhoRuns) {
  EXPECT_EQ(text(floor_div(3, 0)), "floor_div(3, 0)");
}

TEST(Bounds, CoverEveryOperation) {
  Var i("i"), k("k");
  Ranges ranges{{i.id(), {2, 5}}, {k.id(), {-3, 4}}};
  auto bounds = [&](const Expr& x) { return bounds_of(x, ranges); };
  EXPECT_EQ(bounds(i + k), (Interval{-1, 9}));
  EXPECT_EQ(bounds(i - k), (Interval{-2, 8}));
  EXPECT_EQ(bounds(i * k), (Interval{-15, 20}));
  EXPECT_EQ(bounds(floor_div(k, 2)), (Interval{-2, 2}));
  EXPECT_EQ(bounds(floor_mod(k, 3)), (Interval{0, 2}));
  EXPECT_EQ(bounds(min(i, k)), (Interval{-3, 4}));
  EXPECT_EQ(bounds(unary(UnaryOp::kAbs, k)), (Interval{0, 4}));
  EXPECT_EQ(bounds(select(i < 9, i, k)), (Interval{2, 5}));
  EXPECT_EQ(bounds(i < k), (Interval{0, 1}));
  EXPECT_EQ(bounds(cast(DType::kI8, i * 100)), (Interval{-128, 127}));
  EXPECT_EQ(bounds(int_constant(DType::kI64, INT64_MAX) + i), Interval{});  // wraps around
}

TEST(SimplifyStmt, DropsLoopsOfOneIterationAndBranchesNeverTaken) {
  Tensor y("y", DType::kI64, {8});
  Stmt s = loop("i", 8, [&](Expr i) {
    return loop("j", 1, [&](Expr j) {
      return make_if(i + j < 8, make_store(y, {i + j}, i * 8 + j - i * 8), make_store(y, {0}, i));
    });
  });
  EXPECT_EQ(print(simplify(s)), "for i in 0..8 {\n  y[i] = 0\n}\n");
}

// Written as a tree, the expression has 2^60 nodes.
TEST(SimplifyShared, CostsWhatTheNodesCost) {
  Tensor x("x", DType::kF32, {});
  Expr value = x();
  for (int k = 0; k < 60; ++k) value = value * constant(DType::kF32, 1) + value;
  EXPECT_EQ(simplify(value).dtype(), DType::kF32);
}

// Random expressions of three variables, like the indices of computes and splits.
class RandomExpr {
 public:
  RandomExpr(uint32_t seed, std::vector<Var> vars) : random_(seed), vars_(std::move(vars)) {}
  Expr make(int depth) {
    if (depth == 0) return pick(3) ? Expr(vars_[pick(vars_.size())]) : Expr(number());
    Expr a = make(depth - 1 - static_cast<int>(pick(2) && depth > 1));
    Expr b = make(depth - 1 - static_cast<int>(pick(2) && depth > 1));
    switch (pick(9)) {
      case 0:
      case 1:
        return a + b;
      case 2:
        return a - b;
      case 3:
        return a * number();
      case 4:
        return floor_div(a, positive());
      case 5:
        return floor_mod(a, positive());
      case 6:
        return min(a, b);
      case 7:
        return max(a, b);
      default:
        return select(condition(a, b), a, make(depth - 1));
    }
  }

 private:
  Expr condition(const Expr& a, const Expr& b) {
    switch (pick(4)) {
      case 0:
        return a < b;
      case 1:
        return a <= b && Expr(vars_[0]) < number();
      case 2:
        return !(a == b);
      default:
        return a != b || b < a;
    }
  }
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  int64_t number() { return static_cast<int64_t>(pick(21)) - 8; }
  int64_t positive() { return std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12}[pick(7)]; }
  std::mt19937 random_;
  std::vector<Var> vars_;
};

TEST(SimplifyRandom, KeepsTheValueForAllValuesOfTheVariables) {
  Var a("a"), b("b"), c("c");
  Ranges ranges{{a.id(), {0, 7}}, {b.id(), {0, 4}}, {c.id(), {-2, 3}}};
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    Expr x = RandomExpr(seed, {a, b, c}).make(2 + static_cast<int>(seed % 3));
    Expr y = simplify(x, ranges);
    Interval bounds = bounds_of(x, ranges);
    for (int64_t i = 0; i <= 7; i += 1 + seed % 2) {
      for (int64_t j = 0; j <= 4; j += 2) {
        for (int64_t k = -2; k <= 3; k += 1 + seed % 3) {
          Bindings at{{a, i}, {b, j}, {c, k}};
          int64_t value = *evaluate(x, at);
          ASSERT_EQ(value, *evaluate(y, at))
              << "seed " << seed << " at " << i << "," << j << "," << k << "\n"
              << print(x) << "\n"
              << print(y);
          ASSERT_TRUE(bounds.lo <= value && value <= bounds.hi) << print(x);
        }
      }
    }
  }
}

// Splits a flat index as schedules do, takes its digits in one shape and writes it again from them.
class RandomDigits {
 public:
  explicit RandomDigits(uint32_t seed) : random_(seed) {
    for (size_t d = 0; d < 2 + pick(3); ++d) shape_.push_back(1 + pick(9));
    int64_t total = 1;
    for (int64_t extent : shape_) total *= extent;
    for (size_t level = 0; level < 1 + pick(3); ++level) split(total);
    add_loop(total);
  }
  Expr flat() const { return flat_; }
  const Ranges& ranges() const { return ranges_; }
  // Returns the flat index written with the digits of `flat`, each of them simplified before.
  Expr of_digits() const {
    int64_t stride = 1;
    Expr sum = 0;
    for (size_t d = shape_.size(); d-- > 0; stride *= shape_[d]) {
      Expr digit = simplify(floor_div(flat_, stride), ranges_);
      if (d > 0) digit = simplify(floor_mod(digit, shape_[d]), ranges_);
      sum = sum + digit * stride;
    }
    return sum;
  }
  // Returns values for the loops, drawn at random.
  Bindings draw() {
    Bindings out;
    for (const Var& var : loops_)
      out.emplace_back(var, static_cast<int64_t>(pick(ranges_.at(var.id()).hi + 1)));
    return out;
  }

 private:
  // Half of the factors divide the rest: then no iteration lies beyond the tensor.
  void split(int64_t& rest) {
    int64_t inner = 1 + static_cast<int64_t>(pick(64));
    while (pick(2) && rest % inner != 0) --inner;
    const int64_t outer = (rest + inner - 1) / inner;
    add_loop(outer, inner);
    rest = inner;
  }
  void add_loop(int64_t extent, int64_t scale = 1) {
    Var var("v" + std::to_string(loops_.size()));
    ranges_[var.id()] = {0, extent - 1};
    loops_.push_back(var);
    flat_ = flat_ + Expr(var) * scale;
  }
  size_t pick(int64_t n) {
    return std::uniform_int_distribution<size_t>(0, static_cast<size_t>(n) - 1)(random_);
  }
  std::mt19937 random_;
  std::vector<int64_t> shape_;
  std::vector<Var> loops_;
  Ranges ranges_;
  Expr flat_ = 0;
};

TEST(SimplifyRandom, PutsDigitsTogetherAgainHoweverTheirIndexIsSplit) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomDigits random(seed);
    const Expr digits = random.of_digits(), y = simplify(digits, random.ranges());
    EXPECT_EQ(print(y), print(simplify(random.flat(), random.ranges()))) << "seed " << seed;
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Bindings at = random.draw();
      ASSERT_EQ(*evaluate(y, at), *evaluate(random.flat(), at)) << "seed " << seed;
    }
  }
}

// Most values here exceed 8 bits, so these integers wrap around.
TEST(SimplifyRandom, KeepsTheValueWhereIntegersWrapAround) {
  for (DType dtype : {DType::kI8, DType::kU8}) {
    Var a("a", dtype), b("b", dtype);
    for (uint32_t seed = 0; seed < 200; ++seed) {
      std::mt19937 random(seed);
      auto pick = [&](int n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
      auto number = [&](int64_t n) { return int_constant(dtype, n); };
      Expr x = Expr(a) * number(pick(60) + 1) + number(pick(256)) - Expr(b) * number(pick(9));
      Expr y = pick(2) ? floor_div(x, number(pick(20) + 1)) : floor_mod(x, number(pick(20) + 1));
      if (pick(3) == 0)
        y = floor_div(y * number(pick(4) + 1) + floor_div(b, number(pick(9) + 2)),
                      number(pick(9) + 2));
      Expr z = select(x < y + number(pick(100)), min(x, y), max(y, number(pick(256))) - x);
      Expr simple = simplify(z);
      for (int64_t i = -128; i < 256; i += 37) {
        Bindings at{{a, *as_int(int_constant(dtype, i))},
                    {b, *as_int(int_constant(dtype, i * 5 + 3))}};
        ASSERT_EQ(*evaluate(z, at), *evaluate(simple, at)) << print(z) << "\n" << print(simple);
      }
    }
  }
}

}  // namespace
}  // namespace byoc::te
