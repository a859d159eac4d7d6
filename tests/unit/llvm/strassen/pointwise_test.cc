// SPDX-License-Identifier: Apache-2.0
// Convolutions of one pixel by Strassen's products against sums by the definition.
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/strassen/plan.h"
#include "unit/llvm/winograd/layer.h"

namespace byoc {
namespace {

using llvm_plugin::strassen::Pointwise;
using test::Layer;

constexpr double kPointwiseBound = 1e-5;  // of the largest output, as README.md states

Layer pointwise(Layer layer) {
  layer.rows = layer.columns = 1, layer.pads = {0, 0, 0, 0};
  return layer;
}

// Returns the strategies with Strassen's alone for convolutions of one pixel, and that band.
te::StrategyTable in_bands(int64_t band, int64_t panel) {
  return [=, direct = te::direct_strategies()](const te::Site& site) {
    const std::optional<Pointwise> conv = llvm_plugin::strassen::pointwise_of(site);
    if (!conv) return direct(site);
    llvm_plugin::strassen::Product product = llvm_plugin::strassen::product_of(*conv, band);
    product.panel = panel;
    return std::vector<te::Strategy>{
        {.name = llvm_plugin::strassen::kCompute,
         .compute = llvm_plugin::strassen::compute_of(*conv, product)}};
  };
}

te::Dag dag_of(const Layer& layer, int64_t band, int64_t panel, const te::Target& target) {
  const IRModule module = test::module_of(layer);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 in_bands(band, panel));
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  const te::Stage& result = dag->stages[te::stage_of(*dag, dag->outputs[0])];
  EXPECT_EQ(result.compute, layer.has_bias || layer.has_residual || layer.has_relu
                                ? std::string("direct")
                                : std::string(llvm_plugin::strassen::kCompute));
  return *std::move(dag);
}

std::vector<float> run(const Layer& layer, const test::LayerData& data, int64_t band,
                       int64_t panel = 1, uint32_t threads = 1) {
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  const te::Dag dag = dag_of(layer, band, panel, target);
  const auto schedules = llvm_plugin::family_template(dag, target);
  EXPECT_TRUE(schedules && schedules->kind == "conv2d_strassen");
  auto schedule = schedules->at(schedules->first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return test::run_loops(*loops, test::inputs_of(layer, data), {threads, {}})[0].as<float>();
}

void expect_sums(const Layer& layer, int64_t band, int64_t panel = 1, uint32_t threads = 1) {
  SCOPED_TRACE(
      cat(layer.text(), ", bands of ", band, ", panels of ", panel, ", ", threads, " threads"));
  const test::LayerData data = test::data_of(layer, 1);
  const std::vector<float> y = run(layer, data, band, panel, threads);
  EXPECT_LE(test::relative_error(layer, y, test::expected(layer, data)), kPointwiseBound);
}

const Layer kUsual = pointwise({.c = 32, .o = 64, .h = 7, .w = 9, .block = 8});

TEST(StrassenPointwise, ComputesImagesInOneBand) {
  for (int64_t w : {1, 2, 7, 8}) {
    Layer layer = kUsual;
    layer.w = w;
    expect_sums(layer, 7 * w + w % 2);
  }
}

TEST(StrassenPointwise, ComputesBandsThatEndBetweenRowsOfTheImage) {
  for (int64_t band : {2, 4, 10, 14, 32, 62}) {
    for (uint32_t threads : {1u, 3u}) expect_sums(kUsual, band, 1, threads);
  }
}

TEST(StrassenPointwise, ComputesSeveralImages) {
  Layer layer = kUsual;
  layer.n = 3;
  for (int64_t band : {18, 26, 64}) expect_sums(layer, band, 2, 2);
}

TEST(StrassenPointwise, ComputesStrides) {
  Layer layer = kUsual;
  layer.stride = 2;
  for (int64_t band : {6, 20}) expect_sums(layer, band);
}

TEST(StrassenPointwise, AddsBiasAndResidualBeforeRelu) {
  Layer layer = kUsual;
  layer.has_bias = layer.has_residual = layer.has_relu = true;
  for (int64_t band : {16, 64}) expect_sums(layer, band, 2);
}

TEST(StrassenPointwise, ComputesBlocksOfAllKinds) {
  for (int64_t block : {8, 16}) {
    for (int64_t blocks : {4, 6, 12}) {  // joined by two, three, two
      const Layer layer = pointwise(
          {.c = 4 * block, .o = blocks * block, .h = 5, .w = 6, .block = block, .has_relu = true});
      for (int64_t panel : {1, 3}) {
        if (blocks != 12 && panel != 1) continue;
        expect_sums(layer, 10, panel);
      }
    }
  }
}

// Values that are not finite stay so, and reach the pixel of the other half alone.
TEST(StrassenPointwise, KeepsNanAndInfinityInPairsOfPixels) {
  const Layer layer = pointwise({.c = 16, .o = 32, .h = 4, .w = 4, .block = 8});
  for (float value : {NAN, INFINITY, -INFINITY}) {
    test::LayerData data = test::data_of(layer, 4);
    data.x[3 * 16 + 5] = value;  // channel 3, pixel 5: of the first of two bands, in the lower half
    const std::vector<float> y = run(layer, data, 8);
    const std::vector<double> sums = test::expected(layer, data);
    for (int64_t at = 0; at < 32 * 16; ++at) {
      const int64_t pixel = at % 16, o = at / 16;
      const float got = y[static_cast<size_t>((o / 8 * 16 + pixel) * 8 + o % 8)];
      const double plain = sums[static_cast<size_t>(at)];
      if (!std::isfinite(plain)) {
        EXPECT_FALSE(std::isfinite(got)) << at;
      }
      if (pixel != 5 && pixel != 1) {
        EXPECT_NEAR(got, plain, 1e-4) << at;
      }
    }
  }
}

// Returns the compute that is chosen for a convolution with constant weights.
std::string chosen(const Layer& layer, bool exact_sums = false, uint32_t threads = 1) {
  IRModule module = test::module_of(layer);
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  if (exact_sums) module.function("main").attrs.set(llvm_plugin::kExactSumsAttr, true);
  te::Target target = *te::parse_target("x86-64-v3");
  target.threads = threads;
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return dag->stages[te::stage_of(*dag, dag->outputs[0])].compute;
}

TEST(StrassenPointwise, IsChosenForManyChannels) {
  auto layer = [](int64_t c, int64_t size, int64_t o) {
    return pointwise({.c = c, .o = o, .h = size, .w = size, .block = 8});
  };
  for (uint32_t threads : {1u, 2u}) {
    EXPECT_EQ(chosen(layer(1024, 14, 512), false, threads), "strassen");
    EXPECT_EQ(chosen(layer(512, 28, 256), false, threads), "strassen");
    EXPECT_EQ(chosen(layer(512, 7, 2048), false, threads), "strassen");
  }
  EXPECT_EQ(chosen(layer(1024, 14, 512), true), "pointwise");
  EXPECT_EQ(chosen(layer(64, 56, 64)), "pointwise");     // sums of rows cost as much
  EXPECT_EQ(chosen(layer(2048, 1, 1000)), "pointwise");  // one pixel
  EXPECT_EQ(chosen(layer(1032, 14, 512)), "pointwise");  // no halves of blocks
  EXPECT_EQ(chosen(layer(1024, 14, 520)), "pointwise");  // nor of results
}

// The bound that README.md states. Values have one of three distributions.
TEST(StrassenPointwise, HasSmallErrorsOnRandomLayers) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  double worst = 0;
  for (int k = 0; k < 12; ++k) {
    const Layer layer = pointwise({.c = 16 * pick(1, 64),
                                   .o = 32 * pick(1, 2),
                                   .h = pick(1, 9),
                                   .w = pick(2, 9),
                                   .block = 8,
                                   .has_bias = true});
    const int64_t band = 2 * pick(1, 30);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      test::LayerData data = test::data_of(layer, seed + 100);
      for (float& x : data.x) x = seed == 0 ? std::abs(x) : seed == 1 ? x : x * x * x;
      const std::vector<float> y = run(layer, data, band);
      const double error = test::relative_error(layer, y, test::expected(layer, data));
      EXPECT_LE(error, kPointwiseBound) << layer.text() << ", seed " << seed;
      worst = std::max(worst, error);
    }
  }
  RecordProperty("largest_relative_error", cat(worst));
}

}  // namespace
}  // namespace byoc
