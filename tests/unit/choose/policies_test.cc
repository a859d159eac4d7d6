// SPDX-License-Identifier: Apache-2.0
// Each policy makes a build take another compute: of the program's own, or of a plugin.
#include "byoc/tune/history.h"
#include "byoc/tune/task.h"
#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kRelu = R"(fn main(%x: f32[3,40]) {
  %0 = relu(%x) loc("r")
  %1 = tanh(%0)
  return %1
})";

// The plugin a has relu with the knob compute; json compiles the rest.
std::shared_ptr<const PluginSet> with_computes(const std::string& computes,
                                               const std::string& costs = "") {
  return selective_plugins({{"a", {{"ops", "relu"}, {"computes", computes}, {"costs", costs}}}});
}

std::string relu_kernel(std::shared_ptr<const PluginSet> plugins, te::Policies policies) {
  return built_kernels(parse(kRelu),
                       options_for(std::move(plugins), {"a"}, std::move(policies)))[0];
}

TEST(Policies, ATableOfTheProgramIsUsedByLevel) {
  const auto plugins = selective_plugins({});
  const IRModule module = parse(kRelu);
  BuildOptions high = options_for(plugins, {"json"}, {.strategies = with_mean(20)}),
               low = options_for(plugins, {"json"}, {.strategies = with_mean(5)});
  EXPECT_THAT(built_kernels(module, high), ElementsAre("json json_main_0: reference loops: mean"));
  EXPECT_THAT(built_kernels(module, low), ElementsAre("json json_main_0: reference"));
  expect_like_reference(module, high);
}

TEST(Policies, ByCostTakesTheCheapestOfTheProgram) {
  const auto plugins = selective_plugins({});
  auto kernels = [&](double mean_ns) {
    te::Policies policies{.strategies = with_mean(5, mean_ns, 100), .selector = te::by_cost()};
    const BuildOptions options = options_for(plugins, {"json"}, policies);
    expect_like_reference(parse(kRelu), options);
    return built_kernels(parse(kRelu), options);
  };
  EXPECT_THAT(kernels(99), ElementsAre("json json_main_0: reference loops: mean"));
  EXPECT_THAT(kernels(101), ElementsAre("json json_main_0: reference"));
}

TEST(Policies, AConstraintExcludesWhatTheLevelPrefers) {
  const auto plugins = selective_plugins({});
  auto is_direct = [](const te::Site&, const te::Strategy& s) { return s.name == "direct"; };
  te::Policies policies{.strategies = with_mean(20),
                        .selector = te::only(is_direct, te::by_level())};
  EXPECT_THAT(built_kernels(parse(kRelu), options_for(plugins, {"json"}, policies)),
              ElementsAre("json json_main_0: reference"));
}

TEST(Policies, ThePluginsComputesAreChosenByLevelAndCost) {
  const auto plugins = with_computes("direct,fast", "direct:20,fast:10");
  EXPECT_EQ(relu_kernel(plugins, {}), "a a_main_0: compute direct");
  EXPECT_EQ(relu_kernel(plugins, {.selector = te::by_level()}),
            "a a_main_0: compute direct: direct");
  EXPECT_EQ(relu_kernel(plugins, {.selector = te::by_cost()}), "a a_main_0: compute fast: fast");
  const auto usual = with_computes("fast,direct", "direct:5,fast:10");
  EXPECT_EQ(relu_kernel(usual, {.selector = te::by_level()}), "a a_main_0: compute fast: fast");
  EXPECT_EQ(relu_kernel(usual, {.selector = te::by_cost()}), "a a_main_0: compute direct: direct");
}

TEST(Policies, OnlyGenericLeavesComputesWithSchedulesOfTheirOwnOut) {
  EXPECT_EQ(
      relu_kernel(with_computes("fast,direct"), {.selector = te::only_generic(te::by_level())}),
      "a a_main_0: compute direct: direct");
}

TEST(Policies, AnOpWithoutAnAllowedComputeIsAnError) {
  auto none = [](const te::Site&, const te::Strategy&) { return false; };
  EXPECT_THAT(
      relu_kernel(with_computes("direct,fast"), {.selector = te::only(none, te::by_level())}),
      AllOf(HasSubstr("no compute of relu is allowed; there are direct, fast"),
            HasSubstr("@a_main_0")));
}

TEST(Policies, ASelectorOfTheProgramIsCalledOncePerCallWithAllComputes) {
  std::vector<std::string> seen;
  te::Policies policies;
  policies.selector = [&](const te::Site& site,
                          std::span<const te::Strategy> all) -> Result<size_t> {
    std::string names(site.op->name);
    for (const te::Strategy& strategy : all) names += cat(" ", strategy.name);
    seen.push_back(names);
    return all.size() - 1;
  };
  EXPECT_EQ(relu_kernel(with_computes("direct,fast,faster"), policies),
            "a a_main_0: compute faster: faster");
  EXPECT_THAT(seen, ElementsAre("relu direct fast faster"));
}

