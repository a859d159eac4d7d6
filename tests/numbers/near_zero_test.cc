// SPDX-License-Identifier: Apache-2.0
// Functions where their results are near zero, by each plugin, against the C++ library's long
// double. The bound is in units in the last place of the result, so a result that is small must be
// as exact as a large one.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "programs.h"

namespace byoc::test {
namespace {

using Real = long double;

struct FunctionNearZero {
  const char* name;
  const char* text;  // an op on x
  Real (*f)(Real x);
  double ulps;            // units of error in the result, in f32
  double of_operand = 0;  // an addition to the error, times |x|: where the definition subtracts
};

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::log1p(std::exp(x)); }
Real expm1_below_zero(Real x) { return x < 0 ? std::expm1(x) : x; }

/// The tolerance is a unit in the last place of 1, of which gelu's definition loses up to a few: x
/// (1 + erf(x/√2)) is a difference of nearly equal numbers far below 0. ONNX defines it so, and
/// numpy in f32 computes it so.
constexpr double kUnit = FLT_EPSILON;

// A few operations in f32 lose four units. elu and mish: e^x - 1 below -1/16 and a quotient above
// -1 lose up to four bits in onednn.
const FunctionNearZero kFunctions[] = {
    {"log", "log(x)", [](Real x) { return std::log(x); }, 4},
    {"exp", "exp(x)", [](Real x) { return std::exp(x); }, 8},
    {"tanh", "tanh(x)", [](Real x) { return std::tanh(x); }, 4},
    {"erf", "erf(x)", [](Real x) { return std::erf(x); }, 4},
    {"sin", "sin(x)", [](Real x) { return std::sin(x); }, 4},
    {"cos", "cos(x)", [](Real x) { return std::cos(x); }, 4},
    {"tan", "tan(x)", [](Real x) { return std::tan(x); }, 4},
    {"sinh", "sinh(x)", [](Real x) { return std::sinh(x); }, 4},
    {"asinh", "asinh(x)", [](Real x) { return std::asinh(x); }, 4},
    {"atan", "atan(x)", [](Real x) { return std::atan(x); }, 4},
    {"asin", "asin(x)", [](Real x) { return std::asin(x); }, 4},
    {"atanh", "atanh(x)", [](Real x) { return std::atanh(x); }, 4},
    {"acosh", "acosh(x)", [](Real x) { return std::acosh(x); }, 4},
    {"elu", "elu(x)", expm1_below_zero, 16},
    {"celu", "celu(x)", expm1_below_zero, 4},
    {"softplus", "softplus(x)", softplus, 4},
    {"sigmoid", "sigmoid(x)", sigmoid, 4},
    {"swish", "swish(x)", [](Real x) { return x * sigmoid(x); }, 4},
    {"mish", "mish(x)", [](Real x) { return x * std::tanh(softplus(x)); }, 16},
    {"gelu", "gelu(x)", [](Real x) { return x / 2 * std::erfc(-x / std::sqrt(Real(2))); }, 8,
     2 * kUnit},
    {"gelu_tanh", "gelu(x) {approximate=\"tanh\"}",
     [](Real x) {
       return x * sigmoid(2 * std::sqrt(2 / std::acos(Real(-1))) * (x + 0.044715L * x * x * x));
     },
     8, 2 * kUnit},
    {"power_of_one_and_a_half", "power(x, %c)", [](Real x) { return std::pow(x, Real(1.5)); }, 4},
    {"sqrt", "sqrt(x)", [](Real x) { return std::sqrt(x); }, 1},
    {"reciprocal", "reciprocal(x)", [](Real x) { return 1 / x; }, 1},
};

/// Returns operands on both sides of 0 and of 1 from a distance of 1e-7 on, on both sides of
/// multiples of pi, and in the tails.
std::vector<float> operands() {
  std::vector<float> out = {0.0f, 1.0f};
  for (double distance = 1e-7; distance < 0.9; distance *= 1.19) {
    out.push_back(static_cast<float>(1 + distance));
    out.push_back(static_cast<float>(1 - distance));
  }
  for (double x = 1e-30; x < 100; x *= 1.37) {
    out.push_back(static_cast<float>(x));
    out.push_back(static_cast<float>(-x));
  }
  for (int k = -4; k <= 4; ++k) {
    for (double off : {0.0, 1e-6, -1e-3, 0.1}) out.push_back(static_cast<float>(k * M_PI + off));
  }
  for (double x = -86; x < 86; x += 0.37) out.push_back(static_cast<float>(x));
  return out;
}

class NearZero : public ::testing::TestWithParam<FunctionNearZero> {
 protected:
  std::vector<float> computed_by(const std::string& plugin, const std::vector<float>& x) {
    std::string text = GetParam().text;
    text.replace(text.find('x', text.find('(')), 1, "%x");
    Executable executable =
        built_by(plugins_,
                 parse(cat("fn main(%x: f32[", x.size(),
                           "]) { %c = const([1.5]) : f32[] %0 = ", text, " return %0 }")),
                 {plugin, "json"}, 2);
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({static_cast<int64_t>(x.size())}, x));
    return floats(execute(executable, plugins_, inputs)[0]);
  }

