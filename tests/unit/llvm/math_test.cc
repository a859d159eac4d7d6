// SPDX-License-Identifier: Apache-2.0
// Compares our functions of f32 with those of libm in double precision, and those of f64 with those
// in extended precision, for a dense sweep of all floats and for special values.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "byoc/te/target.h"
#include "run_loops.h"

namespace byoc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

struct TestedFunction {
  const char* name;
  te::UnaryOp op;
  double (*truth)(double);
  double max_ulp;
};
void PrintTo(const TestedFunction& function, std::ostream* os) { *os << function.name; }

te::LoopFunction loops_of(const TestedFunction& function, int64_t n, te::LoopKind kind) {
  te::Tensor x("x", DType::kF32, {n}), y("y", DType::kF32, {n});
  auto body = te::loop(
      "i", n, [&](te::Expr i) { return te::make_store(y, {i}, te::unary(function.op, x(i))); },
      kind);
  return {function.name, {x}, {y}, body};
}

/// Returns the error of `got` in units of the last place of the float nearest to `truth`.
double ulp_error(float got, double truth) {
  float near = static_cast<float>(truth);
  if (got == near || (std::isnan(got) && std::isnan(near))) return 0;
  if (!std::isfinite(got) || !std::isfinite(near)) {
    bool at_the_edge = std::fabs(truth) > 3.4028e38 && std::fabs(double{got}) > 3.4028e38;
    return at_the_edge ? 0 : 1e9;
  }
  float next = std::nextafter(std::fabs(near), kInf);
  double unit = double{next} - std::fabs(double{near});
  if (!std::isfinite(next)) unit = std::ldexp(1.0, 104);
  return std::fabs(got - truth) / unit;
}

/// Returns every 1009th float, of both signs, and more of those near 0, 1 and
/// the ends of our ranges.
std::vector<float> sweep() {
  std::vector<float> out;
  for (uint64_t bits = 0; bits < 0xff800000u; bits += 1009) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(x)) out.push_back(x);
  }
  for (float x = -10; x < 10; x += 0.00037f) out.push_back(x);
  for (float x = -110; x < 95; x += 0.0071f) out.push_back(x);
  return out;
}

class MathFunction : public ::testing::TestWithParam<TestedFunction> {};

void expect_small_errors(const TestedFunction& function, const test::RunOptions& options) {
  std::vector<float> x = sweep();
  x.resize(x.size() / 8 * 8);
  auto n = static_cast<int64_t>(x.size());
  auto loops = loops_of(function, n, te::LoopKind::kVectorized);
  auto y = test::run_loops(loops, {test::f32(x)}, options)[0].as<float>();
  double worst = 0;
  float where = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    double error = ulp_error(y[k], function.truth(x[k]));
    if (error > worst) worst = error, where = x[k];
  }
  ::testing::Test::RecordProperty("max_ulp", std::to_string(worst));
  EXPECT_LE(worst, function.max_ulp) << "at " << where;
  std::cout << function.name << ": " << worst << " ulp at " << where << "\n";
}

TEST_P(MathFunction, IsWithinItsErrorOverAllFloats) { expect_small_errors(GetParam(), {}); }

// The tables of erf leave its error below that of the exponential form.
TEST(Exponentials, ErfHasASmallerErrorWithTables) {
  if (!te::parse_target("native")->has("avx512vl")) GTEST_SKIP() << "no AVX-512";
  expect_small_errors({"erf", te::UnaryOp::kErf, std::erf, 1.3}, {});
}

TEST(Exponentials, IsWithinItsErrorWithoutTables) {
  for (const TestedFunction& function :
       {TestedFunction{"exp", te::UnaryOp::kExp, std::exp, 1.0},
        TestedFunction{"erf", te::UnaryOp::kErf, std::erf, 2.0},
        TestedFunction{"tanh", te::UnaryOp::kTanh, std::tanh, 2.0}})
    expect_small_errors(function, {1, 0, {"avx512vl"}});
}

TEST(Exponentials, GivesEqualResultsInVectorsOfAnyLength) {
  for (auto [function, from, step] :
       {std::tuple(TestedFunction{"exp", te::UnaryOp::kExp, std::exp, 1.0}, -103.0f, 7.3f),
        std::tuple(TestedFunction{"erf", te::UnaryOp::kErf, std::erf, 2.0}, -4.2f, 0.31f)}) {
    for (int64_t n : {1, 2, 3, 4, 7, 8, 12, 16, 24, 32}) {
      SCOPED_TRACE(cat(function.name, " of ", n));
      std::vector<float> x(static_cast<size_t>(n));
      for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k) * step + from;
      auto scalar = test::run_f32(loops_of(function, n, te::LoopKind::kSerial), x);
      EXPECT_EQ(test::run_f32(loops_of(function, n, te::LoopKind::kVectorized), x), scalar);
      for (size_t k = 0; k < x.size(); ++k)
        EXPECT_LE(ulp_error(scalar[k], function.truth(x[k])), function.max_ulp) << x[k];
    }
  }
}

