// SPDX-License-Identifier: Apache-2.0
// Schedules of the program: functions become loops of its own, with their constants as arguments.
#include <random>

#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kNet = R"(fn main(%x: f32[1,3,12,10]) {
  %w = const([0.5, -1.0, 2.0, 0.25, 1.0, 1.0, -0.5, 0.0, 0.125, 3.0, 1.0, -2.0,
              1.5, 0.0, 0.0, 0.5, -1.0, 2.0, 0.5, 1.0, 2.0, -3.0, 0.5, 0.5]) : f32[2,3,2,2]
  %0 = conv2d(%x, %w) loc("conv")
  %1 = relu(%0) loc("act")
  return %1
})";

/// Splits the last loop of the last stage by 4 and vectorizes it, where the stage has loops.
std::optional<Result<te::Schedule>> vectors_of_four(const te::Dag& dag) {
  te::Schedule schedule(dag);
  const std::string& last = dag.stages.back().name;
  const std::vector<std::string> loops = schedule.loops(last);
  if (loops.empty() || !std::holds_alternative<te::Compute>(dag.stages.back().kind)) return {};
  if (!std::get<te::Compute>(dag.stages.back().kind).reduce.empty()) return {};
  Status status = schedule.split(last, loops.back(), 4);
  if (status.ok()) status = schedule.vectorize(last, cat(loops.back(), ".i"));
  if (!status.ok()) return Result<te::Schedule>(std::move(status));
  return Result<te::Schedule>(std::move(schedule));
}

std::vector<std::string> plugins_with_loops() {
  std::vector<std::string> out = {"json"};
  if (built_plugins()->find("llvm") != nullptr) out.push_back("llvm");
  return out;
}

TEST(Providers, AScheduleOfTheProgramIsCompiledByEachPluginWithTheFlag) {
  const IRModule module = parse(kNet);
  for (const std::string& id : plugins_with_loops()) {
    const BuildOptions options = options_for(built_plugins(), {id}, {.provider = vectors_of_four});
    EXPECT_THAT(built_kernels(module, options), Each(HasSubstr("direct"))) << id;
    expect_like_reference(module, options);
  }
}

TEST(Providers, LoopsKeepTheNamesAndTheWorkOfTheirOps) {
  const IRModule module = parse(kNet);
  BuildOptions options = options_for(selective_plugins({}), {"json"});
  options.level = 1;
  auto function_of = [&](te::Policies policies) {
    options.policies = handed_in(std::move(policies));
    Result<Executable> executable = build(module, options);
    EXPECT_TRUE(executable.ok()) << executable.status().to_string();
    return executable->modules.at(0).functions.at(0);
  };
  const ExternalFunction ops = function_of({}), loops = function_of({.provider = vectors_of_four});
  EXPECT_EQ(loops.implementation, "reference loops: direct");
  EXPECT_THAT(loops.locs, ElementsAre("conv", "act"));
  EXPECT_EQ(loops.locs, ops.locs);
  EXPECT_EQ(loops.flops, ops.flops);
  EXPECT_GT(loops.flops, 2.0 * 2 * 11 * 9 * 12);
  EXPECT_EQ(loops.ops, ops.ops);
}

TEST(Providers, NulloptLeavesTheFunctionToThePlugin) {
  size_t calls = 0;
  auto none = [&](const te::Dag&) -> std::optional<Result<te::Schedule>> {
    return ++calls, std::nullopt;
  };
  const BuildOptions options = options_for(selective_plugins({}), {"json"}, {.provider = none});
  EXPECT_THAT(built_kernels(parse(kNet), options), Each(HasSubstr(": reference")));
  EXPECT_GT(calls, 0u);
}

TEST(Providers, TheInnerScopeComesFirstAndTheOuterOneNext) {
  std::vector<std::string> asked;
  auto named = [&](std::string name, bool has) -> te::ScheduleProvider {
    return [&asked, name, has](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
      asked.push_back(name);
      if (!has) return std::nullopt;
      return Result<te::Schedule>(te::Schedule(dag));
    };
  };
  const IRModule module = parse("fn main(%x: f32[5]) { %0 = exp(%x)  return %0 }");
  te::ApplyPolicies outer({.provider = named("outer", true)});
  te::ApplyPolicies inner({.provider = named("inner", false)});
  const BuildOptions options =
      options_for(selective_plugins({}), {"json"}, {.provider = named("options", true)});
  EXPECT_THAT(built_kernels(module, options), ElementsAre(HasSubstr("reference loops: direct")));
  EXPECT_THAT(asked, ElementsAre("inner", "outer"));
}

TEST(Providers, AnErrorNamesTheFunctionAndItsOps) {
  auto fails = [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    te::Schedule schedule(dag);
    return Result<te::Schedule>(schedule.split(dag.stages.back().name, "i9", 4));
  };
  const BuildOptions options = options_for(selective_plugins({}), {"json"}, {.provider = fails});
  EXPECT_THAT(built_kernels(parse(kNet), options),
              Each(AllOf(HasSubstr("i9"), HasSubstr("@json_main_0"),
                         HasSubstr("the schedule of conv2d_relu"))));
}

