// SPDX-License-Identifier: Apache-2.0
// Pads of all modes: the middle of a row is copied as vectors, whatever is at its edges.
#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

int64_t source_of(const std::string& mode, int64_t at, int64_t n) {
  if (at >= 0 && at < n) return at;
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "wrap") return (at % n + n) % n;
  if (mode == "reflect") return at < 0 ? -at : 2 * (n - 1) - at;
  return -1;
}

std::vector<float> expected_pad(const Ints& shape, const std::string& mode, const Ints& pads,
                                const std::vector<float>& x) {
  const size_t rank = shape.size();
  Ints padded = shape;
  for (size_t d = 0; d < rank; ++d) padded[d] += pads[d] + pads[rank + d];
  std::vector<float> out;
  for (int64_t k = 0; k < count_of(padded); ++k) {
    int64_t rest = k, from = 0, step = 1;
    bool is_inside = true;
    for (size_t d = rank; d-- > 0; rest /= padded[d]) {
      const int64_t cell = source_of(mode, rest % padded[d] - pads[d], shape[d]);
      is_inside = is_inside && cell >= 0;
      from += cell * step;
      step *= shape[d];
      if (rest < 0) break;
    }
    out.push_back(is_inside ? x[static_cast<size_t>(from)] : 7);
  }
  return out;
}

TEST(Pads, CopyTheCellsOfTheDefinition) {
  Chooser choose(31);
  for (int k = 0; k < 250; ++k) {
    const auto mode = choose.one_of<std::string>({"constant", "reflect", "edge", "wrap"});
    OpCase c{.op = "pad", .dtype = DType::kF32};
    const auto rank = static_cast<size_t>(choose.between(1, 4));
    for (size_t d = 0; d < rank; ++d)
      c.shape.push_back(choose.one_of<int64_t>({1, 2, 3, 6, 11, 19, 40}));
    if (rank == 1 && choose.chance(0.7)) c.shape[0] = choose.between(4000, 9000);
    Ints pads(2 * rank);
    for (size_t d = 0; d < 2 * rank; ++d) {
      const int64_t n = c.shape[d % rank];
      const int64_t most = mode == "reflect" ? n - 1 : mode == "wrap" ? 2 * n : 9;
      pads[d] = choose.chance(0.4) ? 0 : choose.between(0, std::min<int64_t>(most, 40));
    }
    c.attrs = {{"pads", pads}, {"mode", mode}, {"value", 7.0}};
    c.threads = choose.chance(0.3) ? 3 : 1;
    c.has_short_vectors = choose.chance(0.3);
    std::vector<float> x;
    for (int64_t n = 0; n < count_of(c.shape); ++n) x.push_back(static_cast<float>(n));
    ASSERT_EQ(run(c, f32(x)).as<float>(), expected_pad(c.shape, mode, pads, x)) << print(c);
  }
}

// Pads that remove cells at one side and add some at the other.
TEST(Pads, MayRemoveCells) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    for (Ints pads : {Ints{-2, 5}, Ints{4, -3}, Ints{-1, -1}}) {
      const OpCase c{"pad", DType::kF32, {50}, {{"pads", pads}, {"mode", std::string(mode)}}};
      std::vector<float> x, want;
      for (int n = 0; n < 50; ++n) x.push_back(static_cast<float>(n));
      for (int64_t n = -pads[0]; n < 50 + pads[1]; ++n)
        want.push_back(x[static_cast<size_t>(source_of(mode, n, 50))]);
      EXPECT_EQ(run(c, f32(x)).as<float>(), want) << print(c);
    }
  }
}

}  // namespace
}  // namespace byoc
