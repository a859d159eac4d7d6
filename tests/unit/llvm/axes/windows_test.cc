// SPDX-License-Identifier: Apache-2.0
// Pools axis by axis, compared with plain loops over the windows.
#include <algorithm>

#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

struct Dims {
  Ints in, out, kernel, strides, dilations, begins, ends;
};

Dims dims_of(const OpCase& c) {
  Dims out;
  out.kernel = c.attrs.ints("kernel_shape"), out.strides = c.attrs.ints("strides");
  out.dilations = c.attrs.ints("dilations");
  const Ints pads = c.attrs.ints("pads");
  const size_t rank = out.kernel.size();
  out.in = Ints(c.shape.begin() + 2, c.shape.end());
  for (size_t d = 0; d < rank; ++d) {
    out.begins.push_back(pads[d]), out.ends.push_back(pads[rank + d]);
    const int64_t spare =
        out.in[d] + pads[d] + pads[rank + d] - (out.kernel[d] - 1) * out.dilations[d] - 1;
    int64_t cells = spare / out.strides[d] + 1;
    if (c.attrs.b("ceil_mode", false)) {
      cells = (spare + out.strides[d] - 1) / out.strides[d] + 1;
      if ((cells - 1) * out.strides[d] >= out.in[d] + pads[d]) --cells;
    }
    out.out.push_back(cells);
  }
  return out;
}

Ints cell_of(int64_t flat, const Ints& extents) {
  Ints out(extents.size());
  for (size_t d = extents.size(); d-- > 0; flat /= extents[d]) out[d] = flat % extents[d];
  return out;
}

// Returns the maximum, or the mean of what is inside (or with the pads), of one window.
double pooled(const OpCase& c, const Dims& s, const float* plane, const Ints& cell) {
  double top = -INFINITY, sum = 0;
  int64_t count = 0;
  for (int64_t tap = 0; tap < count_of(s.kernel); ++tap) {
    const Ints taps = cell_of(tap, s.kernel);
    int64_t at = 0;
    bool is_inside = true, is_counted = true;
    for (size_t d = 0; d < taps.size(); ++d) {
      const int64_t k = cell[d] * s.strides[d] - s.begins[d] + taps[d] * s.dilations[d];
      is_inside = is_inside && k >= 0 && k < s.in[d];
      is_counted = is_counted && k >= -s.begins[d] && k < s.in[d] + s.ends[d];
      at = at * s.in[d] + k;
    }
    if (c.attrs.b("count_include_pad", false) ? is_counted : is_inside) ++count;
    if (!is_inside) continue;
    const auto value = static_cast<double>(plane[at]);
    if (value > top || std::isnan(value)) top = std::isnan(top) ? top : value;
    sum += value;
  }
  if (c.op == "max_pool") return top;
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::optional<OpCase> random_case(Chooser& choose) {
  OpCase c{.op = choose.chance(0.6) ? "max_pool" : "average_pool", .dtype = DType::kF32};
  const auto rank = static_cast<size_t>(choose.one_of<int64_t>({1, 2, 2, 2, 3}));
  c.shape = {choose.between(1, 2), choose.between(1, 3)};
  Ints kernel, strides, dilations, pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    c.shape.push_back(choose.between(1, rank == 3 ? 12 : 40));
    kernel.push_back(choose.one_of<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 13, 15}));
    strides.push_back(choose.chance(0.6) ? 1 : choose.between(2, 9));
    dilations.push_back(choose.chance(0.8) ? 1 : choose.between(2, 3));
    const int64_t reach = (kernel[d] - 1) * dilations[d];
    for (size_t side : {d, d + rank}) pads[side] = choose.between(0, kernel[d] - 1);
    if (c.shape[2 + d] + pads[d] + pads[d + rank] <= reach) return std::nullopt;
  }
  c.attrs = {{"kernel_shape", kernel},
             {"strides", strides},
             {"dilations", dilations},
             {"pads", pads},
             {"ceil_mode", choose.chance(0.3)}};
  if (c.op == "average_pool") c.attrs.set("count_include_pad", choose.chance(0.5));
  c.threads = choose.chance(0.4) ? 3 : 1;
  c.has_short_vectors = choose.chance(0.3);
  c.compute = choose.one_of<std::string>({"", "by_axis", "by_axis"});
  return c;
}

TEST(PoolsByAxis, AreThoseOfTheDefinition) {
  Chooser choose(41);
  for (int k = 0; k < 400; ++k) {
    const std::optional<OpCase> c = random_case(choose);
    if (!c) continue;
    const Dims s = dims_of(*c);
    const std::vector<float> x =
        elements<float>(choose, count_of(c->shape), c->op == "max_pool" && choose.chance(0.5), 50);
    const std::vector<float> got = run(*c, f32(x)).as<float>();
    const int64_t cells = count_of(s.out), plane = count_of(s.in);
    ASSERT_EQ(static_cast<int64_t>(got.size()), cells * c->shape[0] * c->shape[1]) << print(*c);
    for (size_t n = 0; n < got.size(); ++n) {
      const auto at = static_cast<int64_t>(n);
      const double want = pooled(*c, s, x.data() + at / cells * plane, cell_of(at % cells, s.out));
      if (std::isnan(want)) ASSERT_TRUE(std::isnan(got[n])) << print(*c) << " at " << n;
      else if (c->op == "max_pool")
        ASSERT_EQ(static_cast<double>(got[n]), want) << print(*c) << " at " << n;
      else ASSERT_NEAR(static_cast<double>(got[n]), want, 1e-4) << print(*c) << " at " << n;
    }
  }
}

// Few planes that are larger than the second cache are computed in parts of their rows.
TEST(PoolsByAxis, DivideLargePlanes) {
  Chooser choose(43);
  OpCase c{"max_pool",
           DType::kF32,
           {1, 1, 301, 517},
           {{"kernel_shape", Ints{9, 9}},
            {"strides", Ints{1, 1}},
            {"dilations", Ints{1, 1}},
            {"pads", Ints{4, 4, 4, 4}}}};
  const std::vector<float> x = elements<float>(choose, count_of(c.shape), true, 1000);
  const Dims s = dims_of(c);
  for (uint32_t threads : {1u, 3u}) {
    c.threads = threads;
    const std::vector<float> got = run(c, f32(x)).as<float>();
    for (size_t n = 0; n < got.size(); n += 7) {
      const double want = pooled(c, s, x.data(), cell_of(static_cast<int64_t>(n), s.out));
      if (std::isnan(want)) ASSERT_TRUE(std::isnan(got[n])) << n;
      else ASSERT_EQ(static_cast<double>(got[n]), want) << n;
    }
  }
}

TEST(PoolsByAxis, AreUsualForLargeWindowsOnly) {
  auto compute_of = [](int64_t kernel, int64_t stride) {
    return loops_of({"max_pool",
                     DType::kF32,
                     {1, 8, 40, 40},
                     {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}}})
        .computes.back();
  };
  EXPECT_EQ(compute_of(13, 1), "by_axis");
  EXPECT_EQ(compute_of(5, 1), "by_axis");
  EXPECT_EQ(compute_of(2, 2), "direct");
  EXPECT_EQ(compute_of(3, 2), "direct");
}

}  // namespace
}  // namespace byoc
