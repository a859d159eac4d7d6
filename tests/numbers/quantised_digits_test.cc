// SPDX-License-Identifier: Apache-2.0
// The digits CNN in 8 bits, against what ONNX Runtime computes with it (tests/models/digits).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "programs.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

constexpr int64_t kImages = 260, kClasses = 10;

Tensor stored_digits(const std::string& name) {
  Result<Tensor> tensor = read_npy(cat(BYOC_TEST_DATA, "/models/digits/", name));
  EXPECT_TRUE(tensor.ok()) << tensor.status().to_string();
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

using Compilers = std::vector<std::string>;
class QuantisedDigits : public ::testing::TestWithParam<std::tuple<std::string, Compilers>> {};

// A sum beside a tie is rounded to the other integer by a sum in another order, and then a logit
// may be a step off: a twentieth here, and a probability by at most a quarter of that.
TEST_P(QuantisedDigits, GivesTheOutputsOfOnnxRuntime) {
  auto plugins = built_plugins();
  const auto& [model, compilers] = GetParam();
  for (const std::string& compiler : compilers) {
    if (!plugins->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  }
  std::vector<float> images = floats(stored_digits("images.npy"));
  images.resize(kImages * 64);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({kImages, 1, 8, 8}, images));
  IRModule module = import(cat("digits/model_", model, ".onnx"), {{"N", {kImages}}});
  std::vector<Tensor> outputs = execute(built_by(plugins, module, compilers, 2), plugins, inputs);
  const std::vector<float> got = floats(outputs[0]),
                           right = floats(stored_digits(cat("outputs_", model, ".npy")));
  ASSERT_EQ(got.size(), right.size());
  size_t apart = 0;
  for (size_t k = 0; k < right.size(); ++k) {
    ASSERT_NEAR(got[k], right[k], 0.0125) << "element " << k;
    apart += std::abs(got[k] - right[k]) > 1e-6f;
  }
  EXPECT_LE(apart, right.size() / 100);
  for (size_t row = 0; row < right.size(); row += kClasses) {
    auto top = [&](const std::vector<float>& x) {
      auto first = x.begin() + static_cast<ptrdiff_t>(row);
      return std::max_element(first, first + kClasses) - first;
    };
    EXPECT_EQ(top(got), top(right)) << "image " << row / kClasses;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, QuantisedDigits,
                         ::testing::Combine(::testing::Values("int8", "dynamic"),
                                            ::testing::Values(Compilers{"json"}, Compilers{"llvm"},
                                                              Compilers{"onednn", "json"},
                                                              Compilers{"onednn", "llvm"})),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           for (const std::string& id : std::get<1>(info.param)) name += id;
                           return name;
                         });

}  // namespace
}  // namespace byoc::test