  void compare(const std::vector<float>& x, const std::vector<float>& y) {
    for (size_t k = 0; k < x.size(); ++k) {
      const Real right = GetParam().f(x[k]);
      if (!std::isfinite(static_cast<float>(right))) continue;  // special_values_test.cc
      // Below FLT_MIN digits are lost by definition, and so are those of a product with x.
      const Real ulp = std::max(std::abs(right), Real(FLT_MIN)) * Real(FLT_EPSILON);
      const Real allowed = GetParam().ulps * ulp + GetParam().of_operand * std::abs(Real(x[k])) +
                           Real(FLT_MIN) * std::max(Real(1), std::abs(Real(x[k])));
      EXPECT_LE(std::abs(y[k] - right), allowed)
          << "at " << x[k] << ": " << y[k] << " instead of " << static_cast<float>(right) << ", "
          << static_cast<double>(std::abs(y[k] - right) / ulp) << " units";
      if (HasFailure()) return;
    }
  }
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

TEST_P(NearZero, IsAsExactAsElsewhere) {
  const std::vector<float> x = operands();
  for (const char* plugin : {"onednn", "llvm", "json"}) {
    if (plugins_->find(plugin) == nullptr) continue;  // built where LLVM is installed
    SCOPED_TRACE(plugin);
    compare(x, computed_by(plugin, x));
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, NearZero, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

// log_softmax is x_i - m - ln sum e^(x_j - m). Where one x is far above the others its result is
// near 0, and as exact as the sum of small numbers that it is: each plugin loses a unit of 1 there.
TEST(NearZero, LogSoftmaxIsAsExactAsOneIs) {
  const std::vector<float> rows = {0, -3, -9, 0, -20, -30, 5, 5, 5, 1e-3f, 0, -1e-3f, 0, -1, 40};
  auto plugins = built_plugins();
  for (const char* plugin : {"onednn", "llvm", "json"}) {
    if (plugins->find(plugin) == nullptr) continue;
    SCOPED_TRACE(plugin);
    Executable executable = built_by(
        plugins, parse("fn main(%x: f32[5,3]) { %0 = log_softmax(%x) {axis=1} return %0 }"),
        {plugin, "json"}, 2);
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({5, 3}, rows));
    std::vector<float> got = floats(execute(executable, plugins, inputs)[0]);
    for (size_t k = 0; k < got.size(); ++k) {
      const float* row = &rows[k / 3 * 3];
      Real top = std::max({row[0], row[1], row[2]}), sum = 0;
      for (int j = 0; j < 3; ++j) sum += std::exp(row[j] - top);
      const Real right = rows[k] - top - std::log(sum);
      EXPECT_NEAR(got[k], static_cast<double>(right),
                  4 * FLT_EPSILON * std::max(1.0, std::abs(static_cast<double>(right))))
          << "element " << k;
    }
  }
}

}  // namespace
}  // namespace byoc::test
