// SPDX-License-Identifier: Apache-2.0
// Chains of convolutions as one kernel against their definition.
#include <gmock/gmock.h>

#include <cmath>

#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/chain/schedule.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/chain/chain.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using test::Chain, test::Operands, test::dag_of, test::definition, test::operands_of,
    test::relative_error;

constexpr double kBound = 1e-5;  // of the largest output

// Returns the trace of a point of the chain's own template; empty when it has none, or when the
// default schedule is used in its place.
std::string trace_of(const te::Dag& dag, const te::Target& target,
                     const llvm_plugin::topi::Point& more = {}) {
  const auto schedules = llvm_plugin::family_named("chain").schedules(dag, target);
  if (!schedules) return "";
  llvm_plugin::topi::Point point = schedules->first;
  for (const auto& [knob, value] : more) point[knob] = value;
  const std::string trace = te::print(schedules->at(point)->trace());
  const auto plain = llvm_plugin::topi::default_template(dag, target);
  return trace == te::print(plain.at(plain.first)->trace()) ? "" : trace;
}

std::vector<test::Data> inputs_of(const Operands& operands) {
  std::vector<test::Data> out;
  for (const std::vector<float>& values : operands) out.push_back(test::f32(values));
  return out;
}

void expect_definition(const Chain& chain, uint32_t threads = 1) {
  SCOPED_TRACE(cat(chain.n, " images of ", chain.h, "x", chain.w, ", ", chain.c, ", ", chain.mid,
                   ", ", chain.o, " channels in ", chain.lanes, ", window ", chain.rows, "x",
                   chain.columns, ", stride ", chain.stride, ", pad ", chain.pad, ", dilation ",
                   chain.dilation, ", ", chain.between, ", ", threads, " threads"));
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  const te::Dag dag = dag_of(chain, target);
  const std::string trace = trace_of(dag, target);
  EXPECT_EQ(chain.c > 0, trace.find("rolling_buffer(") != std::string::npos) << trace;
  EXPECT_NE(trace, "");
  const Operands operands = operands_of(chain);
  auto kernel = llvm_plugin::lower_with_constants(dag, dag.inputs.size(), target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto y = test::run_loops(kernel->loops, inputs_of(operands), {threads, {}});
  EXPECT_LE(relative_error(y[0].as<float>(), definition(chain, operands)), kBound);
}

TEST(Chain, ComputesAllThreeConvolutionsOrTwo) {
  for (int64_t c : {0, 16}) {
    for (int64_t o : {0, 24}) {
      if (c + o > 0) expect_definition({.c = c, .o = o});
    }
  }
}

TEST(Chain, ComputesWindowsOfAllKinds) {
  for (int64_t rows : {1, 2, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 2})
        expect_definition({.h = 13, .rows = rows, .stride = stride, .pad = pad});
    }
  }
  expect_definition({.h = 12, .rows = 3, .columns = 1, .dilation = 3});
  expect_definition({.rows = 1, .columns = 7, .pad = 3});
}

TEST(Chain, ComputesImagesOfFewRowsAndColumns) {
  for (int64_t h : {1, 2, 3}) {
    for (int64_t w : {1, 2, 15}) expect_definition({.h = h, .w = w, .stride = 2});
  }
}

TEST(Chain, ComputesBlocksOfAnyNumber) {
  for (int64_t mid : {8, 24, 56}) {
    expect_definition({.mid = mid});
    expect_definition({.c = 24, .mid = mid, .o = 8, .between = "silu"});
  }
  expect_definition({.c = 16, .mid = 48, .o = 32, .lanes = 16});
}

TEST(Chain, AppliesWhatIsBetweenAndAfter) {
  for (const char* op : {"", "relu", "silu"}) {
    expect_definition({.between = op, .has_residual = true});
    expect_definition({.c = 0, .between = op, .has_residual = true});
  }
}

// Each part of the rows computes its first rows of the image itself.
TEST(Chain, DividesRowsAndImagesAmongThreads) {
  for (int64_t n : {1, 2, 3}) {
    for (uint32_t threads : {1u, 2u, 3u}) {
      expect_definition({.n = n, .h = 12}, threads);
      expect_definition({.n = n, .o = 0, .h = 13, .stride = 2}, threads);
    }
  }
}

