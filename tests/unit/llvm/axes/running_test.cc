// SPDX-License-Identifier: Apache-2.0
// Running sums and products: floats in f64, as the definition adds them, integers modulo 2^n.
#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

template <class T, class Total>
std::vector<T> expected_sums(const OpCase& c, size_t axis, const std::vector<T>& x) {
  int64_t inner = 1;
  for (size_t d = axis + 1; d < c.shape.size(); ++d) inner *= c.shape[d];
  const bool is_product = c.op == "cumprod", is_exclusive = c.attrs.b("exclusive", false);
  const int64_t n = c.shape[axis];
  std::vector<T> out(x.size());
  for (int64_t line = 0; line < count_of(c.shape) / std::max<int64_t>(n, 1); ++line) {
    Total total = is_product;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t k = c.attrs.b("reverse", false) ? n - 1 - step : step;
      const auto at = static_cast<size_t>((line / inner * n + k) * inner + line % inner);
      const auto value = static_cast<Total>(x[at]);
      const Total next = static_cast<Total>(is_product ? total * value : total + value);
      out[at] = static_cast<T>(is_exclusive ? total : next);
      total = next;
    }
  }
  return out;
}

template <class T, class Total>
void expect_totals(DType dtype, uint32_t seed, int count) {
  Chooser choose(seed);
  for (int k = 0; k < count; ++k) {
    OpCase c{.op = choose.chance(0.8) ? "cumsum" : "cumprod", .dtype = dtype};
    const auto rank = static_cast<size_t>(choose.between(1, 4));
    for (size_t d = 0; d < rank; ++d)
      c.shape.push_back(choose.one_of<int64_t>({1, 2, 3, 4, 7, 16, 31, 70}));
    if (choose.chance(0.3) && count_of(c.shape) < 4096)
      c.shape.back() = choose.one_of<int64_t>({1024, 1030, 2100});  // rows of a page and more
    if (choose.chance(0.05)) c.shape[0] = 0;
    const auto axis = static_cast<size_t>(choose.between(0, static_cast<int64_t>(rank) - 1));
    c.attrs = {{"axis", static_cast<int64_t>(axis)},
               {"exclusive", choose.chance(0.5)},
               {"reverse", choose.chance(0.5)}};
    c.threads = choose.chance(0.3) ? 3 : 1;
    c.has_short_vectors = choose.chance(0.3);
    c.compute = choose.one_of<std::string>({"", "", "blocks", "direct"});
    const std::vector<T> x = elements<T>(choose, count_of(c.shape), false, 3);
    const Data got = run(c, Data::of(dtype, x));
    ASSERT_EQ(got.as<T>(), (expected_sums<T, Total>(c, axis, x))) << print(c);
  }
}

TEST(RunningSums, AreExactInF64) {
  expect_totals<float, double>(DType::kF32, 11, 120);
  expect_totals<double, double>(DType::kF64, 12, 40);
}
TEST(RunningSums, OfIntegersWrapAround) {
  expect_totals<int32_t, uint32_t>(DType::kI32, 13, 40);
  expect_totals<int64_t, uint64_t>(DType::kI64, 14, 40);
  expect_totals<uint8_t, uint8_t>(DType::kU8, 15, 40);
}

}  // namespace
}  // namespace byoc
