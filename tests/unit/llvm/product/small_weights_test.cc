// SPDX-License-Identifier: Apache-2.0
// Products of bytes by constant weights of at most 64: processors without VNNI multiply them as
// bytes. Compared with sums by the definition in i64.
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

struct Weights {
  int64_t most = 64;
  bool are_ends = true;  // each is -most or most
};

std::vector<uint8_t> bytes_of(int64_t count, std::mt19937& random) {
  std::vector<uint8_t> out;
  for (int64_t k = 0; k < count; ++k)
    out.push_back(random() % 4 == 0 ? static_cast<uint8_t>(random()) : 255);
  return out;
}

// Returns runs of weights of one sign, so that sums reach their limits.
std::vector<int8_t> weights_of(int64_t count, const Weights& of, std::mt19937& random) {
  std::vector<int8_t> out;
  int64_t sign = 1;
  for (int64_t k = 0; k < count; ++k) {
    if (random() % 16 == 0) sign = -sign;
    const auto size = static_cast<int64_t>(random() % static_cast<uint32_t>(of.most + 1));
    out.push_back(static_cast<int8_t>(sign * (of.are_ends ? of.most : size)));
  }
  return out;
}

te::Dag dag_of(IRModule& module, const te::Target& target) {
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

te::LoopFunction tiled_loops_of(const te::Dag& dag, const te::Target& target) {
  const auto schedules = llvm_plugin::template_of(dag, target);
  auto schedule = schedules.at(schedules.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

te::Dag product_of(int64_t m, int64_t k, int64_t n, int64_t most, const te::Target& target) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId y = f.call("matmul_integers",
                           {f.param("a", {DType::kU8, {m, k}}), f.param("b", {DType::kI8, {k, n}})},
                           {{"most_weight", most}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  return dag_of(module, target);
}

size_t count_of(const te::Dag& dag, const te::Target& target, const char* instruction) {
  auto machine = llvm_plugin::machine_of(target);
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  auto listed = llvm_plugin::list_kernel(tiled_loops_of(dag, target), *machine, {});
  EXPECT_TRUE(listed.ok()) << listed.status().message();
  size_t out = 0;
  for (const std::vector<std::string>& loop : test::innermost_loops(listed->assembly)) {
    const size_t found = test::count(loop, instruction);
    if (found >= 8) {
      EXPECT_EQ(test::count(loop, "\\(%rsp"), 0u) << test::joined(loop);
    }
    out += found;
  }
  return out;
}

TEST(SmallWeights, GiveExactProductsAtTheEndsOfTheirRanges) {
  std::mt19937 random(1);
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() >> 5) % most; };
  for (int round = 0; round < 60; ++round) {
    const int64_t m = round % 4 == 0 ? 1 : up_to(40), k = up_to(300), n = up_to(90);
    const auto a = bytes_of(m * k, random);
    const auto b = weights_of(k * n, {.are_ends = round % 2 == 0}, random);
    std::vector<int32_t> expected;
    for (int64_t at = 0; at < m * n; ++at) {
      int64_t sum = 0;
      for (int64_t r = 0; r < k; ++r)
        sum += int64_t{a[static_cast<size_t>(at / n * k + r)]} *
               b[static_cast<size_t>(r * n + at % n)];
      expected.push_back(static_cast<int32_t>(sum));
    }
    for (const char* name : {"native", "x86-64-v3", "x86-64-v2"}) {
      const te::Target target = *te::parse_target(name);
      const te::Dag dag = product_of(m, k, n, 64, target);
      const auto y = test::run_loops(tiled_loops_of(dag, target), {test::Data::of(DType::kU8, a),
                                                                   test::Data::of(DType::kI8, b)});
      ASSERT_EQ(y[0].as<int32_t>(), expected) << name << ": " << m << " x " << k << " x " << n;
    }
  }
}

// Blocks of 16 channels; the pointwise form, and windows with edges.
TEST(SmallWeights, GiveExactConvolutions) {
  std::mt19937 random(2);
  const te::Target target = *te::parse_target("x86-64-v3");
  constexpr int64_t kC = 32, kO = 48, kH = 7, kW = 9, kBlock = 16;
  for (const int64_t kernel : {1, 3}) {
    const int64_t pad = kernel / 2, taps = kernel * kernel;
    const auto x = bytes_of(kC * kH * kW, random);
    const auto w = weights_of(kO * kC * taps, {}, random);
    IRModule module;
    FunctionBuilder f(module, all_ops());
    const ValueId y = f.call("conv2d_nchwc_integers",
                             {f.param("x", {DType::kU8, {1, kC / kBlock, kH, kW, kBlock}}),
                              f.param("w", {DType::kI8, {kO, kC, kernel, kernel}})},
                             {{"pads", Ints{pad, pad, pad, pad}},
                              {"pad_value", int64_t{255}},
                              {"block", kBlock},
                              {"most_weight", int64_t{64}}});
    ASSERT_TRUE(f.finish("main", {y}).ok());
    const te::Dag dag = dag_of(module, target);
    std::vector<int32_t> expected;
    for (int64_t at = 0; at < kO * kH * kW; ++at) {
      const int64_t lane = at % kBlock, column = at / kBlock % kW, row = at / kBlock / kW % kH;
      const int64_t o = at / kBlock / kW / kH * kBlock + lane;
      int64_t sum = 0;
      for (int64_t c = 0; c < kC; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t r = row + tap / kernel - pad, q = column + tap % kernel - pad;
          const bool is_inside = 0 <= r && r < kH && 0 <= q && q < kW;
          const int64_t cell = ((c / kBlock * kH + r) * kW + q) * kBlock + c % kBlock;
          sum += (is_inside ? int64_t{x[static_cast<size_t>(cell)]} : 255) *
                 w[static_cast<size_t>((o * kC + c) * taps + tap)];
        }
      }
      expected.push_back(static_cast<int32_t>(sum));
    }
    const auto out = test::run_loops(tiled_loops_of(dag, target), {test::Data::of(DType::kU8, x),
                                                                   test::Data::of(DType::kI8, w)});
    EXPECT_EQ(out[0].as<int32_t>(), expected) << "a window of " << kernel;
    EXPECT_GT(count_of(dag, target, "vpmaddubsw"), 0u);
  }
}

TEST(SmallWeights, AreMultipliedAsBytesOnlyIfTheyAreSmall) {
  const te::Target target = *te::parse_target("x86-64-v3");
  EXPECT_GE(count_of(product_of(32, 256, 64, 64, target), target, "vpmaddubsw"), 8u);
  EXPECT_EQ(count_of(product_of(32, 256, 64, 65, target), target, "vpmaddubsw"), 0u);
  EXPECT_GE(count_of(product_of(32, 256, 64, 128, target), target, "vpmaddwd"), 8u);
}

}  // namespace
}  // namespace byoc