TEST(Providers, TheScheduleOfAnotherComputationIsRefused) {
  auto other = [](const te::Dag&) -> std::optional<Result<te::Schedule>> {
    te::Builder b;
    te::Tensor x = b.placeholder("x", DType::kF32, {7});
    te::Tensor y = b.compute("y", {7}, [&](const te::Indices& i) { return x(i) + x(i); });
    return Result<te::Schedule>(te::Schedule(b.finish("other", {x}, {y})));
  };
  const BuildOptions options = options_for(selective_plugins({}), {"json"}, {.provider = other});
  Result<Executable> executable = build(parse(kNet), options);
  EXPECT_EQ(executable.status().slug(), "provider-loops");
  EXPECT_THAT(executable.status().to_string(),
              AllOf(HasSubstr("f32[7]"), HasSubstr("f32[2,3,2,2]"), HasSubstr("@json_main_0")));
}

TEST(Providers, PluginsWithoutTheFlagAreLeftAlone) {
  auto all = [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    return Result<te::Schedule>(te::Schedule(dag));
  };
  const auto plugins = selective_plugins({{"a", {{"ops", "relu"}}}});
  const BuildOptions options =
      options_for(plugins, {"a"}, {.strategies = with_mean(20), .provider = all});
  EXPECT_THAT(built_kernels(parse(R"(fn main(%x: f32[6]) {
                %0 = relu(%x)
                %1 = exp(%0)
                return %1
              })"),
                            options),
              ElementsAre("a a_main_0: ", "json json_main_0: reference loops: direct"));
}

TEST(Providers, WhatAPluginDeclinesIsChosenForTheNextOne) {
  const auto plugins = selective_plugins({{"a", {{"ops", "relu"}, {"decline", "relu"}}}});
  const BuildOptions options = options_for(plugins, {"a"}, {.strategies = with_mean(20)});
  EXPECT_THAT(built_kernels(parse("fn main(%x: f32[6]) { %0 = relu(%x)  return %0 }"), options),
              ElementsAre(HasSubstr("reference loops: mean")));
}

TEST(Providers, FunctionsThatAreCalledOftenAndShareConstantsKeepTheirResults) {
  const IRModule module = parse(R"(
    fn f(%x: f32[2,3]) {compiler="json"} {
      %w = const([1.0, -2.0, 0.5]) : f32[1,3]
      %0 = multiply(%x, %w)
      %1 = relu(%0)
      %2 = add(%1, %w)
      return %2
    }
    fn main(%x: f32[2,3], %y: f32[2,3]) {
      %0 = @f(%x)
      %1 = @f(%y)
      %2 = @f(%0)
      return %1, %2
    })");
  for (const std::string& id : plugins_with_loops()) {
    const BuildOptions options = options_for(
        built_plugins(), {id}, {.strategies = with_mean(20), .provider = vectors_of_four});
    EXPECT_THAT(built_kernels(module, options), Each(HasSubstr(": mean"))) << id;
    expect_like_reference(module, options);
  }
}

// Every dim is 0, 1, or small, and every function gets the schedule and the compute of the program.
TEST(Providers, GeneratedShapesGiveTheResultsOfTheReference) {
  std::mt19937 random(20);
  auto pick = [&](std::initializer_list<int64_t> from) {
    return from.begin()[random() % from.size()];
  };
  for (int round = 0; round < 10; ++round) {
    const int64_t n = pick({0, 1, 2}), c = pick({1, 3}), h = pick({1, 4, 7}), w = pick({1, 5, 9}),
                  o = pick({1, 4}), k = pick({1, 3});
    const IRModule module =
        parse(cat("fn main(%x: f32[", n, ",", c, ",", h, ",", w, "], %w: f32[", o, ",", c, ",", k,
                  ",", k, "], %b: f32[", o,
                  ",1,1]) {\n %0 = conv2d(%x, %w) {pads=[1,1,1,1]}\n %1 = add(%0, "
                  "%b)\n %2 = relu(%1)\n %3 = softmax(%2) {axis=1}\n return %3\n}"));
    for (const std::string& id : plugins_with_loops()) {
      const BuildOptions options = options_for(
          built_plugins(), {id}, {.strategies = with_mean(20), .provider = vectors_of_four});
      expect_like_reference(module, options, 100 + static_cast<uint64_t>(round));
    }
    if (HasFailure()) FAIL() << print(module);
  }
}

TEST(Providers, TheSameBuildGivesTheSameBytes) {
  const IRModule module = parse(kNet);
  for (const std::string& id : plugins_with_loops()) {
    const BuildOptions options = options_for(
        built_plugins(), {id}, {.strategies = with_mean(20), .provider = vectors_of_four});
    Result<Executable> a = build(module, options), b = build(module, options);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_EQ(a->modules.size(), b->modules.size());
    for (size_t k = 0; k < a->modules.size(); ++k) EXPECT_EQ(a->modules[k], b->modules[k]);
  }
}

}  // namespace
}  // namespace byoc::test
