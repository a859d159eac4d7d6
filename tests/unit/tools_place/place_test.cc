// SPDX-License-Identifier: Apache-2.0
// `byoc place` on small models, with plugins that fail in known ways.
#include "core/tools/place/search.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

#include "core/tools/place/corrections.h"
#include "support/flow.h"

namespace byoc::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModel = R"(
fn main(%x: f32[64,64]) {
  %0 = tanh(%x) loc("T")
  %1 = relu(%0) loc("R")
  return %1
})";

class PlaceModel : public ::testing::Test {
 protected:
  PlaceModel() : folder_(fs::temp_directory_path() / cat("byoc-place-", getpid())) {
    fs::remove_all(folder_);
  }
  ~PlaceModel() override { fs::remove_all(folder_); }

  PlaceOutcome place(const test::PluginOptions& plugins, std::string_view model = kModel) {
    PlaceRequest request;
    request.build.plugins = test::selective_plugins(plugins);
    request.folder = folder_.string();
    request.rounds = 2;
    request.improve_s = 0.1;
    request.probes.min_time_s = 0.001;
    request.contest.min_time_s = 0.01;
    request.contest.rounds = 2;
    Result<PlaceOutcome> outcome = place_model(test::parse(model), request);
    EXPECT_TRUE(outcome.ok()) << outcome.status().to_string();
    return outcome.ok() ? *std::move(outcome) : PlaceOutcome();
  }
  std::optional<measure::Observation> cost(const std::string& op,
                                           const test::PluginOptions& plugins) {
    const IRModule module = test::parse(kModel);
    const Function& function = module.function("main");
    const placement::Costs costs = placement::Costs::read(folder_.string(), 1);
    const auto set = test::selective_plugins(plugins);
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      auto* call = std::get_if<Call>(&function.nodes[node].kind);
      if (call == nullptr || call->op->name != op) continue;
      return costs.store.find(
          costs.key_of(*set->find("a"), placement::canonical_text(function, std::span(&node, 1))));
    }
    return std::nullopt;
  }
  fs::path folder_;
};

TEST_F(PlaceModel, MeasuresEachCandidateOnceAndKeepsAPlan) {
  const test::PluginOptions plugins = {{"a", {{"ops", "relu,tanh"}}}};
  const PlaceOutcome first = place(plugins);
  EXPECT_EQ(first.candidates, 4u);  // two ops, a and json
  EXPECT_EQ(first.measured, 4u);
  EXPECT_GT(cost("tanh", plugins)->ns, 0);
  EXPECT_TRUE(fs::exists(placement::plan_path(folder_.string(), first.plan)));
  ASSERT_TRUE(first.agreement.contains("a") && first.agreement.contains("json"));
  EXPECT_EQ(first.agreement.at("a").candidates, 2u);
  EXPECT_LE(std::abs(first.agreement.at("a").rank), 1);
  const PlaceOutcome second = place(plugins);
  EXPECT_EQ(second.agreement.at("a").candidates, 2u) << "of kept costs too";
  EXPECT_EQ(second.candidates, 4u);
  EXPECT_EQ(second.measured, 0u);
}

TEST_F(PlaceModel, WrongValuesForbidACandidate) {
  const test::PluginOptions plugins = {{"a", {{"ops", "relu,tanh"}, {"spoil", "tanh"}}}};
  const PlaceOutcome outcome = place(plugins);
  EXPECT_EQ(outcome.failed, 1u);
  ASSERT_TRUE(cost("tanh", plugins).has_value());
  EXPECT_NE(cost("tanh", plugins)->error.find("differs from json"), std::string::npos);
  EXPECT_EQ(cost("relu", plugins)->error, "");
  for (size_t k = 0; k < outcome.entrants.size(); ++k) {
    if (outcome.entrants[k].name.starts_with("a")) {
      EXPECT_NE(outcome.results[k].error.find("differs"), std::string::npos);
    }
  }
  EXPECT_TRUE(outcome.results[outcome.best].error.empty());
}

constexpr std::string_view kQuantized = R"(
fn main(%x: f32[16,64]) {
  %s = const(0.25) : f32[]
  %z = const(128) : u8[]
  %0 = relu(%x)
  %1 = quantize(%0, %s, %z)
  return %1
})";

// As byoc verify compares: a rounded value may be at the other side of a tie.
TEST_F(PlaceModel, QuantizedValuesMayBeOneStepApart) {
  const PlaceOutcome outcome =
      place({{"a", {{"ops", "relu,quantize"}, {"spoil", "quantize"}}}}, kQuantized);
  EXPECT_EQ(outcome.failed, 0u);
  for (const EntrantResult& result : outcome.results) EXPECT_EQ(result.error, "");
}

