// SPDX-License-Identifier: Apache-2.0
// Arithmetic with dims: canonical forms, bounds, and values against arithmetic with numbers.
#include "byoc/ir/dim.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "byoc/base/size_expression.h"

namespace byoc {
namespace {

const Dim kB = Dim::symbol("B", 1, 4), kT = Dim::symbol("T", 1, 128), kP = Dim::symbol("P");

std::string text(Dim dim) { return cat(dim); }
Dim ok(Result<Dim> dim) {
  EXPECT_TRUE(dim.ok()) << dim.status().message();
  return dim.ok() ? *dim : Dim(0);
}

TEST(Dim, ArithmeticHasOneForm) {
  EXPECT_EQ(ok(dim_product(kB, kT)), ok(dim_product(kT, kB)));
  EXPECT_EQ(ok(dim_quotient(ok(dim_product(kT, Dim(2))), 2)), kT);
  EXPECT_EQ(ok(dim_difference(ok(dim_sum(kT, kB)), kB)), kT);
  EXPECT_EQ(ok(dim_difference(kT, kT)), Dim(0));
  EXPECT_EQ(ok(dim_product(ok(dim_sum(kB, Dim(1))), kT)), ok(dim_sum(kT, ok(dim_product(kT, kB)))));
  EXPECT_EQ(ok(dim_product(kB, Dim(0))), Dim(0));
  EXPECT_EQ(ok(dim_min(kT, Dim(512))), kT);
  EXPECT_EQ(ok(dim_max(kT, Dim(512))), Dim(512));
  EXPECT_EQ(ok(dim_min(kB, Dim(1))), Dim(1));
  // Intervals of T and T + 3 overlap; their difference is a number.
  const Dim later = ok(dim_sum(kT, Dim(3)));
  EXPECT_EQ(ok(dim_max(kT, later)), later);
  EXPECT_EQ(ok(dim_max(later, kT)), later);
  EXPECT_EQ(ok(dim_min(later, kT)), kT);
  EXPECT_EQ(ok(dim_difference(ok(dim_max(kT, later)), kT)), Dim(3));
  EXPECT_EQ(dim_exact_quotient(ok(dim_product(ok(dim_product(kB, kT)), Dim(8))), kT),
            ok(dim_product(kB, Dim(8))));
  EXPECT_EQ(dim_exact_quotient(ok(dim_sum(kB, kT)), kT), std::nullopt);
}

TEST(Dim, PrintsTextAndSizes) {
  EXPECT_EQ(text(ok(dim_product(kB, Dim(8)))), "(8*B : 1<=B<=4)");
  const Dim long_one = ok(dim_difference(ok(dim_sum(ok(dim_product(kT, kB)), kP)), Dim(1)));
  EXPECT_EQ(text(long_one), "(B*T+P-1 : 1<=B<=4, P, 1<=T<=128)");
  EXPECT_EQ(text(ok(dim_ceil_quotient(kT, 2))), "(div(T+1,2) : 1<=T<=128)");
  EXPECT_EQ(text(ok(dim_min(kT, kB))), "(min(B,T) : 1<=B<=4, 1<=T<=128)");
}

TEST(Dim, BoundsFollowFromSizes) {
  const Dim product = ok(dim_product(kB, kT));
  EXPECT_EQ(product.min(), 1);
  EXPECT_EQ(product.max(), 512);
  EXPECT_EQ(ok(dim_sum(kT, kP)).max(), Dim::kUnbounded);
  EXPECT_EQ(ok(dim_difference(kT, Dim(1))).min(), 0);
  EXPECT_FALSE(dim_difference(kB, Dim(5)).ok());
  EXPECT_EQ(dim_difference(kB, Dim(5)).status().slug(), "size-bounds");
  EXPECT_FALSE(dim_product(ok(dim_product(kT, Dim(INT64_MAX / 2))), Dim(3)).ok());
}

// A remainder is less than the divisor, also where the size has no bound.
TEST(Dim, RemaindersAreBounded) {
  const Dim half = ok(dim_quotient(kP, 2));
  const Dim rest = ok(dim_difference(kP, ok(dim_product(half, Dim(2)))));
  EXPECT_EQ(rest.min(), 0);
  EXPECT_EQ(rest.max(), 1);
  EXPECT_EQ(ok(dim_quotient(rest, 2)), Dim(0));
  const Dim quarter = ok(dim_quotient(half, 2));
  EXPECT_EQ(ok(dim_difference(half, ok(dim_product(quarter, Dim(2))))).max(), 1);
  const Dim tens = ok(dim_product(ok(dim_quotient(kP, 10)), Dim(30)));  // 3 * (P mod 10) + 5
  const Dim more = ok(dim_sum(ok(dim_difference(ok(dim_product(kP, Dim(3))), tens)), Dim(5)));
  EXPECT_EQ(more.min(), 5);
  EXPECT_EQ(more.max(), 32);
  EXPECT_EQ(ok(dim_sum(rest, ok(dim_product(half, Dim(2))))), kP);
  // The cells that fill a row of windows up: (7 - P mod 7) mod 7.
  auto modulo = [](Dim x, int64_t n) {
    return ok(dim_difference(x, ok(dim_product(ok(dim_quotient(x, n)), Dim(n)))));
  };
  const Dim fill = modulo(ok(dim_difference(Dim(7), modulo(kP, 7))), 7);
  EXPECT_EQ(fill.max(), 6);
  EXPECT_EQ(ok(dim_min(ok(dim_sum(kP, fill)), kP)), kP);
  EXPECT_EQ(ok(dim_max(kP, ok(dim_sum(kP, fill)))), ok(dim_sum(kP, fill)));
  for (int64_t p : {0, 1, 6, 7, 8, 15}) {
    const auto put = [p](Dim) { return std::optional(Dim(p)); };
    EXPECT_EQ(ok(with_sizes(fill, put)), Dim((7 - p % 7) % 7)) << p;
  }
}

TEST(Dim, SubstitutesSizes) {
  const Dim dim = ok(dim_sum(ok(dim_product(kB, kT)), Dim(3)));
  auto put = [](Symbol name, Dim value) {
    return [=](Dim size) { return size.name() == name ? std::optional(value) : std::nullopt; };
  };
  EXPECT_EQ(ok(with_sizes(ok(with_sizes(dim, put("B", 2))), put("T", 5))), Dim(13));
  EXPECT_EQ(ok(with_sizes(dim, put("B", 1))), ok(dim_sum(kT, Dim(3))));
  EXPECT_EQ(sizes_in(dim), (std::vector{kB, kT}));
  EXPECT_EQ(ok(with_sizes(dim, put("B", kT))).name().str(), "T*T+3");
}

TEST(Dim, ParsesWhatItPrints) {
  const std::vector<Dim> sizes = {kB, kT, kP};
  for (const char* text : {"B*T", "8*B", "div(T+3,4)", "max(B,T)", "B*T+P-1", "2*T*div(P,3)"}) {
    const Dim dim = ok(parse_dim_expression(text, sizes));
    EXPECT_EQ(dim.name().str(), text);
  }
  for (const char* text :
       {"", "B*", "B T", "div(B)", "div(B,0)", "div(B,T)", "(B", "\"B", "Q", "9999999999999999999"})
    EXPECT_FALSE(parse_dim_expression(text, sizes).ok()) << text;
  EXPECT_FALSE(parse_dim_expression(std::string(1000, '('), sizes).ok());
  EXPECT_EQ(ok(parse_dim_expression("\"a b\"*2", std::vector{Dim::symbol("a b")})).name().str(),
            "2*\"a b\"");
}

// Two ways of computing one text have bounds of their own on the way: at T = 1..128 those of
// (T+2)*(T+1) end at 130*129, and those of T*T+3*T+2 as well, but T*T-1 as (T+1)*(T-1) at 129*127.
TEST(Dim, EqualsWhatItsTextGives) {
  const Dim more = ok(dim_sum(kT, Dim(1))), less = ok(dim_difference(kT, Dim(1)));
  const Dim product = ok(dim_product(more, less));
  const Dim squares = ok(dim_difference(ok(dim_product(kT, kT)), Dim(1)));
  EXPECT_EQ(product, squares);
  EXPECT_EQ(product.max(), squares.max());
  EXPECT_EQ(ok(parse_dim_expression(product.name().text(), std::vector{kT})), product);
  const Dim rest = ok(dim_difference(ok(dim_product(kB, kT)), kT));  // of T*(B-1)
  EXPECT_EQ(rest, ok(dim_product(kT, ok(dim_difference(kB, Dim(1))))));
}

using Values = std::map<std::string, int64_t>;

// A dim, and the number that it is for some sizes.
struct Computed {
  Dim dim;
  int64_t number;
};

Computed step(const Computed& x, const std::vector<Dim>& sizes, const Values& values,
              std::mt19937& random) {
  const bool by_size = random() % 2 == 0;
  const Dim other = by_size ? sizes[random() % sizes.size()] : Dim(1 + random() % 7);
  const int64_t value = by_size ? values.at(other.name().str()) : other.extent();
  switch (random() % 6) {
    case 0:
      return {ok(dim_sum(x.dim, other)), x.number + value};
    case 1:
      return {ok(dim_product(x.dim, other)), x.number * value};
    case 2:
      return {ok(dim_quotient(x.dim, 3)), x.number / 3};
    case 3:
      return {ok(dim_min(x.dim, other)), std::min(x.number, value)};
    case 4:
      return {ok(dim_max(x.dim, other)), std::max(x.number, value)};
    default:
      return {ok(dim_ceil_quotient(x.dim, 4)), (x.number + 3) / 4};
  }
}

int64_t evaluated(Dim dim, const Values& values) {
  auto expression = SizeExpression::parse(dim.name().text());
  EXPECT_TRUE(expression.ok());
  std::vector<int64_t> at;
  for (const std::string& name : expression->names()) at.push_back(values.at(name));
  auto out = expression->evaluate(at);
  return out.ok() ? *out : -1;
}

TEST(Dim, RefusesExpressionsThatGrowWithoutEnd) {
  const Dim other = Dim::symbol("M");
  Result<Dim> sum = kP;
  for (int k = 0; k < 60 && sum.ok(); ++k) sum = dim_max(*sum, ok(dim_min(*sum, other)));
  EXPECT_FALSE(sum.ok());
  EXPECT_EQ(sum.status().slug(), "size-length");
  Result<Dim> product = ok(dim_sum(kP, other));
  for (int k = 0; k < 60 && product.ok(); ++k) product = dim_product(*product, *product);
  EXPECT_FALSE(product.ok());
}

// Random trees are computed as dims, then evaluated; and computed with the numbers.
TEST(Dim, EqualsArithmeticWithNumbers) {
  std::mt19937 random(7);
  const std::vector<Dim> sizes = {kB, kT, Dim::symbol("P", 1, 9)};
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const Values values = {
        {"B", 1 + random() % 4}, {"T", 1 + random() % 128}, {"P", 1 + random() % 9}};
    const Dim first = sizes[random() % 3];
    Computed x{first, values.at(first.name().str())};
    for (int k = 0; k < 6; ++k) x = step(x, sizes, values, random);
    EXPECT_LE(x.dim.min(), x.number) << cat(x.dim);
    EXPECT_GE(x.dim.max(), x.number) << cat(x.dim);
    const Dim put = ok(with_sizes(
        x.dim, [&](Dim size) { return std::optional(Dim(values.at(size.name().str()))); }));
    EXPECT_EQ(put, Dim(x.number)) << cat(x.dim);
    if (x.dim.is_static()) continue;
    EXPECT_EQ(evaluated(x.dim, values), x.number) << cat(x.dim);
    EXPECT_EQ(ok(parse_dim_expression(x.dim.name().text(), sizes)), x.dim);
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace byoc