TEST_P(MathFunction, GivesEqualResultsInScalarsAndVectors) {
  std::vector<float> x = {-kInf,  -100, -3.5f, -0.9f, -0.f,  0,    1e-40f, 0.3f,
                          0.625f, 0.9f, 1,     4,     88.8f, kInf, kNan,   7};
  auto scalar = test::run_f32(loops_of(GetParam(), 16, te::LoopKind::kSerial), x);
  auto vector = test::run_f32(loops_of(GetParam(), 16, te::LoopKind::kVectorized), x);
  for (size_t k = 0; k < x.size(); ++k) {
    float truth = static_cast<float>(GetParam().truth(x[k]));
    EXPECT_TRUE(scalar[k] == vector[k] || std::isnan(scalar[k])) << x[k];
    EXPECT_EQ(std::isnan(scalar[k]), std::isnan(truth)) << x[k];
    EXPECT_EQ(std::isinf(scalar[k]), std::isinf(truth)) << x[k];
    EXPECT_TRUE(truth != 0 || std::signbit(scalar[k]) == std::signbit(truth)) << x[k];
  }
}

// Functions computed in f64 have half a unit, except for angles above 1e6, which are libm's.
INSTANTIATE_TEST_SUITE_P(
    OfF32, MathFunction,
    ::testing::Values(TestedFunction{"exp", te::UnaryOp::kExp, std::exp, 1.0},
                      TestedFunction{"log", te::UnaryOp::kLog, std::log, 1.0},
                      TestedFunction{"erf", te::UnaryOp::kErf, std::erf, 2.0},
                      TestedFunction{"tanh", te::UnaryOp::kTanh, std::tanh, 2.0},
                      TestedFunction{"sin", te::UnaryOp::kSin, std::sin, 0.6},
                      TestedFunction{"cos", te::UnaryOp::kCos, std::cos, 0.6},
                      TestedFunction{"tan", te::UnaryOp::kTan, std::tan, 1.1},
                      TestedFunction{"asin", te::UnaryOp::kAsin, std::asin, 0.51},
                      TestedFunction{"acos", te::UnaryOp::kAcos, std::acos, 0.51},
                      TestedFunction{"atan", te::UnaryOp::kAtan, std::atan, 0.51},
                      TestedFunction{"sinh", te::UnaryOp::kSinh, std::sinh, 0.51},
                      TestedFunction{"cosh", te::UnaryOp::kCosh, std::cosh, 0.51},
                      TestedFunction{"asinh", te::UnaryOp::kAsinh, std::asinh, 0.51},
                      TestedFunction{"acosh", te::UnaryOp::kAcosh, std::acosh, 0.51},
                      TestedFunction{"atanh", te::UnaryOp::kAtanh, std::atanh, 0.51}),
    [](const auto& info) { return info.param.name; });

// Returns 1 / (1 + e^-x) and x (1 / (1 + e^-x)) of all x.
te::LoopFunction sigmoids(int64_t n, te::LoopKind kind) {
  te::Tensor x("x", DType::kF32, {n}), y("y", DType::kF32, {n}), z("z", DType::kF32, {n});
  auto one = te::constant(DType::kF32, 1);
  auto body = te::loop(
      "i", n,
      [&](te::Expr i) {
        auto sigmoid = one / (one + te::unary(te::UnaryOp::kExp, -x(i)));
        return te::make_block(
            {te::make_store(y, {i}, sigmoid), te::make_store(z, {i}, x(i) * sigmoid)});
      },
      kind);
  return {"sigmoids", {x}, {y, z}, body};
}

// The exponential has an error of one unit, which may be two of a result with a larger fraction;
// the sum and the quotient add half a unit each.
TEST(Sigmoids, AreAsExactAsTheirExponentials) {
  constexpr double kMost = 3;
  std::vector<float> x = {0.0f, -0.0f, kNan, kInf, -kInf, 88,    89,
                          104,  1e30f, -88,  -89,  -104,  -1e30f};
  for (float at = -80; at < 80; at += 0.0173f) x.push_back(at);
  x.resize(x.size() / 16 * 16);
  const auto n = static_cast<int64_t>(x.size());
  auto vectors = test::run_loops(sigmoids(n, te::LoopKind::kVectorized), {test::f32(x)});
  auto scalars = test::run_loops(sigmoids(n, te::LoopKind::kSerial), {test::f32(x)});
  const auto y = vectors[0].as<float>(), z = vectors[1].as<float>();
  const auto y1 = scalars[0].as<float>(), z1 = scalars[1].as<float>();
  for (size_t k = 0; k < x.size(); ++k) {
    const double divisor = 1 + std::exp(-double{x[k]});
    EXPECT_TRUE(z[k] == z1[k] || std::isnan(z[k])) << x[k];
    EXPECT_TRUE(y[k] == y1[k] || std::isnan(y[k])) << x[k];
    if (x[k] < -87) continue;  // e^-x is infinite in f32, or 1 / e^-x subnormal
    EXPECT_LE(ulp_error(y[k], 1 / divisor), kMost) << x[k];
    EXPECT_LE(ulp_error(z[k], x[k] / divisor), kMost) << x[k];
  }
  EXPECT_TRUE(std::isnan(z[2]) && std::isnan(y[2]) && std::isnan(z[4]));
  EXPECT_EQ(z[3], kInf);
  EXPECT_EQ(z[12], 0);
}