tune::Record record_of(const IRModule& module, const BuildOptions& options,
                       const std::string& compute) {
  auto tasks = tune::extract_tasks(module, options);
  EXPECT_TRUE(tasks.ok()) << tasks.status().to_string();
  const tune::Task& task = tasks->at(0);
  tune::Record record;
  record.plugin = task.plugin, record.task = task.space.task, record.kind = task.space.kind;
  record.key = task.key, record.target = *tune::record_target("{}");
  record.point = {{"compute", compute}}, record.samples_ns = {100};
  return record;
}

TEST(Policies, FromHistoryTakesWhatWasRecordedUnlessARuleForbidsIt) {
  const auto plugins = with_computes("direct,fast", "direct:20,fast:30");
  const IRModule module = parse(kRelu);
  BuildOptions options = options_for(plugins, {"a"});
  options.history = tune::History::of({record_of(module, options, "fast")});
  auto kernel = [&](te::StrategySelector selector) {
    options.policies = handed_in({.selector = std::move(selector)});
    return built_kernels(module, options)[0];
  };
  options.policies = nullptr;
  EXPECT_EQ(built_kernels(module, options)[0], "a a_main_0: compute fast");
  EXPECT_EQ(kernel(te::from_history(te::by_level())), "a a_main_0: compute fast: fast");
  EXPECT_EQ(kernel(te::by_cost()), "a a_main_0: compute direct: direct");
  EXPECT_EQ(kernel(te::prefer("direct", te::by_level())), "a a_main_0: compute direct: direct");
  EXPECT_EQ(kernel(te::from_history({{"relu(f32[3,40])", "direct"}}, te::by_level())),
            "a a_main_0: compute direct: direct");
}

TEST(Policies, ScopesNestAndComeBeforeTheOptions) {
  const auto plugins = with_computes("direct,fast,faster");
  const te::Policies outer{.selector = te::prefer("fast", te::by_level())},
      inner{.selector = te::prefer("faster", te::by_level())};
  EXPECT_EQ(relu_kernel(plugins, outer), "a a_main_0: compute fast: fast");
  te::ApplyPolicies scope(inner);
  EXPECT_EQ(relu_kernel(plugins, outer), "a a_main_0: compute faster: faster");
  {
    te::ApplyPolicies nested(outer);
    EXPECT_EQ(relu_kernel(plugins, {}), "a a_main_0: compute fast: fast");
  }
  EXPECT_EQ(relu_kernel(plugins, {}), "a a_main_0: compute faster: faster");
}

TEST(Policies, WithoutPoliciesNothingChanges) {
  const auto plugins = with_computes("direct,fast");
  const IRModule module = parse(kRelu);
  const PassContext context = context_of(module, plugins, {"a"});
  const std::string before =
      "infer_types,annotate_target=a,merge_compiler_regions,partition_graph,fuse_ops";
  expect_equal(run(module, cat(before, ",choose_computes"), context), run(module, before, context));
}

TEST(Policies, ThePassRunTwiceHasTheEffectOfOnce) {
  const auto plugins = with_computes("direct,fast");
  const IRModule module = parse(kRelu);
  PassContext context = context_of(module, plugins, {"a"});
  context.policies = {handed_in({.strategies = with_mean(5)})};
  const std::string once =
      "infer_types,annotate_target=a,merge_compiler_regions,partition_graph,fuse_ops,"
      "choose_computes=fast";
  const IRModule chosen = run(module, once, context);
  EXPECT_EQ(chosen.function("a_main_0").attr("compute"), "fast");
  expect_equal(run(module, cat(once, ",choose_computes=fast"), context), chosen);
  expect_equal(parse(print(chosen)), chosen);
}

TEST(Policies, TasksOfAFunctionWithAChosenComputeHaveNoOther) {
  const auto plugins = with_computes("direct,fast,faster");
  const IRModule module = parse(kRelu);
  auto tasks = [&](te::Policies policies) {
    return tune::extract_tasks(module, options_for(plugins, {"a"}, std::move(policies)))->size();
  };
  EXPECT_EQ(tasks({}), 1u);
  EXPECT_EQ(tasks({.selector = te::prefer("fast", te::by_level())}), 0u);
}

TEST(Policies, AComputeThatTheFunctionDoesNotHaveIsAnError) {
  IRModule module = parse(R"(
    fn f(%x: f32[4]) {compiler="a", global_symbol="f", primitive=true, compute="slow"} {
      %0 = relu(%x)
      return %0
    }
    fn main(%x: f32[4]) {
      %0 = @f(%x)
      return %0
    })");
  auto built = [&](const std::string& computes) {
    return built_kernels(module, options_for(with_computes(computes), {"a"}))[0];
  };
  EXPECT_THAT(built("direct,fast"),
              AllOf(HasSubstr("there is no compute \"slow\" for the function"),
                    HasSubstr("it has direct, fast"), HasSubstr("@f of plugin \"a\"")));
  EXPECT_THAT(built(""), HasSubstr("the function has no such choice"));
  EXPECT_EQ(built("direct,slow"), "a f: compute slow: slow");
}

}  // namespace
}  // namespace byoc::test