// A relu that is 1 too large is four steps at this scale.
TEST_F(PlaceModel, QuantizedValuesAreNoMoreThanOneStepApart) {
  const PlaceOutcome outcome =
      place({{"a", {{"ops", "relu,quantize"}, {"spoil", "relu"}}}}, kQuantized);
  EXPECT_EQ(outcome.failed, 1u);
  EXPECT_EQ(outcome.entrants[1].name, "a, then json");
  EXPECT_NE(outcome.results[1].error.find("differs"), std::string::npos);
}

TEST_F(PlaceModel, ReportsTheFastestOfEachKindAndTheCertificate) {
  const PlaceOutcome outcome =
      place({{"a", {{"ops", "relu,tanh"}}}, {"b", {{"ops", "relu,tanh"}}}});
  std::vector<Entrant::Kind> kinds;
  for (const Entrant& entrant : outcome.entrants) kinds.push_back(entrant.kind);
  ASSERT_GE(kinds.size(), 5u);
  kinds.resize(5);
  EXPECT_EQ(kinds, (std::vector{Entrant::kSingle, Entrant::kSingle, Entrant::kSingle,
                                Entrant::kOrder, Entrant::kPlan}));
  const size_t single = best_of(outcome, Entrant::kSingle);
  for (size_t k = 0; k < 3; ++k) EXPECT_LE(outcome.results[single].ns, outcome.results[k].ns);
  EXPECT_EQ(best_of(outcome, Entrant::kOrder), 3u);
  EXPECT_EQ(outcome.certificate.ops, 2u);
  EXPECT_EQ(outcome.certificate.heuristic_steps, 0u);
  EXPECT_EQ(outcome.certificate.gap(), 0);
  EXPECT_GE(outcome.free_borders.most_gain(), 1);
  EXPECT_GT(outcome.free_borders.free_ns, 0);
  EXPECT_GT(outcome.seconds, 0);
}

// The time that a program takes beyond its ops is that of its borders.
TEST(CorrectBorders, ScalesBordersToTheTimeOfTheWholeProgram) {
  const test::PluginOptions plugins = {{"a", {{"ops", "tanh"}, {"est", "tanh:100"}}},
                                       {"b", {{"ops", "relu"}, {"est", "relu:100"}}}};
  IRModule module = test::parse(kModel);
  const PassContext context = test::context_of(module, test::selective_plugins(plugins), {"auto"});
  placement::Costs costs;
  costs.rules = *placement::Rules::parse("tanh=a,relu=b");
  Result<placement::FunctionPlacement> placed =
      placement::place_function(module, module.entry, context.compilers, costs, context);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  const double border = placement::to_ns(placed->solution.cost) - 200;
  ASSERT_GT(border, 100);
  ASSERT_TRUE(correct_borders({*placed}, {{"a", 200}, {"b", 2 * border}}, costs));
  EXPECT_NEAR(costs.border_factor, 2, 0.01);
}

// All ops are in regions of one plugin each, so that nothing can be found out about borders.
TEST(CorrectBorders, NeedsBorders) {
  IRModule module = test::parse(kModel);
  const test::PluginOptions plugins = {{"a", {{"ops", "tanh,relu"}, {"est", "tanh:1,relu:1"}}}};
  const PassContext context = test::context_of(module, test::selective_plugins(plugins), {"auto"});
  placement::Costs costs;
  costs.rules = *placement::Rules::parse("*=a");
  Result<placement::FunctionPlacement> placed =
      placement::place_function(module, module.entry, context.compilers, costs, context);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  EXPECT_FALSE(correct_borders({*placed}, {{"a", 1000}}, costs));
  EXPECT_EQ(costs.border_factor, 1);
}

TEST_F(PlaceModel, ADeclinedCandidateIsForbiddenWithItsReason) {
  const test::PluginOptions plugins = {{"a", {{"ops", "relu,tanh"}, {"decline", "relu"}}}};
  EXPECT_EQ(place(plugins).failed, 1u);
  ASSERT_TRUE(cost("relu", plugins).has_value());
  EXPECT_NE(cost("relu", plugins)->error.find("declined"), std::string::npos);
  EXPECT_EQ(cost("tanh", plugins)->error, "");
}

// The earlier plan gives relu to b, which is too slow for it in any measurement.
TEST_F(PlaceModel, AnEarlierPlanIsContestedToo) {
  const test::PluginOptions plugins = {{"a", {{"ops", "relu,tanh"}}},
                                       {"b", {{"ops", "relu,tanh"}, {"slow", "relu"}}}};
  auto earlier = [](const PlaceOutcome& outcome) {
    size_t k = 0;
    while (k < outcome.entrants.size() && outcome.entrants[k].name != "an earlier plan") ++k;
    return k;
  };
  placement::Plan plan = place(plugins).plan;
  const auto path = placement::plan_path(folder_.string(), plan);
  plan.order.reset();
  plan.functions = {{"main", {{"a", "", {1}}, {"b", "", {2}}}}};
  ASSERT_TRUE(write_plan(plan, path).ok());
  const PlaceOutcome again = place(plugins);
  ASSERT_LT(earlier(again), again.entrants.size());
  EXPECT_EQ(again.results[earlier(again)].error, "");
  EXPECT_GT(again.results[earlier(again)].ns, 0);
  plan.plugins[0].second = "0.0.1";
  ASSERT_TRUE(write_plan(plan, path).ok());
  const PlaceOutcome outdated = place(plugins);
  EXPECT_EQ(earlier(outdated), outdated.entrants.size());
}