struct WideFunction {
  const char* name;
  te::UnaryOp op;
  long double (*truth)(long double);
  double max_ulp;
};
void PrintTo(const WideFunction& function, std::ostream* os) { *os << function.name; }

class MathOfF64 : public ::testing::TestWithParam<WideFunction> {
 protected:
  static std::vector<double> run(const std::vector<double>& x, te::LoopKind kind) {
    const auto n = static_cast<int64_t>(x.size());
    te::Tensor in("x", DType::kF64, {n}), out("y", DType::kF64, {n});
    auto body = te::loop(
        "i", n,
        [&](te::Expr i) { return te::make_store(out, {i}, te::unary(GetParam().op, in(i))); },
        kind);
    return test::run_loops({"f", {in}, {out}, body}, {test::Data::of(DType::kF64, x)})[0]
        .as<double>();
  }
};

TEST_P(MathOfF64, IsWithinItsError) {
  std::vector<double> x;
  for (uint64_t high = 0; high < 0xfff00000; high += 30011)  // of each exponent, both signs
    x.push_back(std::bit_cast<double>(high << 32 | (high * 2654435761u)));
  for (double v = -30; v < 30; v += 0.00071) x.push_back(v);
  for (double v = -760; v < 760; v += 0.0137) x.push_back(v);
  for (double v = 0.5; v < 2; v += 0.0000173) x.push_back(v);
  std::erase_if(x, [](double v) { return std::isnan(v); });
  const std::vector<double> y = run(x, te::LoopKind::kVectorized);
  double worst = 0, where = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const long double truth = GetParam().truth(x[k]);
    const auto near = static_cast<double>(truth);
    if (y[k] == near || (std::isnan(y[k]) && std::isnan(near))) continue;
    const double size = std::fabs(near), unit = std::nextafter(size, HUGE_VAL) - size;
    const auto error = static_cast<double>(std::fabs(y[k] - truth) / unit);
    if (!(error <= worst)) worst = error, where = x[k];
  }
  EXPECT_LE(worst, GetParam().max_ulp) << "at " << where;
  std::cout << GetParam().name << ": " << worst << " ulp at " << where << "\n";
}

TEST_P(MathOfF64, GivesEqualResultsInScalarsAndVectors) {
  const std::vector<double> x = {-HUGE_VAL, -800, -3.5, -0.9,  -0.0, 0,        1e-310, 0.3,
                                 0.625,     0.9,  1,    709.5, 7,    HUGE_VAL, NAN,    -1e-320};
  const auto scalar = run(x, te::LoopKind::kSerial), vector = run(x, te::LoopKind::kVectorized);
  for (size_t k = 0; k < x.size(); ++k) {
    const auto truth = static_cast<double>(GetParam().truth(x[k]));
    EXPECT_TRUE(scalar[k] == vector[k] || std::isnan(scalar[k])) << x[k];
    EXPECT_EQ(std::isnan(scalar[k]), std::isnan(truth)) << x[k];
    EXPECT_EQ(std::isinf(scalar[k]), std::isinf(truth)) << x[k];
    EXPECT_TRUE(truth != 0 || std::signbit(scalar[k]) == std::signbit(truth)) << x[k];
  }
}

INSTANTIATE_TEST_SUITE_P(OfF64, MathOfF64,
                         ::testing::Values(WideFunction{"exp", te::UnaryOp::kExp, std::exp, 1.0},
                                           WideFunction{"log", te::UnaryOp::kLog, std::log, 1.0},
                                           WideFunction{"tanh", te::UnaryOp::kTanh, std::tanh,
                                                        3.0}),
                         [](const auto& info) { return info.param.name; });

TEST(Libm, ServesTheOtherFunctionsAndOtherTypes) {
  te::Tensor x("x", DType::kF64, {3}), y("y", DType::kF64, {3}), z("z", DType::kF32, {9});
  te::Tensor w("w", DType::kF32, {9});
  auto body =
      te::make_block({te::loop("i", 3,
                               [&](te::Expr i) {
                                 return te::make_store(y, {i}, te::unary(te::UnaryOp::kErf, x(i)));
                               }),
                      te::loop(
                          "i", 9,
                          [&](te::Expr i) {
                            return te::make_store(
                                w, {i},
                                te::binary(te::BinaryOp::kPower, te::unary(te::UnaryOp::kSin, z(i)),
                                           te::constant(DType::kF32, 2.5)));
                          },
                          te::LoopKind::kVectorized)});
  std::vector<double> in = {0, 1, -2};
  std::vector<float> angles = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f};
  auto out = test::run_loops({"f", {x, z}, {y, w}, body},
                             {test::Data::of(DType::kF64, in), test::f32(angles)});
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(out[0].as<double>()[k], std::erf(in[k]));
  for (size_t k = 0; k < 9; ++k)
    EXPECT_NEAR(out[1].as<float>()[k], std::pow(std::sin(double{angles[k]}), 2.5), 1e-6);
}

}  // namespace
}  // namespace byoc
