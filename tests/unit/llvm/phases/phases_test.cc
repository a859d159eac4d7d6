// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions by phases of the stride against their definition.
#include <gmock/gmock.h>

#include "byoc/te/evaluate.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/phases/plan.h"
#include "transposed.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using llvm_plugin::phases::Dim;
using llvm_plugin::phases::Range;
using test::Transposed;
using test::TransposedData;

constexpr double kBound = 1e-6;  // of the largest result: sums of few terms in f32

te::Dag dag_of(const Transposed& conv, const te::Target& target,
               const std::string& families = "+phases") {
  IRModule module = test::module_of(conv);
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, families);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

llvm_plugin::KernelLoops loops_of(const Transposed& conv, size_t inputs, const te::Target& target) {
  const te::Dag dag = dag_of(conv, target);
  auto out =
      llvm_plugin::lower_with_constants(dag, inputs == 0 ? dag.inputs.size() : inputs, target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *std::move(out);
}

std::vector<double> expected(const Transposed& conv, const TransposedData& data) {
  std::vector<double> out = test::definition(conv, data);
  for (size_t at = 0; at < out.size(); ++at) {
    double& y = out[at];
    if (conv.has_bias) y = std::max(y, 0.0);
    if (conv.has_residual) y *= double{data.residual[at]} + y;
  }
  return out;
}

std::vector<float> evaluated(const Transposed& conv, const TransposedData& data,
                             const te::Target& target) {
  const te::LoopFunction loops = loops_of(conv, 0, target).loops;
  std::vector<float> out(static_cast<size_t>(conv.n * conv.o * test::product(conv.extents())));
  const void* inputs[] = {data.x.data(), data.weight.data(), data.bias.data()};
  void* outputs[] = {out.data()};
  const Status status = te::evaluate(loops, std::span(inputs, conv.has_bias ? 3 : 2), outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// Compiles and runs; with `constants` the panels are made before.
std::vector<float> compiled(const Transposed& conv, const TransposedData& data, uint32_t threads) {
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  std::vector<test::Data> inputs = {test::f32(data.x), test::f32(data.weight)};
  if (conv.has_bias) inputs.push_back(test::f32(data.bias));
  if (conv.has_residual) inputs.push_back(test::f32(data.residual));
  return test::run_loops(loops_of(conv, 0, target).loops, inputs, {threads, {}})[0].as<float>();
}

TEST(Phases, ComputeTheDefinitionOfAThousandShapes) {
  std::mt19937 random(7);
  te::Target target = llvm_plugin::host_target();
  te::Target small = *te::parse_target("x86-64-v3");
  small.l2_bytes = 2048;  // images in parts, and channels
  for (uint32_t k = 0; k < 1000; ++k) {
    const Transposed conv = test::random_transposed(random);
    SCOPED_TRACE(cat(k, ": ", conv.text()));
    te::Target& own = k % 2 == 0 ? target : small;
    own.threads = 1 + k % 3;
    const TransposedData data = test::data_of(conv, k);
    ASSERT_LE(test::relative_error(evaluated(conv, data, own), expected(conv, data)), kBound);
  }
}

TEST(Phases, AreCompiledForVectorsAndThreads) {
  std::mt19937 random(11);
  for (uint32_t k = 0; k < 40; ++k) {
    const Transposed conv = test::random_transposed(random);
    SCOPED_TRACE(cat(k, ": ", conv.text()));
    const TransposedData data = test::data_of(conv, k);
    ASSERT_LE(test::relative_error(compiled(conv, data, 1 + k % 3), expected(conv, data)), kBound);
  }
}

Transposed layer(int64_t c, int64_t o, Ints in, int64_t kernel, int64_t stride, int64_t pad) {
  const size_t n = in.size();
  return {.c = c,
          .o = o,
          .in = std::move(in),
          .kernel = Ints(n, kernel),
          .strides = Ints(n, stride),
          .dilations = Ints(n, 1),
          .pads = Ints(2 * n, pad),
          .output_padding = Ints(n, 0)};
}

// Large enough for threads, tiles at both ends, and several parts.
TEST(Phases, ShareLargeImagesAmongThreads) {
  for (const Transposed& conv :
       {layer(9, 21, {17, 23}, 4, 2, 1), layer(10, 24, {300}, 16, 8, 4),
        layer(8, 12, {7, 9, 11}, 3, 2, 1), layer(13, 3, {31, 29}, 3, 1, 1)}) {
    SCOPED_TRACE(conv.text());
    const TransposedData data = test::data_of(conv, 3);
    const std::vector<double> right = expected(conv, data);
    for (uint32_t threads : {1u, 3u})
      EXPECT_LE(test::relative_error(compiled(conv, data, threads), right), 2e-6);
  }
}

// Returns the kind of the schedules of a call, and the number of stages that these have.
std::pair<std::string, size_t> merged(const Transposed& conv) {
  const te::Target target = llvm_plugin::host_target();
  const te::Dag dag = dag_of(conv, target);
  const auto schedules = llvm_plugin::template_of(dag, target);
  auto schedule = schedules.at(schedules.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return {schedules.kind, schedule->dag().stages.size()};
}

// Bias, activation and residual are computed where a result is stored: no stage follows the loops.
TEST(Phases, StoreWhatFollowsThem) {
  for (Transposed conv :
       {layer(5, 4, {9, 11}, 4, 2, 1), layer(5, 4, {50}, 16, 8, 4), layer(3, 2, {5, 6, 9}, 3, 2, 1),
        layer(5, 4, {9, 10}, 3, 3, 0), layer(4, 6, {8, 17}, 3, 1, 1)}) {
    SCOPED_TRACE(conv.text());
    conv.has_bias = conv.has_residual = true;
    const size_t classes = llvm_plugin::phases::ranges_of({.in = 9,
                                                           .out = 64,
                                                           .stride = conv.strides[0],
                                                           .kernel = conv.kernel[0],
                                                           .pad = conv.pads[0]})
                               .size();
    size_t panels = 1;
    for (size_t d = 0; d < conv.spatial(); ++d) panels *= classes;
    EXPECT_EQ(merged(conv), std::pair(std::string("phases"), 4 + panels + 1));  // four inputs
    const TransposedData data = test::data_of(conv, 9);
    const std::vector<double> right = expected(conv, data);
    for (uint32_t threads : {1u, 2u})
      EXPECT_LE(test::relative_error(compiled(conv, data, threads), right), kBound);
  }
}

// Short rows have few vectors, and results of many phases none: these are computed afterwards.
TEST(Phases, LeaveWhatFollowsShortRows) {
  for (Transposed conv : {layer(5, 4, {4, 4}, 4, 2, 1), layer(5, 4, {20}, 32, 16, 8)}) {
    SCOPED_TRACE(conv.text());
    conv.has_bias = conv.has_residual = true;
    EXPECT_NE(merged(conv).first, "phases");
    const TransposedData data = test::data_of(conv, 9);
    EXPECT_LE(test::relative_error(compiled(conv, data, 1), expected(conv, data)), kBound);
  }
}

// Constant weights are brought into panels at compile, one set for each class.
TEST(Phases, MakePanelsOfConstantsOnce) {
  const Transposed conv = layer(6, 5, {6, 7}, 3, 2, 1);
  const te::Target target = llvm_plugin::host_target();
  const llvm_plugin::KernelLoops kernel = loops_of(conv, 1, target);
  ASSERT_TRUE(kernel.constants.has_value());
  EXPECT_EQ(kernel.constants->loops.outputs.size(), 4u);
  EXPECT_EQ(kernel.constants->is_kept, std::vector<bool>{false});
  const TransposedData data = test::data_of(conv, 5);
  std::vector<test::Data> inputs = {test::f32(data.x)};
  for (test::Data& panel : test::run_loops(kernel.constants->loops, {test::f32(data.weight)}))
    inputs.push_back(std::move(panel));
  const std::vector<float> y = test::run_loops(kernel.loops, inputs)[0].as<float>();
  EXPECT_LE(test::relative_error(y, expected(conv, data)), kBound);
}

// A phase has the taps that meet a cell: 3 taps of stride 2 are 1 and 2, not 2 and 2.
TEST(Phases, HaveNoTapsOnZerosBetweenCells) {
  auto taps = [](const Dim& dim) {
    std::vector<std::pair<int64_t, int64_t>> out;  // phases, taps of each
    for (const Range& range : llvm_plugin::phases::ranges_of(dim))
      out.emplace_back(range.count, range.taps);
    return out;
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(taps({.in = 9, .out = 17, .stride = 2, .kernel = 3, .pad = 1}),
              ElementsAre(Pair(1, 1), Pair(1, 2)));
  EXPECT_THAT(taps({.in = 9, .out = 18, .stride = 2, .kernel = 4, .pad = 1}),
              ElementsAre(Pair(1, 2), Pair(1, 2)));
  EXPECT_THAT(taps({.in = 9, .out = 18, .stride = 2, .kernel = 2}), ElementsAre(Pair(2, 1)));
  EXPECT_THAT(taps({.in = 9, .out = 72, .stride = 8, .kernel = 16, .pad = 4}),
              ElementsAre(Pair(4, 2), Pair(4, 2)));
  EXPECT_THAT(taps({.in = 9, .out = 9, .stride = 1, .kernel = 3, .dilation = 2, .pad = 2}),
              ElementsAre(Pair(1, 3)));
  EXPECT_THAT(taps({.in = 9, .out = 33, .stride = 4, .kernel = 1}),
              ElementsAre(Pair(1, 1), Pair(3, 0)));
  EXPECT_THAT(taps({.in = 9, .out = 21, .stride = 2, .kernel = 3, .dilation = 2}),
              ElementsAre(Pair(1, 3), Pair(1, 0)));
}

// Counts the multiply-adds of all phases: those of the definition, and no other.
TEST(Phases, HaveTheProductsOfTheDefinition) {
  std::mt19937 random(23);
  for (int k = 0; k < 200; ++k) {
    Transposed conv = test::random_transposed(random);
    SCOPED_TRACE(conv.text());
    for (size_t d = 0; d < conv.spatial(); ++d) {
      const Dim dim{conv.in[d],     conv.out(d),       conv.strides[d],
                    conv.kernel[d], conv.dilations[d], conv.pads[d]};
      int64_t met = 0, expected = 0;
      for (const Range& range : llvm_plugin::phases::ranges_of(dim)) {
        for (int64_t q = 0; q < dim.out; ++q) {
          const int64_t phase = q % dim.stride, j = q / dim.stride;
          if (phase < range.first || phase >= range.first + range.count) continue;
          for (int64_t m = 0; m < range.taps; ++m) {
            const int64_t cell = j + range.base - m * range.step;
            const int64_t tap = range.tap + (phase - range.first) * range.tap_up + m * range.period;
            ASSERT_EQ(cell * dim.stride + tap * dim.dilation - dim.pad, q);
            ASSERT_LT(tap, dim.kernel);
            met += cell >= 0 && cell < dim.in;
          }
        }
      }
      for (int64_t i = 0; i < dim.in; ++i) {
        for (int64_t tap = 0; tap < dim.kernel; ++tap) {
          const int64_t q = i * dim.stride + tap * dim.dilation - dim.pad;
          expected += q >= 0 && q < dim.out;
        }
      }
      EXPECT_EQ(met, expected);
    }
  }
}

std::string compute_of_result(const Transposed& conv, const std::string& families) {
  const te::Dag dag = dag_of(conv, llvm_plugin::host_target(), families);
  return dag.stages[te::stage_of(dag, dag.outputs[0])].compute;
}

TEST(Phases, AreChosenByCostAndLeftOut) {
  EXPECT_EQ(compute_of_result(layer(64, 32, {40, 40}, 4, 2, 1), ""), "phases");
  EXPECT_EQ(compute_of_result(layer(64, 32, {100}, 16, 8, 4), ""), "phases");
  EXPECT_EQ(compute_of_result(layer(16, 8, {8, 8, 8}, 2, 2, 0), ""), "phases");
  EXPECT_EQ(compute_of_result(layer(1, 1, {1}, 1, 1, 0), ""), "direct");
  EXPECT_EQ(compute_of_result(layer(64, 32, {40, 40}, 4, 2, 1), "-phases"), "direct");
}

}  // namespace
}  // namespace byoc