// An index of 0 is valid; the op is measured and not taken for a fault of the plugin.
TEST_F(PlaceModel, IndicesAreInRange) {
  const PlaceOutcome outcome = place({{"a", {{"ops", "gather,relu"}}}}, R"(
fn main(%x: f32[8,4], %i: i64[3]) {
  %0 = gather(%x, %i) {axis=0}
  %1 = relu(%0)
  return %1
})");
  EXPECT_EQ(outcome.failed, 0u);
  EXPECT_EQ(outcome.measured, 4u);
}

TEST(IsFaster, NeedsHalfAPercent) {
  EXPECT_TRUE(is_faster({.ns = 990}, {.ns = 1000}));
  EXPECT_FALSE(is_faster({.ns = 996}, {.ns = 1000}));
}

// The least time is 5 % less; in turns, one is the faster as often as the other.
TEST(IsFaster, NeedsTurnsThatAgree) {
  const std::vector<double> apart = {950, 952, 949, 951}, mixed = {900, 1080, 930, 1060},
                            slower = {1000, 1003, 999, 1001};
  EXPECT_TRUE(is_faster({950, "", {}, apart}, {1000, "", {}, slower}));
  EXPECT_FALSE(is_faster({950, "", {}, mixed}, {1000, "", {}, slower}));
}

EntrantResult entrant_result(double ns, double share) {
  return {ns, "", {}, {1000 * share, 1003 * share, 999 * share, 1001 * share}};
}

// The plan's turns agree that it is faster, by less than one percent.
TEST(WinnerOf, KeepsAPluginAloneUnlessThePlanGainsClearly) {
  const std::vector<Entrant> entrants = {{"a alone", {}, "", Entrant::kSingle},
                                         {"b alone", {}, "", Entrant::kSingle},
                                         {"all", {}, "", Entrant::kOrder},
                                         {"plan", {}, "", Entrant::kPlan}};
  const EntrantResult a = entrant_result(1000, 1), b = entrant_result(1100, 1.1);
  const EntrantResult small = entrant_result(992, 0.992), clear = entrant_result(970, 0.97);
  EXPECT_TRUE(is_faster(small, a));
  EXPECT_EQ(winner_of(entrants, {a, b, b, small}), 0u);
  EXPECT_EQ(winner_of(entrants, {a, b, small, b}), 0u);
  EXPECT_EQ(winner_of(entrants, {b, a, b, small}), 1u);
  EXPECT_EQ(winner_of(entrants, {a, b, b, clear}), 3u);
  EXPECT_EQ(winner_of(entrants, {a, b, clear, small}), 2u);
}

// The least time is 2 % less, and so are the medians but for the turns' spread.
TEST(WinnerOf, NeedsTheWholeIntervalBeyondTheGain) {
  const std::vector<Entrant> entrants = {{"a alone", {}, "", Entrant::kSingle},
                                         {"plan", {}, "", Entrant::kPlan}};
  const EntrantResult a{1000, "", {}, {1000, 1000, 1000, 1000}};
  const EntrantResult plan{980, "", {}, {983, 996, 977, 990}};
  EXPECT_EQ(winner_of(entrants, {a, plan}), 0u);
}

TEST(WinnerOf, LeavesOutWhatFails) {
  const std::vector<Entrant> entrants = {{"a alone", {}, "", Entrant::kSingle},
                                         {"plan", {}, "", Entrant::kPlan}};
  const EntrantResult fails{.error = "declined"}, runs = entrant_result(1000, 1);
  EXPECT_EQ(winner_of(entrants, {fails, runs}), 1u);
  EXPECT_EQ(winner_of(entrants, {runs, fails}), 0u);
  EXPECT_EQ(winner_of(entrants, {fails, fails}), SIZE_MAX);
}

TEST_F(PlaceModel, ThePlanIsTheFastestEntrantThatIsRight) {
  const PlaceOutcome outcome = place({{"a", {{"ops", "tanh"}}}, {"b", {{"ops", "relu"}}}});
  ASSERT_LT(outcome.best, outcome.results.size());
  EXPECT_EQ(outcome.results[outcome.best].error, "");
  EXPECT_EQ(outcome.best, winner_of(outcome.entrants, outcome.results));
  EXPECT_EQ(outcome.plan.measured_ns, outcome.results[outcome.best].ns);
}

}  // namespace
}  // namespace byoc::driver
