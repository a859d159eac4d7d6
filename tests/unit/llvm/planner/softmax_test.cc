// SPDX-License-Identifier: Apache-2.0
// Softmax and layer_norm with the default schedule: each row is read from memory once and summed in
// the lanes of vectors. Results are compared with the definitions, which are computed here in f64.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "plugins/llvm/lower.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

te::LoopFunction loops_of(const std::string& op, int64_t rows, int64_t n) {
  const std::string graph = cat(
      R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f","types":[{"dtype":"f32","shape":[)",
      rows, ",", n, R"(]}],"inputs":[{"name":"x","type":0}],"constants":[],"nodes":[{"op":")", op,
      R"(","version":1,"args":[["i",0]],"types":[0],"attrs":{"axis":-1}}],"outputs":[["n",0,0]],"functions":[]})");
  auto loops = llvm_plugin::loops_of_graph(graph, llvm_plugin::host_target());
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  return *std::move(loops);
}

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++out;
  return out;
}

TEST(SoftmaxRows, AreReadOnceAndSummedInLanes) {
  for (std::string op : {"softmax", "log_softmax", "layer_norm", "rms_norm"}) {
    const std::string text = te::print(loops_of(op, 2048, 384));  // 3 MB
    EXPECT_EQ(count(text, "\n  for "), 1u) << text;
    // All loops along a row are vectorized.
    EXPECT_GE(count(text, "vectorized i1"), 1u) << text;
    EXPECT_EQ(count(text, " for i1"), count(text, " for i1.o")) << text;
    EXPECT_GE(count(text, "vectorized r0.i in 0..32 {"), 1u) << text;
    EXPECT_EQ(count(text, "for r0.i in 0..32 {"), 0u) << text;
  }
}

// A maximum in one lane after the other would wait for each of them.
TEST(SoftmaxRows, ReduceTheirLanesAsATree) {
  const std::string text = te::print(loops_of("softmax", 2048, 384));
  EXPECT_EQ(count(text, "f32[1, 1, 2]"), 2u) << "of the maximum and of the sum\n" << text;
}

// The mean, the variance, the result: the second cache holds the rows in between.
TEST(NormalisedRows, InTheSecondCacheAreReducedOneStageAfterTheOther) {
  const std::string text = te::print(loops_of("layer_norm", 16, 768));
  EXPECT_EQ(count(text, "\n  for "), 3u) << text;
  EXPECT_EQ(count(text, "f32[1, 1, 64]"), 2u) << "long rows have more sums\n" << text;
}

using Row = std::vector<double>;

Row softmax(const Row& x) {
  double top = x[0], sum = 0;
  for (double value : x) top = value > top || std::isnan(value) ? value : top;
  Row out;
  for (double value : x) sum += std::exp(value - top);
  for (double value : x) out.push_back(std::exp(value - top) / sum);
  return out;
}

Row layer_norm(const Row& x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (double value : x) mean += value / n;
  for (double value : x) variance += (value - mean) * (value - mean) / n;
  Row out;
  for (double value : x) out.push_back((value - mean) / std::sqrt(variance + 1e-5));
  return out;
}

void expect_rows(const std::string& op, Row (*definition)(const Row&), const std::vector<float>& x,
                 int64_t n, double tolerance) {
  const auto rows = static_cast<int64_t>(x.size()) / n;
  const std::vector<float> y =
      test::run_loops(loops_of(op, rows, n), {test::f32(x)})[0].as<float>();
  for (int64_t r = 0; r < rows; ++r) {
    const Row expected = definition(Row(x.begin() + r * n, x.begin() + (r + 1) * n));
    for (int64_t k = 0; k < n; ++k) {
      const double got = y[static_cast<size_t>(r * n + k)],
                   right = expected[static_cast<size_t>(k)];
      if (std::isnan(right)) ASSERT_TRUE(std::isnan(got)) << op << " row " << r << " at " << k;
      else ASSERT_NEAR(got, right, tolerance) << op << " row " << r << " at " << k << " of " << n;
    }
  }
}

constexpr int64_t kLengths[] = {2, 5, 16, 63, 64, 259, 1003};  // with remainders of all kinds

std::vector<float> normal(int64_t n, float middle, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values;
  std::vector<float> out;
  for (int64_t k = 0; k < n; ++k) out.push_back(middle + scale * values(random));
  return out;
}

TEST(SoftmaxRows, OfSoftmaxKeepInfinitiesNansAndLargeNumbers) {
  for (int64_t n : kLengths) {
    std::vector<float> x = normal(9 * n, 0, 3, 1);
    auto row = [&](int64_t r) { return std::span(x).subspan(static_cast<size_t>(r * n)); };
    auto size = static_cast<size_t>(n);
    for (size_t k = 1; k < size; ++k) row(1)[k] = -kInf;     // one element is not masked
    for (size_t k = 0; k < size; k += 2) row(2)[k] = -kInf;  // every other element
    for (size_t k = 0; k < size; ++k) row(3)[k] = -kInf;     // all masked: NaN
    row(4)[size - 1] = kNan;                                 // NaN
    row(5)[size / 2] = kInf;                                 // NaN
    for (size_t k = 0; k < size; ++k) row(6)[k] = k % 2 ? 3e38f : -3e38f;
    for (size_t k = 0; k < size; ++k) row(7)[k] = 1e4f;
    for (size_t k = 0; k < size; ++k) row(8)[k] = -88 - static_cast<float>(k);
    expect_rows("softmax", softmax, x, n, 3e-7);
  }
}

TEST(SoftmaxRows, KeepANanOfAnyLane) {
  constexpr int64_t kLength = 131;
  std::vector<float> x = normal(kLength * kLength, 0, 3, 6);
  for (size_t k = 0; k < kLength; ++k) x[k * kLength + k] = kNan;
  expect_rows("softmax", softmax, x, kLength, 3e-7);
}

TEST(SoftmaxRows, OfLayerNormKeepTheirDigits) {
  for (int64_t n : kLengths) {
    expect_rows("layer_norm", layer_norm, normal(3 * n, 0, 1, 2), n, 2e-6);
    expect_rows("layer_norm", layer_norm, normal(3 * n, 0, 1e15f, 3), n, 2e-6);
    expect_rows("layer_norm", layer_norm, normal(3 * n, 100, 1, 4), n, 5e-5);  // ulp of 100: 8e-6
    expect_rows("layer_norm", layer_norm, std::vector<float>(static_cast<size_t>(n), 7), n, 1e-6);
    std::vector<float> x = normal(2 * n, 0, 1, 5);
    x[0] = kNan;
    expect_rows("layer_norm", layer_norm, x, n, 2e-6);
  }
}

}  // namespace
}  // namespace byoc