// Returns a point with a random value of each knob.
llvm_plugin::topi::Point some_point(const llvm_plugin::topi::Choices& choices,
                                    std::mt19937& random) {
  llvm_plugin::topi::Point out;
  for (const llvm_plugin::topi::Knob& knob : choices.knobs)
    out[knob.name] = knob.values[random() % knob.values.size()];
  return out;
}

// The order of each sum stays the same.
TEST(Chain, ComputesTheSameAtAllPoints) {
  const Chain chain{.c = 16, .mid = 48, .o = 24, .h = 16, .w = 19, .stride = 2};
  te::Target target = llvm_plugin::host_target();
  target.threads = 2;
  const te::Dag dag = dag_of(chain, target);
  const auto schedules = llvm_plugin::family_named("chain").schedules(dag, target);
  ASSERT_TRUE(schedules);
  const auto choices = schedules->choices();
  EXPECT_EQ(choices.guesses.front(), schedules->first);
  const std::vector<test::Data> inputs = inputs_of(operands_of(chain));
  auto run = [&](const llvm_plugin::topi::Point& point) {
    EXPECT_NE(trace_of(dag, target, point), "");
    auto loops = te::lower(*schedules->at(point));
    EXPECT_TRUE(loops.ok());
    return test::run_loops(*loops, inputs, {2, {}})[0].as<float>();
  };
  const std::vector<float> expected = run(schedules->first);
  EXPECT_LE(relative_error(expected, definition(chain, operands_of(chain))), kBound);
  std::mt19937 random(1);
  for (int k = 0; k < 12; ++k) EXPECT_EQ(run(some_point(choices, random)), expected);
}

// Blocks of half a vector with constant weights are summed two at a time, the last one alone.
TEST(Chain, JoinsHalfBlocksOfConstantWeights) {
  const te::Target target = llvm_plugin::host_target();
  for (int64_t mid : {24, 32}) {
    for (int64_t o : {8, 16, 40}) {
      const Chain chain{.c = 16, .mid = mid, .o = o, .h = 8, .w = 9};
      SCOPED_TRACE(cat(mid, ", ", o, " channels"));
      IRModule module = test::module_of(chain);
      module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
      auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                     llvm_plugin::strategies());
      ASSERT_TRUE(dag.ok()) << dag.status().message();
      auto found = llvm_plugin::chain::find_chain(*dag);
      ASSERT_TRUE(found && found->before && found->after);
      const int64_t joined = target.lanes(sizeof(float)) == 16 ? 2 : 1;
      EXPECT_EQ(found->before->joined, joined);
      EXPECT_EQ(found->after->joined, o == 8 ? 1 : joined);
      auto kernel = llvm_plugin::lower_with_constants(*dag, 1, target);
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      const Operands operands = operands_of(chain);
      std::vector<test::Data> all = inputs_of(operands), inputs = {all[0]};
      if (kernel->constants) {
        all.erase(all.begin());
        for (test::Data& made : test::run_loops(kernel->constants->loops, all))
          inputs.push_back(std::move(made));
      } else {
        inputs = all;
      }
      const auto y = test::run_loops(kernel->loops, inputs);
      EXPECT_LE(relative_error(y[0].as<float>(), definition(chain, operands)), kBound);
    }
  }
}

// A check of indices of inputs, which is no loop of the chain, stays outside.
TEST(Chain, EndsWithAGatherOfInputs) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {DType::kF32, {1, 2, 9, 9, 8}});
  const ValueId d = f.param("d", {DType::kF32, {2, 1, 3, 3, 1, 8}});
  const ValueId p = f.param("p", {DType::kF32, {2, 2, 1, 1, 8, 8}});
  const ValueId table = f.param("table", {DType::kF32, {5, 2, 1, 1, 8}});
  const ValueId row = f.param("row", {DType::kI64, {1}});
  const ValueId y = f.call("conv2d_nchwc", {x, d}, {{"group", int64_t{16}}, {"pads", Ints(4, 1)}});
  const ValueId scale = f.call("gather", {table, row});
  ASSERT_TRUE(f.finish("main", {f.call("multiply", {f.call("conv2d_nchwc", {y, p}), scale})}).ok());
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "+chain");
  const te::Target target = llvm_plugin::host_target();
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  ASSERT_TRUE(dag.ok()) << dag.status().message();
  EXPECT_NE(trace_of(*dag, target), "");
  const Chain chain{.c = 0, .mid = 16, .o = 16, .h = 9, .w = 9, .between = ""};
  const Operands operands = operands_of(chain);
  std::vector<float> factors;
  for (int k = 0; k < 5 * 16; ++k) factors.push_back(static_cast<float>(k) - 30);
  std::vector<test::Data> inputs = inputs_of(operands);
  inputs.push_back(test::f32(factors));
  inputs.push_back(test::Data::of(DType::kI64, std::vector<int64_t>{3}));
  std::vector<double> expected = definition(chain, operands);
  for (size_t k = 0; k < expected.size(); ++k)  // [2, 81, 8] times row 3
    expected[k] *= double{factors[3 * 16 + k / (81 * 8) * 8 + k % 8]};
  auto kernel = llvm_plugin::lower_with_constants(*dag, dag->inputs.size(), target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto result = test::run_loops(kernel->loops, inputs);
  EXPECT_LE(relative_error(result[0].as<float>(), expected), kBound);
}

