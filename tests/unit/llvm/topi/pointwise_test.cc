// SPDX-License-Identifier: Apache-2.0
// 1x1 convolutions of plain images whose channels do not divide into blocks. They are computed as
// matrix products and compared with loops in this file.
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/run_loops.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

struct PointwiseShape {
  int64_t n, c, o, h, w;
};

// Returns relu(conv(x, w) + bias).
te::Dag translated(const PointwiseShape& s, Ints strides = {1, 1}, int64_t kernel = 1) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {s.n, s.c, s.h, s.w}});
  ValueId w = f.param("w", {DType::kF32, {s.o, s.c, kernel, kernel}});
  ValueId bias = f.param("bias", {DType::kF32, {s.o, 1, 1}});
  ValueId y = f.call("conv2d", {x, w}, {{"strides", strides}});
  EXPECT_TRUE(f.finish("main", {f.call("relu", {f.call("add", {y, bias})})}).ok());
  auto dag = te::translate_to_te(module, module.function("main"), llvm_plugin::host_target(),
                                 te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

bool is_pointwise(const te::Dag& dag) {
  return std::any_of(dag.stages.begin(), dag.stages.end(),
                     [](const te::Stage& stage) { return stage.compute == "pointwise"; });
}

std::vector<float> expected(const PointwiseShape& s, const std::vector<float>& x,
                            const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<float> out;
  const int64_t cells = s.h * s.w;
  for (int64_t at = 0; at < s.n * s.o * cells; ++at) {
    const int64_t n = at / cells / s.o, o = at / cells % s.o, cell = at % cells;
    float sum = bias[static_cast<size_t>(o)];
    for (int64_t c = 0; c < s.c; ++c)
      sum += x[static_cast<size_t>((n * s.c + c) * cells + cell)] *
             w[static_cast<size_t>(o * s.c + c)];
    out.push_back(std::max(sum, 0.0f));
  }
  return out;
}

TEST(PlainPointwiseConv, ComputesTheSums) {
  for (const PointwiseShape& s : {PointwiseShape{1, 58, 58, 28, 28},
                                  {2, 12, 29, 14, 14},
                                  {1, 3, 5, 7, 9},
                                  {1, 1, 1, 1, 1},
                                  {3, 7, 2, 1, 5}}) {
    SCOPED_TRACE(cat(s.c, " to ", s.o, " channels, ", s.h, "x", s.w));
    const te::Dag dag = translated(s);
    EXPECT_TRUE(is_pointwise(dag));
    const auto usual = llvm_plugin::topi::default_template(dag, llvm_plugin::host_target());
    auto loops = te::lower(*usual.at(usual.first));
    ASSERT_TRUE(loops.ok()) << loops.status().message();
    auto x = small_integers(s.n * s.c * s.h * s.w, 1), w = small_integers(s.o * s.c, 2);
    auto bias = small_integers(s.o, 3);
    for (uint32_t threads : {1u, 3u}) {
      auto y =
          test::run_loops(*loops, {test::f32(x), test::f32(w), test::f32(bias)}, {threads, {}});
      EXPECT_EQ(y[0].as<float>(), expected(s, x, w, bias));
    }
  }
}

TEST(PlainPointwiseConv, IsForOnePixelEachSideBySide) {
  EXPECT_FALSE(is_pointwise(translated({1, 3, 4, 9, 9}, {2, 2})));
  EXPECT_FALSE(is_pointwise(translated({1, 3, 4, 9, 9}, {1, 1}, 3)));
}

}  // namespace
}  // namespace byoc
