// SPDX-License-Identifier: Apache-2.0
// Functions whose post-ops in onednn need care, against their definitions in double: sigmoid keeps
// NaN, elu is right near 0, mish keeps its digits below 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "programs.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;

const std::vector<float> kValues = {-30.0f, -8.0f,   -1.0f, -0.1f, -0.05f, -1e-3f, -1e-6f, 0.0f,
                                    1e-6f,  0.0625f, 0.5f,  1.0f,  3.0f,   8.0f,   30.0f};

/// Runs op(x * 1), x a column: the product leaves the values unchanged.
class OnednnChains : public testing::Test {
 protected:
  std::vector<float> after_a_product(const std::string& op, const std::vector<float>& values) {
    const auto rows = static_cast<int64_t>(values.size());
    IRModule module = parse(cat("fn main(%x: f32[", rows, ",1], %v: f32[1,1]) { %0 = matmul(%x, ",
                                "%v)  %1 = ", op, "(%0)  return %1 }"));
    EXPECT_THAT(formed_by_onednn(plugins_, module).composites, ElementsAre("onednn.matmul"));
    Executable onednn = built_by(plugins_, module, {"onednn"}, 2);
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({rows, 1}, values));
    inputs.push_back(tensor_f32({1, 1}, {1.0f}));
    return floats(execute(onednn, plugins_, inputs)[0]);
  }
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

// The definition is (1 + tanh(x / 2)) / 2: a few units in the last place of 1.
TEST_F(OnednnChains, SigmoidIsAsExactAsOneIsAndKeepsNaN) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values = kValues;
  values.insert(values.begin() + 3, kNaN);
  std::vector<float> results = after_a_product("sigmoid", values);
  for (size_t k = 0; k < values.size(); ++k) {
    if (std::isnan(values[k])) {
      EXPECT_TRUE(std::isnan(results[k])) << results[k];
    } else {
      EXPECT_NEAR(results[k], 1 / (1 + std::exp(-static_cast<double>(values[k]))), 4 * 0x1p-23)
          << values[k];
    }
  }
}

// Above -1/16 a series is exact. Below, e^x - 1 loses 2^-24 of 1 at least by subtracting, of a
// result of 0.06 at most, so 1e-6 of it, and as much for an e^x that is a few units off.
TEST_F(OnednnChains, EluIsRelativelyExactNearZero) {
  std::vector<float> results = after_a_product("elu", kValues);
  for (size_t k = 0; k < kValues.size(); ++k) {
    const double x = kValues[k], right = x > 0 ? x : std::expm1(x);
    EXPECT_NEAR(results[k], right, 4e-6 * std::abs(right)) << x;
  }
}

// The quotient's error is a few units in the last place of 1, and it is multiplied by x.
TEST_F(OnednnChains, MishIsAsExactAsOneIs) {
  std::vector<float> results = after_a_product("mish", kValues);
  for (size_t k = 0; k < kValues.size(); ++k) {
    const double x = kValues[k], right = x * std::tanh(std::log1p(std::exp(x)));
    EXPECT_NEAR(results[k], right, 8 * 0x1p-23 * std::abs(x)) << x;
  }
}

}  // namespace
}  // namespace byoc::test
