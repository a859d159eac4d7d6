// SPDX-License-Identifier: Apache-2.0
// Powers and remainders of f32 and f64 against libm: exponents per element, constant exponents, and
// exponents that are one number in memory, which have short forms.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "assembly.h"
#include "plugins/llvm/constants/squares.h"
#include "run_loops.h"

namespace byoc {
namespace {

using ::testing::HasSubstr;

constexpr double kInf64 = std::numeric_limits<double>::infinity();
constexpr double kNan64 = std::numeric_limits<double>::quiet_NaN();

enum class Exponent { kPerElement, kConstant, kOneNumber };

template <class T>
constexpr DType kType = sizeof(T) == 4 ? DType::kF32 : DType::kF64;

// Returns loops for y[i] = x[i] ^ e, or of another binary op.
template <class T>
te::LoopFunction loops_of(int64_t n, Exponent form, double exponent, te::LoopKind kind,
                          te::BinaryOp op = te::BinaryOp::kPower) {
  te::Tensor x("x", kType<T>, {n}), y("y", kType<T>, {n}),
      e("e", kType<T>, {form == Exponent::kPerElement ? n : 1});
  auto body = te::loop(
      "i", n,
      [&](te::Expr i) {
        te::Expr of = form == Exponent::kConstant ? te::constant(kType<T>, exponent)
                                                  : e(form == Exponent::kPerElement ? i : 0);
        return te::make_store(y, {i}, te::binary(op, x(i), of));
      },
      kind);
  return {"power", {x, e}, {y}, body};
}

template <class T>
std::vector<T> run(const te::LoopFunction& function, const std::vector<T>& x,
                   const std::vector<T>& e) {
  return test::run_loops(function, {test::Data::of(kType<T>, x), test::Data::of(kType<T>, e)})[0]
      .template as<T>();
}

// Returns numbers of all magnitudes and signs, and special ones.
template <class T>
std::vector<T> bases() {
  std::vector<T> out = {0, static_cast<T>(-0.0), 1, -1, 2, -2, 0.5, -0.5, 3, -3};
  for (double x : {kInf64, -kInf64, kNan64}) out.push_back(static_cast<T>(x));
  out.push_back(std::numeric_limits<T>::denorm_min());
  out.push_back(-std::numeric_limits<T>::min());
  out.push_back(std::numeric_limits<T>::max());
  for (double x = 1e-30; x < 1e30; x *= 1.37) {
    out.push_back(static_cast<T>(x));
    out.push_back(static_cast<T>(-x * 1.01));
  }
  for (double x = 0.9; x < 1.1; x += 0.00073) out.push_back(static_cast<T>(x));
  return out;
}

/// Returns the error in units of the last place of the number nearest to `truth`.
template <class T>
double error_of(T got, long double truth) {
  const T near = static_cast<T>(truth);
  if (got == near) return std::signbit(got) == std::signbit(near) ? 0 : kInf64;
  if (std::isnan(got) && std::isnan(near)) return 0;
  if (!std::isfinite(got) || !std::isfinite(near)) return kInf64;
  const T size = std::fabs(near);
  const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(got - truth) / unit);
}

TEST(Power, OfF32IsThatOfLibmForExponentsPerElement) {
  std::vector<float> x, e;
  for (float base : bases<float>()) {
    for (double exponent :
         {0.0,  -0.0, 1.0,  -1.0,   2.0,        3.0,        -3.0, 0.5,    -0.5,    1.0 / 3, 2.2,
          -7.9, 40.0, 41.0, -126.0, 16777217.0, 33554432.0, 1e-9, kInf64, -kInf64, kNan64}) {
      x.push_back(base);
      e.push_back(static_cast<float>(exponent));
    }
  }
  const auto n = static_cast<int64_t>(x.size());
  for (te::LoopKind kind : {te::LoopKind::kSerial, te::LoopKind::kVectorized}) {
    auto y = run(loops_of<float>(n, Exponent::kPerElement, 0, kind), x, e);
    for (size_t k = 0; k < x.size(); ++k) {
      const double truth = std::pow(double{x[k]}, double{e[k]});
      ASSERT_LE(error_of(y[k], truth), 0.51) << x[k] << " ^ " << e[k] << " = " << y[k];
    }
  }
}

// Compares constants with libm, and one number in memory with constants.
template <class T>
void expect_short_forms(const std::vector<double>& exponents, double max_ulp) {
  const std::vector<T> x = bases<T>();
  const auto n = static_cast<int64_t>(x.size());
  for (double exponent : exponents) {
    for (te::LoopKind kind : {te::LoopKind::kSerial, te::LoopKind::kVectorized}) {
      for (Exponent form : {Exponent::kConstant, Exponent::kOneNumber}) {
        auto y = run(loops_of<T>(n, form, exponent, kind), x, {static_cast<T>(exponent)});
        for (size_t k = 0; k < x.size(); ++k) {
          const long double truth =
              std::pow(static_cast<long double>(x[k]), static_cast<long double>(exponent));
          ASSERT_LE(error_of(y[k], truth), max_ulp)
              << x[k] << " ^ " << exponent << " = " << y[k] << ", form " << static_cast<int>(form);
        }
      }
    }
  }
}

TEST(Power, OfF32HasShortFormsOfOneRounding) {
  expect_short_forms<float>({2, 3, 0.5, -0.5, -1, 0, -0.0, 1, 2.5, -2, kInf64, kNan64}, 0.51);
}

TEST(Power, OfF64HasShortFormsOfOneRounding) {
  expect_short_forms<double>({2, 0.5, -1, 3, -0.5, 0, 2.5}, 0.51);
}

TEST(Power, OfOneNumberInMemoryCallsNoFunction) {
  for (te::LoopKind kind : {te::LoopKind::kSerial, te::LoopKind::kVectorized}) {
    auto listed = llvm_plugin::list_kernel(loops_of<float>(4096, Exponent::kOneNumber, 0, kind),
                                           test::this_machine(), {});
    ASSERT_TRUE(listed.ok());
    EXPECT_EQ(listed->llvm.find("@powf"), std::string::npos);
    EXPECT_NE(listed->llvm.find("switch i32"), std::string::npos);
  }
}

TEST(Remainder, OfF32IsExact) {
  std::vector<float> x, y;
  for (float a : bases<float>()) {
    for (float b : bases<float>()) {
      if (x.size() % 3 == 0 || std::fabs(b) < 4) x.push_back(a), y.push_back(b);
      else x.push_back(a * b * 7), y.push_back(b);  // multiples, and those off by a rounding
    }
  }
  const auto n = static_cast<int64_t>(x.size());
  auto function = loops_of<float>(n, Exponent::kPerElement, 0, te::LoopKind::kVectorized,
                                  te::BinaryOp::kRemainder);
  auto rest = run(function, x, y);
  for (size_t k = 0; k < x.size(); ++k)
    ASSERT_EQ(error_of(rest[k], std::fmod(x[k], y[k])), 0) << x[k] << " % " << y[k];
}

// Kernels read exponents in each run: squares have loops of their own, with no choice per element.
TEST(Power, HasLoopsForSquaresByOneNumber) {
  const std::vector<float> x = bases<float>();
  const auto n = static_cast<int64_t>(x.size());
  const te::LoopFunction plain =
      loops_of<float>(n, Exponent::kOneNumber, 0, te::LoopKind::kVectorized);
  const te::LoopFunction both = llvm_plugin::with_squares(plain);
  ASSERT_TRUE(std::holds_alternative<te::If>(both.body->kind)) << print(both);
  EXPECT_THAT(te::print(std::get<te::If>(both.body->kind).yes), HasSubstr("pow(x[i], 2.0)"));
  for (float exponent : {2.0f, 3.0f, -2.0f, 0.5f, std::nanf("")}) {
    const std::vector<float> got = run(both, x, {exponent}), expected = run(plain, x, {exponent});
    for (size_t k = 0; k < x.size(); ++k) {
      EXPECT_EQ(std::isnan(got[k]), std::isnan(expected[k])) << x[k] << '^' << exponent;
      if (std::isnan(expected[k])) continue;
      EXPECT_EQ(got[k], exponent == 2 ? x[k] * x[k] : expected[k]) << x[k] << '^' << exponent;
    }
  }
}

TEST(Power, HasOneFormOnlyForExponentsPerElement) {
  for (Exponent form : {Exponent::kPerElement, Exponent::kConstant}) {
    const te::LoopFunction plain = loops_of<float>(8, form, 2, te::LoopKind::kVectorized);
    EXPECT_EQ(print(llvm_plugin::with_squares(plain)), print(plain));
  }
}

}  // namespace
}  // namespace byoc
