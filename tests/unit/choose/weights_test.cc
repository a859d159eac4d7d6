// SPDX-License-Identifier: Apache-2.0
// --prefer: the bytes of weights in Winograd's and Strassen's forms are limited, and spent where
// they gain most.
#include "byoc/pass/passes.h"
#include "choose.h"

namespace byoc::test {
namespace {

/// Returns @main with its parameters after %x bound to seeded numbers.
IRModule with_weights(const std::string& text) {
  IRModule module = parse(text);
  std::map<std::string, BoundTensor> values;
  const Function& main = module.function("main");
  for (uint32_t k = 1; k < main.num_params(); ++k) {
    const TypeId type = main.nodes[k].types[0];
    Tensor numbers = *Tensor::make({type->dtype, static_extents(type->shape)});
    fill_random(numbers, k);
    values[cat("w", k)] = {*type, Buffer::copy({numbers.data(), numbers.size_bytes()})};
  }
  auto bound = bind_params(module, values, PassContext());
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  return *std::move(bound);
}

/// Returns four convolutions of 3x3 and a 1x1, on images of other sizes: each has other gains.
IRModule convolutions() {
  return with_weights(R"(fn main(%x: f32[1,64,56,56], %w1: f32[64,64,3,3], %w2: f32[128,64,3,3],
           %w3: f32[128,128,3,3], %w4: f32[256,128,1,1], %w5: f32[256,256,3,3]) {
  %0 = conv2d(%x, %w1) {pads=[1,1,1,1]}
  %1 = relu(%0)
  %2 = conv2d(%1, %w2) {pads=[1,1,1,1], strides=[2,2]}
  %3 = relu(%2)
  %4 = conv2d(%3, %w3) {pads=[1,1,1,1]}
  %5 = relu(%4)
  %6 = conv2d(%5, %w4) {strides=[2,2]}
  %7 = relu(%6)
  %8 = conv2d(%7, %w5) {pads=[1,1,1,1]}
  return %8
})");
}

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    if (plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  }
  static const std::shared_ptr<const PluginSet>& plugins() {
    static const auto& set = *new std::shared_ptr<const PluginSet>(built_plugins());
    return set;
  }
  static BuildOptions options(const std::string& prefer) {
    BuildOptions out;
    out.plugins = plugins();
    out.compilers = {"llvm"};
    if (!prefer.empty()) out.options["prefer"] = prefer;
    return out;
  }
  struct Built {
    double share = 0;  // bytes of constants per byte of the model's
    Report::Weights weights;
  };
  static Built built(const IRModule& module, const std::string& prefer) {
    double model = 0, stored = 0;
    for (const auto& [key, buffer] : module.constants) model += static_cast<double>(buffer->size());
    Report report;
    BuildOptions with = options(prefer);
    with.report = &report;
    auto executable = build(module, with);
    EXPECT_TRUE(executable.ok()) << executable.status().to_string();
    if (!executable.ok()) return {};
    for (const auto& [key, buffer] : executable->constants)
      stored += static_cast<double>(buffer->size());
    return {stored / model, report.weights};
  }
};

TEST_F(Weights, AreLimitedByPreference) {
  const IRModule module = convolutions();
  const Built size = built(module, "size"), balanced = built(module, "balanced"),
              speed = built(module, "speed");
  EXPECT_LE(size.share, 1.15);
  EXPECT_LE(balanced.share, 1.65);
  EXPECT_GT(balanced.share, size.share) << "some forms pay for their bytes";
  EXPECT_GT(speed.share, 1.65) << "Winograd's filters have several times the bytes";
  EXPECT_EQ(built(module, "").share, speed.share) << "the default";
}

TEST_F(Weights, AreSmallerByGainWhereThatIsEstimatedToLoseNextToNothing) {
  const IRModule module = convolutions();
  const Built gain = built(module, "gain"), balanced = built(module, "balanced"),
              speed = built(module, "speed");
  EXPECT_LE(gain.share, speed.share);
  const bool is_within = gain.weights.bytes <= 1.65 * gain.weights.model_bytes;
  EXPECT_TRUE(is_within || gain.weights.lost_ns < balanced.weights.lost_ns)
      << "a share of 1.6 loses " << balanced.weights.lost_ns << " ns";
}

TEST_F(Weights, OfALayerThatLosesMoreThanAHundredthStayByGain) {
  const IRModule module = with_weights(R"(fn main(%x: f32[1,64,56,56], %w1: f32[64,64,3,3]) {
  %0 = conv2d(%x, %w1) {pads=[1,1,1,1]}
  return %0
})");
  EXPECT_GT(built(module, "speed").share, 1.65);
  EXPECT_EQ(built(module, "gain").share, built(module, "speed").share);
}

TEST_F(Weights, AreReportedWithTheTimeThatTheyGain) {
  const IRModule module = convolutions();
  const Report::Weights balanced = built(module, "balanced").weights,
                        speed = built(module, "speed").weights;
  EXPECT_EQ(speed.smaller, 0u);
  EXPECT_EQ(speed.bytes_saved, 0);
  EXPECT_GT(speed.larger, 0u);
  EXPECT_GT(speed.gain_ns, balanced.gain_ns);
  EXPECT_GT(balanced.smaller, 0u);
  EXPECT_GT(balanced.lost_ns, 0);
  EXPECT_NEAR(balanced.bytes_saved, speed.bytes - balanced.bytes, 1);
  EXPECT_NEAR(balanced.lost_ns, speed.gain_ns - balanced.gain_ns, 1 + 1e-6 * speed.gain_ns);
  EXPECT_LE(balanced.bytes, 1.6 * balanced.model_bytes);
}

TEST_F(Weights, InAllFormsGiveTheResultsOfTheReference) {
  for (const char* prefer : {"gain", "size", "balanced", "speed"}) {
    expect_like_reference(convolutions(), options(prefer));
  }
}

TEST_F(Weights, ThatAreSmallAreLeftToThePlugin) {
  const IRModule module = with_weights(R"(fn main(%x: f32[1,16,20,20], %w1: f32[16,16,3,3]) {
  %0 = conv2d(%x, %w1) {pads=[1,1,1,1]}
  return %0
})");
  EXPECT_EQ(built(module, "size").weights.model_bytes, 0);
  EXPECT_EQ(built(module, "size").share, built(module, "speed").share);
}

TEST(PreferOption, OfAnotherNameIsRefused) {
  BuildOptions options;
  options.plugins = selective_plugins({});
  options.compilers = {"json"};
  options.options["prefer"] = "beauty";
  const Status status =
      build(parse("fn main(%x: f32[2]) { %0 = relu(%x) return %0 }"), options).status();
  EXPECT_EQ(status.slug(), "usage");
  EXPECT_THAT(status.message(),
              ::testing::HasSubstr("gain, size, balanced or speed, not \"beauty\""));
}

}  // namespace
}  // namespace byoc::test
