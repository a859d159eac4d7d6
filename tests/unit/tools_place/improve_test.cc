// SPDX-License-Identifier: Apache-2.0
// Moves from one choice to another, and the plan that whole programs choose among them.
#include "core/tools/place/improve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/tools/place/moves.h"
#include "support/flow.h"

namespace byoc::driver {
namespace {

namespace fs = std::filesystem;
using placement::Cost;
using placement::FunctionPlacement;

constexpr std::string_view kChain = R"(
fn main(%x: f32[64,64]) {
  %0 = tanh(%x)
  %1 = relu(%0)
  %2 = exp(%1)
  %3 = tanh(%2)
  %4 = sigmoid(%3)
  %5 = add(%4, %1)
  return %5
})";

std::string plugin_of(const FunctionPlacement& placement, uint32_t v, uint8_t state) {
  const auto& all = placement.candidates;
  return all.plugins[all.all[all.of_node[placement.node_of_state[v]][state]].plugin]->id();
}

class Moves : public ::testing::Test {
 protected:
  // All ops are a's, although b is faster at some of them.
  void SetUp() override {
    const test::PluginOptions plugins = {
        {"a", {{"ops", "*"}, {"est", "tanh:10000,relu:1000,exp:8000,sigmoid:9000,add:2000"}}},
        {"b", {{"ops", "tanh,exp,sigmoid"}, {"est", "tanh:2000,exp:1000,sigmoid:8900"}}}};
    set_ = test::selective_plugins(plugins);
    module_ = test::parse(kChain);
    const PassContext context = test::context_of(module_, set_, {"auto"});
    placement::Costs costs;
    costs.rules = *placement::Rules::parse("*=a");
    auto fixed =
        placement::place_function(module_, module_.entry, context.compilers, costs, context);
    ASSERT_TRUE(fixed.ok()) << fixed.status().to_string();
    costs.rules = *placement::Rules::parse("*!=json");
    auto open =
        placement::place_function(module_, module_.entry, context.compilers, costs, context);
    ASSERT_TRUE(open.ok()) << open.status().to_string();
    open->chosen = fixed->chosen;
    state_ = states_of(*open);
    placement_ = *std::move(open);
  }
  Cost cost_after(const Move& move) const {
    std::vector<uint8_t> state = state_;
    for (const auto& [v, to] : move.changes) state[v] = to;
    return cost_of(placement_.problem, state);
  }
  std::shared_ptr<const PluginSet> set_;  // the candidates point at them
  IRModule module_;
  FunctionPlacement placement_;
  std::vector<uint8_t> state_;
};

TEST_F(Moves, PredictTheCostOfTheWholeFunction) {
  const std::vector<Move> moves = moves_from(module_, placement_, state_);
  ASSERT_GE(moves.size(), 4u);
  const Cost before = cost_of(placement_.problem, state_);
  for (const Move& move : moves)
    EXPECT_NEAR(move.predicted_ns, placement::to_ns(cost_after(move) - before), 0.01);
  for (size_t k = 1; k < moves.size(); ++k) EXPECT_GE(moves[k - 1].hope_ns(), moves[k].hope_ns());
}

// Both are of one kind; the exp between them follows, and the relu, which b does not take, stays.
TEST_F(Moves, TakeEqualOpsAndTheirNeighbours) {
  const std::vector<Move> moves = moves_from(module_, placement_, state_);
  std::vector<std::vector<std::string>> all;
  for (const Move& move : moves) {
    std::vector<std::string> to(state_.size(), "a");
    for (const auto& [v, s] : move.changes) to[v] = plugin_of(placement_, v, s);
    all.push_back(to);
  }
  const std::vector<std::string> wanted = {"b", "a", "b", "b", "b", "a"};
  EXPECT_NE(std::find(all.begin(), all.end(), wanted), all.end());
}

// json's loops take many times as long as oneDNN's: the product moves, though no cost was measured.
TEST(ImprovePlan, MovesAProductToTheFasterPlugin) {
  IRModule module = test::parse(R"(
fn main(%x: f32[128,128], %w: f32[128,128]) {
  %0 = matmul(%x, %w)
  %1 = relu(%0)
  return %1
})");
  const fs::path folder = fs::temp_directory_path() / cat("byoc-improve-", getpid());
  BuildOptions build;
  build.plugins = test::built_plugins();
  build.compilers = {"auto", "onednn"};
  build.default_codegen = "json";
  build.options["costs"] = folder.string();
  Result<PassContext> context = make_context(module, build);
  ASSERT_TRUE(context.ok()) << context.status().to_string();
  const IRModule given = module;
  const placement::Costs costs = placement::Costs::read(folder.string(), 1);
  placement::Plan plan = empty_plan(module, context->compilers, costs, *context);
  plan.order.emplace();  // none: all is the rest
  const ContestPlan contest{.min_time_s = 0.02};
  Result<Improvement> better =
      improve_plan(plan, {given, module, build, costs, *context, folder.string(), contest, 20, {}});
  fs::remove_all(folder);
  ASSERT_TRUE(better.ok()) << better.status().to_string();
  EXPECT_GE(better->kept, 1u);
  EXPECT_GE(better->tried, better->kept);
  EXPECT_LT(better->ratio, 0.8);
  EXPECT_FALSE(better->plan.order.has_value());
  ASSERT_EQ(better->plan.functions.size(), 1u);
  ASSERT_FALSE(better->plan.functions[0].second.empty());
  EXPECT_EQ(better->plan.functions[0].second[0].plugin, "onednn");
}

TEST(ImprovePlan, TakesNoTimeBeyondItsSeconds) {
  IRModule module = test::parse("fn main(%x: f32[4]) { %0 = tanh(%x) return %0 }");
  BuildOptions build;
  build.plugins = test::built_plugins();
  build.compilers = {"auto", "onednn"};
  build.default_codegen = "json";
  build.options["costs"] = "none";
  Result<PassContext> context = make_context(module, build);
  ASSERT_TRUE(context.ok()) << context.status().to_string();
  const IRModule given = module;
  const placement::Costs costs;
  placement::Plan plan = empty_plan(module, context->compilers, costs, *context);
  plan.order = std::vector<std::string>{"onednn"};
  Result<Improvement> same =
      improve_plan(plan, {given, module, build, costs, *context, "/nonexistent/byoc", {}, 0, {}});
  ASSERT_TRUE(same.ok()) << same.status().to_string();
  EXPECT_EQ(same->tried, 0u);
  EXPECT_EQ(same->ratio, 1);
}

}  // namespace
}  // namespace byoc::driver
