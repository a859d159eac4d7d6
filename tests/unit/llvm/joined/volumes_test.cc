// SPDX-License-Identifier: Apache-2.0
// Convolutions of volumes over their first axis: the others are one in the sums. Results are
// compared with plain loops in f64.
#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

struct VolumeConv {
  int64_t n, c, o, d, h, w, taps, stride, dilation, begin, end;
  uint32_t threads = 1;
  int64_t od() const { return (d + begin + end - (taps - 1) * dilation - 1) / stride + 1; }
};

std::vector<double> expected(const VolumeConv& s, const std::vector<float>& x,
                             const std::vector<float>& weight) {
  std::vector<double> out;
  const int64_t cells = s.h * s.w;
  for (int64_t k = 0; k < s.n * s.o * s.od() * cells; ++k) {
    const int64_t cell = k % cells, z = k / cells % s.od(), o = k / cells / s.od() % s.o;
    const int64_t n = k / cells / s.od() / s.o;
    double sum = 0;
    for (int64_t t = 0; t < s.c * s.taps; ++t) {
      const int64_t c = t / s.taps, at = z * s.stride - s.begin + t % s.taps * s.dilation;
      if (at < 0 || at >= s.d) continue;
      sum +=
          static_cast<double>(x[static_cast<size_t>(((n * s.c + c) * s.d + at) * cells + cell)]) *
          static_cast<double>(weight[static_cast<size_t>(o * s.c * s.taps + t)]);
    }
    out.push_back(sum);
  }
  return out;
}

// Returns relu(conv(x, weight) + 1) with the usual compute, and counts flat ones.
std::vector<float> relu_of_conv(const VolumeConv& s, const std::vector<float>& x,
                                const std::vector<float>& weight, int& flat) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId image = f.param("x", {DType::kF32, make_shape(Ints{s.n, s.c, s.d, s.h, s.w})});
  const ValueId w = f.param("w", {DType::kF32, make_shape(Ints{s.o, s.c, s.taps, 1, 1})});
  ValueId y = f.call("conv3d", {image, w},
                     {{"strides", Ints{s.stride, 1, 1}},
                      {"dilations", Ints{s.dilation, 1, 1}},
                      {"pads", Ints{s.begin, 0, 0, s.end, 0, 0}}});
  const Status built = f.finish("main", {f.call("relu", {y})});
  EXPECT_TRUE(built.ok()) << built.message();
  module.entry = "main";
  te::Target target = llvm_plugin::host_target();
  target.threads = s.threads;
  auto dag = llvm_plugin::translate(module, target);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  for (const te::Stage& stage : dag->stages)
    flat += stage.compute == "flat" && stage.role == "conv3d.sums";
  const llvm_plugin::topi::Template plans = llvm_plugin::template_of(*dag, target);
  auto schedule = plans.at(plans.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return run_loops(*loops, {f32(x), f32(weight)}, RunOptions{.threads = s.threads})[0].as<float>();
}

TEST(ConvolutionsOverTime, HaveRowsOfAPlaneAsOne) {
  Chooser choose(7);
  int flat = 0;
  constexpr int kCases = 120;
  for (int k = 0; k < kCases; ++k) {
    VolumeConv s{.n = choose.between(1, 2),
                 .c = choose.between(1, 9),
                 .o = choose.one_of<int64_t>({1, 3, 6, 8, 13, 32}),
                 .d = choose.between(1, 7),
                 .h = choose.between(1, 9),
                 .w = choose.between(1, 12),
                 .taps = choose.between(1, 3),
                 .stride = choose.between(1, 2),
                 .dilation = choose.between(1, 2),
                 .begin = choose.between(0, 2),
                 .end = choose.between(0, 2)};
    if (s.d + s.begin + s.end <= (s.taps - 1) * s.dilation) s.d += 4;
    s.threads = choose.chance(0.3) ? 3 : 1;
    const auto x = elements<float>(choose, s.n * s.c * s.d * s.h * s.w, false);
    const auto weight = elements<float>(choose, s.o * s.c * s.taps, false);
    const std::vector<float> got = relu_of_conv(s, x, weight, flat);
    const std::vector<double> want = expected(s, x, weight);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)  // sums of small integers are exact
      ASSERT_EQ(static_cast<double>(got[i]), std::max(want[i], 0.0)) << "case " << k << " at " << i;
  }
  EXPECT_EQ(flat, kCases);
}

}  // namespace
}  // namespace byoc
