// SPDX-License-Identifier: Apache-2.0
// Positions of extremes: NaN is the greatest value, of equal ones the first or the last counts.
#include <algorithm>

#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class T>
std::vector<int64_t> expected_positions(const OpCase& c, size_t axis, const std::vector<T>& x) {
  const bool is_last = c.attrs.b("select_last_index", false), is_greatest = c.op == "argmax";
  int64_t inner = 1;
  for (size_t d = axis + 1; d < c.shape.size(); ++d) inner *= c.shape[d];
  const int64_t n = c.shape[axis], lines = count_of(c.shape) / n;
  std::vector<int64_t> out;
  for (int64_t line = 0; line < lines; ++line) {
    auto at = [&](int64_t k) {
      return x[static_cast<size_t>((line / inner * n + k) * inner + line % inner)];
    };
    int64_t best = 0;
    for (int64_t k = 1; k < n; ++k) {
      const bool is_better = is_greatest ? is_less(at(best), at(k)) : is_less(at(k), at(best));
      const bool is_worse = is_greatest ? is_less(at(k), at(best)) : is_less(at(best), at(k));
      if (is_better || (is_last && !is_worse)) best = k;
    }
    out.push_back(best);
  }
  return out;
}

OpCase random_case(Chooser& choose, size_t& axis) {
  OpCase c{.op = choose.chance(0.5) ? "argmax" : "argmin"};
  const auto rank = static_cast<size_t>(choose.between(1, 4));
  axis = static_cast<size_t>(choose.between(0, static_cast<int64_t>(rank) - 1));
  for (size_t d = 0; d < rank; ++d) c.shape.push_back(choose.one_of<int64_t>({1, 2, 3, 5, 9, 17}));
  c.shape[axis] = choose.one_of<int64_t>({1, 2, 7, 16, 21, 33, 80, 127, 300, 1000});
  if (rank == 1 && choose.chance(0.7)) c.shape[axis] = choose.between(3000, 30000);
  const auto by =
      static_cast<int64_t>(axis) - (choose.chance(0.5) ? static_cast<int64_t>(rank) : 0);
  c.attrs = {
      {"axis", by}, {"keepdims", choose.chance(0.5)}, {"select_last_index", choose.chance(0.5)}};
  c.threads = choose.chance(0.3) ? 3 : 1;
  c.has_short_vectors = choose.chance(0.3);
  c.compute = choose.one_of<std::string>({"", "", "passes", "blocks", "direct"});
  return c;
}

template <class T>
void expect_positions(DType dtype, uint32_t seed, int count) {
  Chooser choose(seed);
  for (int k = 0; k < count; ++k) {
    size_t axis = 0;
    OpCase c = random_case(choose, axis);
    c.dtype = dtype;
    std::vector<T> x = elements<T>(choose, count_of(c.shape), choose.chance(0.5));
    if (choose.chance(0.1)) std::ranges::fill(x, x[0]);
    const Data got = run(c, Data::of(dtype, x));
    ASSERT_EQ(got.as<int64_t>(), expected_positions(c, axis, x)) << print(c);
  }
}

TEST(Positions, AreThoseOfExtremesOfF32) { expect_positions<float>(DType::kF32, 1, 150); }
TEST(Positions, AreThoseOfExtremesOfF64) { expect_positions<double>(DType::kF64, 2, 40); }
TEST(Positions, AreThoseOfExtremesOfIntegers) {
  expect_positions<int32_t>(DType::kI32, 3, 40);
  expect_positions<int64_t>(DType::kI64, 4, 40);
  expect_positions<uint8_t>(DType::kU8, 5, 40);
  expect_positions<int8_t>(DType::kI8, 6, 30);
}

// Hardmax: 1 at the first greatest element. NaN is never greater, and nothing is greater than a
// first element that is NaN.
template <class T>
std::vector<T> expected_ones(const OpCase& c, size_t axis, const std::vector<T>& x) {
  std::vector<T> out(x.size(), T(0));
  int64_t inner = 1;
  for (size_t d = axis + 1; d < c.shape.size(); ++d) inner *= c.shape[d];
  const int64_t n = c.shape[axis], lines = count_of(c.shape) / n;
  for (int64_t line = 0; line < lines; ++line) {
    auto place = [&](int64_t k) {
      return static_cast<size_t>((line / inner * n + k) * inner + line % inner);
    };
    int64_t best = 0;
    for (int64_t k = 1; k < n; ++k) {
      if (x[place(k)] > x[place(best)]) best = k;
    }
    out[place(best)] = T(1);
  }
  return out;
}

template <class T>
void expect_ones(DType dtype, uint32_t seed, int count) {
  Chooser choose(seed);
  for (int k = 0; k < count; ++k) {
    size_t axis = 0;
    OpCase c = random_case(choose, axis);
    c.op = "hardmax";
    c.attrs = {{"axis", c.attrs.i("axis")}};
    c.dtype = dtype;
    std::vector<T> x = elements<T>(choose, count_of(c.shape), choose.chance(0.5));
    if (choose.chance(0.2)) std::ranges::fill(x, x[0]);
    if (choose.chance(0.2)) x[0] = std::numeric_limits<T>::quiet_NaN();
    const Data got = run(c, Data::of(dtype, x));
    ASSERT_EQ(got.as<T>(), expected_ones(c, axis, x)) << print(c);
  }
}

TEST(Hardmax, HasOneAtTheFirstGreatestOfF32) { expect_ones<float>(DType::kF32, 7, 120); }
TEST(Hardmax, HasOneAtTheFirstGreatestOfF64) { expect_ones<double>(DType::kF64, 8, 40); }

TEST(Hardmax, IsComputedAsArgmaxIs) {
  auto computes_of = [](Ints shape, int64_t axis) {
    return loops_of({"hardmax", DType::kF32, std::move(shape), {{"axis", axis}}}).computes;
  };
  EXPECT_EQ(computes_of({1, 50257}, 1).back(), "blocks");
  EXPECT_EQ(computes_of({12, 128, 128}, 2).back(), "passes");
}

// Lines of NaN only, and of infinities, have equal extremes.
TEST(Positions, OfEqualExtremesAreTheFirstOrTheLast) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const char* op : {"argmax", "argmin"}) {
    for (float value : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf}) {
      for (int64_t n : {3, 200, 9000}) {
        for (bool is_last : {false, true}) {
          const OpCase c{op, DType::kF32, {n}, {{"select_last_index", is_last}}};
          const Data got = run(c, f32(std::vector<float>(static_cast<size_t>(n), value)));
          EXPECT_EQ(got.as<int64_t>()[0], is_last ? n - 1 : 0) << print(c) << " of " << value;
        }
      }
    }
  }
}

TEST(Positions, AreFoundBlockByBlockInLongLinesOnly) {
  auto compute_of = [](Ints shape, int64_t axis) {
    return loops_of({"argmax", DType::kF32, std::move(shape), {{"axis", axis}}}).computes.back();
  };
  EXPECT_EQ(compute_of({100000}, 0), "blocks");
  EXPECT_EQ(compute_of({4, 32000}, 1), "blocks");
  EXPECT_EQ(compute_of({4, 100}, 1), "passes");
  EXPECT_EQ(compute_of({32000, 64}, 0), "passes") << "lines side by side";
}

}  // namespace
}  // namespace byoc
