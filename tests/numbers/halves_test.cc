// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of f16 and bf16 by llvm: sums in f32, rounded once. Operands are small
// whole numbers, so that sums are known exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "programs.h"

namespace byoc::test {
namespace {

// Returns the nearest number with so many bits, halves to even.
double rounded(double value, int bits) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, bits - exponent)), exponent - bits);
}

std::vector<float> whole_numbers(int64_t count, int modulus) {
  std::vector<float> out;
  for (int64_t k = 0; k < count; ++k)
    out.push_back(static_cast<float>((k * 37 + k / 11) % modulus - modulus / 2));
  return out;
}

std::string floats_of(const std::vector<float>& values) {
  std::string out;
  for (float value : values) out += (out.empty() ? "" : ",") + std::to_string(value);
  return out;
}

struct HalfCase {
  std::string name, type;
  int bits;  // of its numbers
};
class Halves : public ::testing::TestWithParam<HalfCase> {
 protected:
  void SetUp() override {
    if (!plugins_->find("llvm")) GTEST_SKIP() << "llvm is not built";
  }
  std::vector<float> run(const std::string& text, const std::vector<int64_t>& dims,
                         const std::vector<float>& x) const {
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32(dims, x));
    return floats(execute(built_by(plugins_, parse(text), {"llvm"}, 2), plugins_, inputs)[0]);
  }
  // One step of the type: Winograd's tiles may round a tie to the other side.
  void expect_near(double got, double right) const {
    EXPECT_NEAR(got, rounded(right, GetParam().bits),
                std::ldexp(std::max(std::fabs(right), 1.0), 1 - GetParam().bits));
  }
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

TEST_P(Halves, OfAConvolutionAreSumsRoundedOnce) {
  constexpr int64_t c = 16, o = 32, h = 9;
  const std::string type = GetParam().type;
  for (int64_t taps : {1, 3}) {
    const std::vector<float> x = whole_numbers(c * h * h, 15),
                             w = whole_numbers(o * c * taps * taps, 13);
    const std::vector<float> y = run(
        cat("fn main(%x: f32[1,", c, ",", h, ",", h, "]) {\n  %w = const([", floats_of(w),
            "]) : ", type, "[", o, ",", c, ",", taps, ",", taps, "]\n  %0 = cast(%x) {to=", type,
            "}\n  %1 = conv2d(%0, %w)\n  %2 = cast(%1) {to=f32}\n  return %2 }\n"),
        {1, c, h, h}, x);
    const int64_t out = h + 1 - taps;
    ASSERT_EQ(y.size(), static_cast<size_t>(o * out * out));
    for (int64_t k = 0; k < o * out * out; ++k) {
      const int64_t row = k / out % out, column = k % out;
      double sum = 0;
      for (int64_t t = 0; t < c * taps * taps; ++t) {
        const int64_t at = (t / taps / taps * h + row + t / taps % taps) * h + column + t % taps;
        sum += static_cast<double>(x[static_cast<size_t>(at)]) *
               w[static_cast<size_t>(k / out / out * c * taps * taps + t)];
      }
      expect_near(y[static_cast<size_t>(k)], sum);
    }
  }
}

TEST_P(Halves, OfAProductOfManyAndFewRowsAreSumsRoundedOnce) {
  constexpr int64_t n = 48, terms = 70;
  const std::string type = GetParam().type;
  for (int64_t rows : {1, 9}) {
    const std::vector<float> a = whole_numbers(rows * terms, 15), b = whole_numbers(terms * n, 13);
    const std::vector<float> y =
        run(cat("fn main(%a: f32[", rows, ",", terms, "]) {\n  %b = const([", floats_of(b),
                "]) : ", type, "[", terms, ",", n, "]\n  %0 = cast(%a) {to=", type,
                "}\n  %1 = matmul(%0, %b)\n  %2 = cast(%1) {to=f32}\n  return %2 }\n"),
            {rows, terms}, a);
    ASSERT_EQ(y.size(), static_cast<size_t>(rows * n));
    for (int64_t k = 0; k < rows * n; ++k) {
      double sum = 0;
      for (int64_t t = 0; t < terms; ++t)
        sum += static_cast<double>(a[static_cast<size_t>(k / n * terms + t)]) *
               b[static_cast<size_t>(t * n + k % n)];
      expect_near(y[static_cast<size_t>(k)], sum);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Halves,
                         ::testing::Values(HalfCase{"f16", "f16", 11}, HalfCase{"bf16", "bf16", 8}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace byoc::test
