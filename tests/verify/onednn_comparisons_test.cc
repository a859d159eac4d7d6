// SPDX-License-Identifier: Apache-2.0
// Comparisons by onednn, against those of C++: equal values, NaN and infinities among the operands,
// broadcast, extents of one, odd, prime and none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "programs.h"

namespace byoc::test {
namespace {

using Dims = std::vector<int64_t>;

struct Pair {
  Dims x, y;
};
const std::vector<Pair> kSame = {{{2, 3, 5}, {2, 3, 5}},
                                 {{7}, {7}},
                                 {{1, 1}, {1, 1}},
                                 {{2, 17, 3, 3}, {2, 17, 3, 3}},
                                 {{0, 3}, {0, 3}}};
const std::vector<Pair> kSecondSpread = {
    {{2, 3, 5}, {5}}, {{2, 3, 5}, {3, 1}}, {{7}, {}}, {{1, 1, 1, 3, 2}, {3, 2}}, {{0, 5}, {5}}};

/// oneDNN broadcasts its second operand alone, and its greater holds for NaN: `x > y` is its `y <
/// x`. Where there is nothing to compare no primitive is made, and onednn takes all.
struct Comparison {
  const char* op;
  bool (*holds)(float x, float y);
  bool takes_second_spread, takes_first_spread;
};
const Comparison kComparisons[] = {
    {"equal", [](float x, float y) { return x == y; }, true, true},
    {"not_equal", [](float x, float y) { return x != y; }, true, true},
    {"less", [](float x, float y) { return x < y; }, true, false},
    {"less_equal", [](float x, float y) { return x <= y; }, true, false},
    {"greater", [](float x, float y) { return x > y; }, false, true},
    {"greater_equal", [](float x, float y) { return x >= y; }, false, true}};

size_t elements(const Dims& dims) {
  size_t n = 1;
  for (int64_t extent : dims) n *= static_cast<size_t>(extent);
  return n;
}

/// Returns few different values, so that equal ones meet; `step` is prime to their number.
std::vector<float> values(const Dims& dims, size_t step) {
  const float kValues[] = {0, -1.5f, NAN, 2, -0.0f, INFINITY, 2, -INFINITY, 1e-40f};
  std::vector<float> out;
  for (size_t k = 0; k < elements(dims); ++k) out.push_back(kValues[k * step % 9]);
  return out;
}

/// Returns the index in an operand of `dims` for element `k` of `full`.
size_t spread(size_t k, const Dims& full, const Dims& dims) {
  size_t at = 0, stride = 1;
  for (size_t back = 1; back <= full.size(); ++back) {
    auto extent = static_cast<size_t>(full[full.size() - back]);
    auto own = back > dims.size() ? 1 : static_cast<size_t>(dims[dims.size() - back]);
    if (own != 1) at += k % extent * stride;
    stride *= own;
    k /= extent;
  }
  return at;
}

std::vector<int> expected(const Comparison& row, const Pair& pair) {
  const Dims& full = pair.x.size() < pair.y.size() ? pair.y : pair.x;
  std::vector<float> x = values(pair.x, 1), y = values(pair.y, 4);
  std::vector<int> out;
  for (size_t k = 0; k < elements(full); ++k)
    out.push_back(row.holds(x[spread(k, full, pair.x)], y[spread(k, full, pair.y)]));
  return out;
}

std::vector<int> truths(const Tensor& tensor) {
  std::vector<int> out;
  for (size_t k = 0; k < tensor.size_bytes(); ++k)
    out.push_back(static_cast<int>(tensor.data()[k]));
  return out;
}

class OnednnComparisons : public testing::TestWithParam<Comparison> {
 protected:
  void compare(const Pair& pair, bool is_wired) {
    bool is_taken = is_wired || expected(GetParam(), pair).empty();
    std::string text = cat("fn main(%x: ", TensorSpec{DType::kF32, pair.x},
                           ", %y: ", TensorSpec{DType::kF32, pair.y}, ") { %0 = ", GetParam().op,
                           "(%x, %y) return %0 }");
    SCOPED_TRACE(text);
    Executable onednn = built_by(plugins_, parse(text), {"onednn"}, 2);
    EXPECT_EQ(ops_of(onednn, "onednn"), is_taken ? 1u : 0u);
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32(pair.x, values(pair.x, 1)));
    inputs.push_back(tensor_f32(pair.y, values(pair.y, 4)));
    EXPECT_EQ(truths(execute(onednn, plugins_, inputs)[0]), expected(GetParam(), pair));
    Executable json = built_by(plugins_, parse(text), {"json"}, 0);
    EXPECT_EQ(truths(execute_strided(onednn, plugins_)[0]),
              truths(execute_strided(json, plugins_)[0]));
  }

  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

TEST_P(OnednnComparisons, HoldAsInTheLanguage) {
  for (const Pair& pair : kSame) compare(pair, true);
}

TEST_P(OnednnComparisons, HoldWithTheSecondOperandSpread) {
  for (const Pair& pair : kSecondSpread) compare(pair, GetParam().takes_second_spread);
}

TEST_P(OnednnComparisons, HoldWithTheFirstOperandSpread) {
  for (const Pair& pair : kSecondSpread) compare({pair.y, pair.x}, GetParam().takes_first_spread);
}

INSTANTIATE_TEST_SUITE_P(Rows, OnednnComparisons, testing::ValuesIn(kComparisons),
                         [](const auto& info) { return std::string(info.param.op); });

}  // namespace
}  // namespace byoc::test