// The parts of rows with the fewest multiply-adds for the busiest thread, as each part computes the
// rows of its first window itself.
TEST(Chain, DividesRowsWhereItSavesTime) {
  auto parts = [](const Chain& chain, int64_t threads, int64_t least = 1) {
    const te::Dag dag = dag_of(chain, llvm_plugin::host_target());
    return llvm_plugin::chain::row_parts_of(*llvm_plugin::chain::find_chain(dag), threads, least);
  };
  EXPECT_EQ(parts({.h = 56}, 1), 1);
  EXPECT_EQ(parts({.h = 56}, 2), 2);
  EXPECT_EQ(parts({.n = 8, .h = 28}, 8), 1);     // an image each
  EXPECT_EQ(parts({.n = 8, .h = 28}, 8, 2), 2);  // a point's parts are kept
  EXPECT_EQ(parts({.c = 0, .h = 56}, 7), 7);     // without windows before, evenly
  EXPECT_EQ(parts({.c = 64, .o = 8, .h = 56, .pad = 8, .dilation = 8}, 12), 8);  // of 17 rows
}

// The rows that are kept: those of one window of the image, and one of the depthwise convolution.
TEST(Chain, KeepsRowsAlone) {
  const Chain chain{.c = 16, .mid = 32, .o = 16, .h = 40, .w = 24};
  te::Target target = llvm_plugin::host_target();
  const te::Dag dag = dag_of(chain, target);
  auto kernel = llvm_plugin::lower_with_constants(dag, dag.inputs.size(), target);
  ASSERT_TRUE(kernel.ok());
  const std::string text = te::print(kernel->loops);
  EXPECT_THAT(text, testing::HasSubstr("f32[1, 4, 3, 24, 8]"));  // three rows of the image
  EXPECT_THAT(text, testing::HasSubstr("f32[1, 4, 1, 24, 8]"));  // one after the depthwise one
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("f32[1, 4, 40, 24, 8]")));
}

// Functions with convolutions of other kinds, or more of them, are no chain.
TEST(Chain, LeavesOtherFunctionsToOtherSchedules) {
  for (bool is_depthwise : {false, true}) {
    IRModule module;
    FunctionBuilder f(module, all_ops());
    const ValueId x = f.param("x", {DType::kF32, {1, 2, 9, 9, 8}});
    const ValueId e = f.param("e", {DType::kF32, {2, 2, 1, 1, 8, 8}});
    const ValueId d = f.param("d", {DType::kF32, {2, 1, 3, 3, 1, 8}});
    const ValueId k = f.param("k", {DType::kF32, {2, 2, 3, 3, 8, 8}});
    const Attrs attrs = {{"group", int64_t{16}}, {"pads", Ints(4, 1)}};
    ValueId y = f.call("conv2d_nchwc", {f.call("conv2d_nchwc", {x, e}), d}, attrs);
    y = is_depthwise ? f.call("conv2d_nchwc", {y, d}, attrs)
                     : f.call("conv2d_nchwc", {y, k}, {{"pads", Ints(4, 1)}});
    ASSERT_TRUE(f.finish("main", {y}).ok());
    const te::Target target = llvm_plugin::host_target();
    auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                   llvm_plugin::strategies());
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    EXPECT_EQ(trace_of(*dag, target), "");
    EXPECT_TRUE(llvm_plugin::lower_with_constants(*dag, dag->inputs.size(), target).ok());
  }
}

}  // namespace
}  // namespace byoc
