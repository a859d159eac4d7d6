// SPDX-License-Identifier: Apache-2.0
// Small networks that ONNX Runtime's tool has quantised, against ONNX Runtime's results
// (tests/models/quantized/stored).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "programs.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using Compilers = std::vector<std::string>;
const std::string kFolder = "models/quantized/stored";

Tensor stored(const std::string& name) {
  Result<Tensor> tensor = read_npy(cat(BYOC_TEST_DATA, "/", kFolder, "/", name, ".npy"));
  EXPECT_TRUE(tensor.ok()) << name << ": " << tensor.status().to_string();
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

/// Returns input k of a network: integers in steps of 1/32.
Tensor input(const Tensor& all, size_t k) {
  std::vector<int64_t> dims(all.spec().dims.begin() + 1, all.spec().dims.end());
  const auto count =
      static_cast<size_t>(all.size_bytes()) / static_cast<size_t>(all.spec().dims[0]);
  std::vector<float> values;
  for (size_t e = k * count; e < (k + 1) * count; ++e)
    values.push_back(static_cast<float>(std::to_integer<int8_t>(all.data()[e])) / 32);
  return tensor_f32(dims, values);
}

/// ONNX Runtime's results, without and with its optimisations, and how far it is from itself.
struct Right {
  std::vector<float> results[2];
  float step = 0, spread = 0;  // of the output; in steps, over more inputs

  /// Returns how many steps `got`, results of input k, is from the nearer of the two.
  float steps_from(const std::vector<float>& got, size_t k) const {
    float least = INFINITY;
    for (const std::vector<float>& all : results) {
      float most = 0;
      for (size_t e = 0; e < got.size(); ++e)
        most = std::max(most, std::abs(got[e] - all[k * got.size() + e]) / step);
      least = std::min(least, most);
    }
    return least;
  }
};

Right right_of(const std::string& name) {
  const std::vector<float> both = floats(stored(name)),
                           spread = floats(stored(cat(name, "_spread")));
  const auto half = both.begin() + static_cast<ptrdiff_t>(both.size() / 2);
  return {{{both.begin(), half}, {half, both.end()}}, spread[0], spread[1]};
}

class QuantisedNetworks : public ::testing::TestWithParam<std::tuple<std::string, Compilers>> {};

// A value next to a tie is rounded to another integer by sums in another order, and such steps grow
// from layer to layer: ONNX Runtime's results differ from each other by as many.
TEST_P(QuantisedNetworks, AreAsNearToOnnxRuntimeAsThatIsToItself) {
  auto plugins = built_plugins();
  const auto& [name, compilers] = GetParam();
  for (const std::string& compiler : compilers) {
    if (!plugins->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  }
  const std::string network = name.substr(0, name.find('/'));
  const Tensor inputs = stored(cat(network, "/inputs"));
  const Right right = right_of(name);
  const Executable executable =
      built_by(plugins, import(cat("quantized/stored/", name, ".onnx")), compilers, 2);
  for (int64_t k = 0; k < inputs.spec().dims[0]; ++k) {
    for (uint32_t threads : {1U, 2U}) {
      std::vector<Tensor> in;
      in.push_back(input(inputs, static_cast<size_t>(k)));
      const std::vector<Tensor> out = execute(executable, plugins, in, 1, threads);
      EXPECT_LE(right.steps_from(floats(out[0]), static_cast<size_t>(k)), right.spread + 0.01f)
          << "input " << k << ", " << threads << " threads";
    }
  }
}

// A multiply-add would round once where ONNX rounds twice.
TEST(ScaledSums, AreRoundedAfterTheProductAndAfterTheSum) {
  auto plugins = built_plugins();
  if (!plugins->find("llvm")) GTEST_SKIP() << "llvm is not built";
  const IRModule module = parse(R"(
fn main(%x: i32[4000]) {
  %scale = const(0.0123) : f32[]
  %bias = const(0.37) : f32[]
  %0 = cast(%x) {to=f32}
  %1 = multiply(%0, %scale)
  %2 = add(%1, %bias)
  return %2 })");
  Result<Tensor> x = Tensor::make({DType::kI32, {4000}});
  ASSERT_TRUE(x.ok());
  auto* integers = reinterpret_cast<int32_t*>(x->data());
  std::iota(integers, integers + 4000, -1000);
  std::vector<Tensor> in;
  in.push_back(*std::move(x));
  const std::vector<float> got =
      floats(execute(built_by(plugins, module, {"llvm"}, 2), plugins, in)[0]);
  for (size_t k = 0; k < got.size(); ++k) {
    volatile float product = (static_cast<float>(k) - 1000) * 0.0123f;
    ASSERT_EQ(got[k], product + 0.37f) << k;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& network : std::filesystem::directory_iterator(cat(BYOC_TEST_DATA, "/", kFolder)))
    for (const auto& file : std::filesystem::directory_iterator(network.path()))
      if (file.path().extension() == ".onnx")
        out.push_back(cat(network.path().filename().string(), "/", file.path().stem().string()));
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Plugins, QuantisedNetworks,
                         ::testing::Combine(::testing::ValuesIn(names()),
                                            ::testing::Values(Compilers{"json"}, Compilers{"llvm"},
                                                              Compilers{"onednn", "llvm"})),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::replace(name.begin(), name.end(), '/', '_');
                           for (const std::string& id : std::get<1>(info.param)) name += "_" + id;
                           return name;
                         });

}  // namespace
}  // namespace byoc::test
