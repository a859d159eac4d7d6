// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of integers of 8 bits against sums by the definition, in i64.
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

struct Layer {
  int64_t n = 1, c = 16, h = 9, w = 10, kernel = 3, stride = 1, dilation = 1;
  Ints pads = {1, 1, 1, 1};  // top, left, bottom, right
  int64_t block = 8, pad_value = 0;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  int64_t oh() const { return (h + pads[0] + pads[2] - reach()) / stride + 1; }
  int64_t ow() const { return (w + pads[1] + pads[3] - reach()) / stride + 1; }
  size_t elements() const { return static_cast<size_t>(n * c * h * w); }
  size_t weights() const { return static_cast<size_t>(c * kernel * kernel); }
};

struct Numbers {
  std::vector<uint8_t> x;       // [n, c / block, h, w, block]
  std::vector<int8_t> weights;  // [c, 1, kernel, kernel]
};

Numbers random_numbers(const Layer& s) {
  std::mt19937 random(5);
  Numbers out;
  for (size_t k = 0; k < s.elements(); ++k) out.x.push_back(static_cast<uint8_t>(random()));
  for (size_t k = 0; k < s.weights(); ++k) out.weights.push_back(static_cast<int8_t>(random()));
  return out;
}

std::vector<int32_t> expected(const Layer& s, const Numbers& from) {
  std::vector<int32_t> out;
  for (int64_t at = 0; at < s.n * s.c * s.oh() * s.ow(); ++at) {
    const int64_t lane = at % s.block, ow = at / s.block % s.ow();
    const int64_t oh = at / s.block / s.ow() % s.oh();
    const int64_t block = at / s.block / s.ow() / s.oh();  // of all images
    const int64_t channel = block % (s.c / s.block) * s.block + lane;
    int64_t sum = 0;
    for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
      const int64_t h = oh * s.stride + tap / s.kernel * s.dilation - s.pads[0];
      const int64_t w = ow * s.stride + tap % s.kernel * s.dilation - s.pads[1];
      const bool is_inside = 0 <= h && h < s.h && 0 <= w && w < s.w;
      const int64_t cell = ((block * s.h + h) * s.w + w) * s.block + lane;
      const int64_t x = is_inside ? from.x[static_cast<size_t>(cell)] : s.pad_value;
      sum += x * from.weights[static_cast<size_t>(channel * s.kernel * s.kernel + tap)];
    }
    out.push_back(static_cast<int32_t>(sum));
  }
  return out;
}

IRModule module_of(const Layer& s) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kU8, {s.n, s.c / s.block, s.h, s.w, s.block}});
  ValueId w = f.param("w", {DType::kI8, {s.c, 1, s.kernel, s.kernel}});
  ValueId y = f.call("conv2d_nchwc_integers", {x, w},
                     {{"strides", Ints{s.stride, s.stride}},
                      {"dilations", Ints{s.dilation, s.dilation}},
                      {"pads", s.pads},
                      {"group", s.c},
                      {"pad_value", s.pad_value},
                      {"block", s.block}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});  // w: a constant
  return module;
}

te::LoopFunction loops_of(const Layer& s, const std::string& target_name) {
  const te::Target target = *te::parse_target(target_name);
  const IRModule module = module_of(s);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  const auto schedules = llvm_plugin::template_of(*dag, target);
  EXPECT_EQ(schedules.kind, "depthwise");
  auto schedule = schedules.at(schedules.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

void expect_sums(const Layer& s, const Numbers& numbers) {
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    const std::vector<test::Data> in = {test::Data::of(DType::kU8, numbers.x),
                                        test::Data::of(DType::kI8, numbers.weights)};
    auto y = test::run_loops(loops_of(s, target), in);
    EXPECT_EQ(y[0].as<int32_t>(), expected(s, numbers))
        << target << ": " << s.h << "x" << s.w << ", window " << s.kernel << ", stride " << s.stride
        << ", dilation " << s.dilation << ", block " << s.block;
  }
}

TEST(DepthwiseIntegers, AreExactForAllWindows) {
  for (int64_t kernel : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t dilation : {1, 2}) {
        const Layer s{.h = 11, .w = 13, .kernel = kernel, .stride = stride, .dilation = dilation};
        expect_sums(s, random_numbers(s));
      }
    }
  }
}

TEST(DepthwiseIntegers, PadWithTheirPadValue) {
  for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{2, 0, 1, 3}, Ints{0, 2, 2, 0}}) {
    for (int64_t pad_value : {1, 128, 255}) {
      const Layer s{.n = 2, .c = 32, .pads = pads, .block = 16, .pad_value = pad_value};
      expect_sums(s, random_numbers(s));
    }
  }
}

TEST(DepthwiseIntegers, HaveImagesSmallerThanATile) {
  for (int64_t h : {1, 2, 7}) {
    for (int64_t w : {1, 3, 17}) {
      const Layer s{.h = h, .w = w, .pad_value = 3};
      expect_sums(s, random_numbers(s));
    }
  }
}

TEST(DepthwiseIntegers, AreExactAtTheEndsOfTheirRanges) {
  const Layer s{.h = 23, .w = 22, .kernel = 21, .pads = {10, 10, 10, 10}, .pad_value = 255};
  for (int8_t weight : {int8_t{-128}, int8_t{127}}) {
    const Numbers numbers{std::vector<uint8_t>(s.elements(), 255),
                          std::vector<int8_t>(s.weights(), weight)};
    const te::Target target = *te::parse_target("native");
    const IRModule module = module_of(s);
    auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                   llvm_plugin::strategies());
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    const auto schedules = llvm_plugin::template_of(*dag, target);
    auto loops = te::lower(*schedules.at(schedules.first));
    ASSERT_TRUE(loops.ok()) << loops.status().message();
    const std::vector<test::Data> in = {test::Data::of(DType::kU8, numbers.x),
                                        test::Data::of(DType::kI8, numbers.weights)};
    EXPECT_EQ(test::run_loops(*loops, in)[0].as<int32_t>(), expected(s, numbers));
  }
}

// Returns the compute that the usual selector chooses.
std::string compute_of(const Layer& s) {
  const te::Target target = *te::parse_target("native");
  const IRModule module = module_of(s);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return dag->stages.back().compute;
}

TEST(DepthwiseIntegers, SumInFloatsAsLongAsTheseAreExact) {
  EXPECT_EQ(compute_of({.h = 30, .w = 30, .kernel = 22}), "f32_sums");  // 484 terms
  EXPECT_EQ(compute_of({.h = 30, .w = 30, .kernel = 23}), "direct");    // 529 terms
}

TEST(DepthwiseIntegers, LoadEachElementOnceAndKeepSumsInRegisters) {
  te::Target target = *te::parse_target("x86-64-v3");
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const Layer s{.c = 64, .h = 56, .w = 56};
  auto listed = llvm_plugin::list_kernel(loops_of(s, "x86-64-v3"), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t kernels = 0;
  for (const std::vector<std::string>& loop : test::innermost_loops(listed->assembly)) {
    if (test::count(loop, "vfmadd.*ymm") != 24) continue;  // 3 taps of 8 cells
    ++kernels;
    EXPECT_LE(test::count(loop, "vpmovzxbd"), 10u) << test::joined(loop);
    EXPECT_EQ(test::count(loop, "\\(%rsp"), 0u) << test::joined(loop);
  }
  EXPECT_GE(kernels, 1u) << listed->assembly;
}

}  // namespace
}  // namespace byoc
