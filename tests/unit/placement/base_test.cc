// SPDX-License-Identifier: Apache-2.0
// The choice by estimates: one plugin is the base, and the others get what they run clearly faster.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/placement/choose_base.h"
#include "unit/placement/placed.h"

namespace byoc::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Returns the plugins of the ops of kChain, by estimates, with a base.
Ids with_base(const test::PluginOptions& options, PlaceNotes* notes = nullptr,
              std::string_view rules = "*!=json") {
  Placed out;
  out.module = test::parse(kChain);
  out.context = test::context_of(out.module, test::selective_plugins(options), {"auto"});
  Costs costs;
  costs.has_base = true;
  costs.rules = *Rules::parse(rules);
  PlaceNotes unread;
  Result<std::vector<FunctionPlacement>> placed = place_functions(
      out.module, out.context.compilers, costs, out.context, notes != nullptr ? *notes : unread);
  EXPECT_TRUE(placed.ok()) << placed.status().to_string();
  if (!placed.ok() || placed->empty()) return {};
  out.placement = std::move((*placed)[0]);
  return out.plugins();
}

test::PluginOptions two(const std::string& est_of_a, const std::string& est_of_b) {
  return {{"a", {{"ops", "relu,tanh"}, {"est", est_of_a}}},
          {"b", {{"ops", "relu,tanh"}, {"est", est_of_b}}}};
}

TEST(Base, IsThePluginThatCostsLeastAlone) {
  PlaceNotes notes;
  EXPECT_THAT(with_base(two("relu:9000,tanh:9000", "relu:7000,tanh:7000"), &notes),
              ElementsAre("b", "b", "b"));
  ASSERT_FALSE(notes.certificates.empty());
  EXPECT_THAT(notes.certificates[0], HasSubstr("b runs what no other plugin runs clearly faster"));
  EXPECT_THAT(notes.certificates[0], HasSubstr("alone: a 27 us, b 21 us"));
}

// The two borders of relu cost 28 us when both sides are estimates.
TEST(Base, KeepsAnOpThatAnotherPluginRunsALittleFaster) {
  EXPECT_THAT(with_base(two("relu:200000,tanh:1000", "relu:130000,tanh:100000")),
              ElementsAre("a", "a", "a"))
      << "1.4 times 130 us and 28 us are more than 200 us";
}

TEST(Base, GivesAnOpToAPluginThatIsClearlyFaster) {
  EXPECT_THAT(with_base(two("relu:200000,tanh:1000", "relu:100000,tanh:100000")),
              ElementsAre("a", "b", "a"))
      << "1.4 times 100 us and 28 us are less than 200 us";
}

TEST(Base, MayBeTheDefaultCodegen) {
  EXPECT_THAT(with_base({{"a", {{"ops", "relu"}, {"est", "relu:900000000"}}}}, nullptr, ""),
              ElementsAre("json", "json", "json"));
}

TEST(SlowOps, GoToAnotherPluginWhateverTheyCost) {
  EXPECT_THAT(place(kChain,
                    {{"a", {{"ops", "relu,tanh"}, {"est", "relu:1,tanh:1"}, {"reluctant", "relu"}}},
                     {"b", {{"ops", "relu"}, {"est", "relu:100000"}}}},
                    "*!=json")
                  .plugins(),
              ElementsAre("a", "b", "a"));
}

TEST(SlowOps, StayWhereNoOtherPluginTakesThem) {
  const test::PluginOptions options = {
      {"a", {{"ops", "relu,tanh"}, {"est", "relu:1,tanh:1"}, {"reluctant", "relu"}}}};
  EXPECT_THAT(place(kChain, options, "relu!=json").plugins(), ElementsAre("a", "a", "a"));
}

TEST(SlowOps, AreRefusalsWithTheReason) {
  const Placed placed = place(kChain, {{"a", {{"ops", "relu,tanh"}, {"reluctant", "relu"}}},
                                       {"b", {{"ops", "relu"}, {"est", "relu:100000"}}}});
  bool is_there = false;
  for (const Refusal& refusal : placed.placement.candidates.refusals)
    is_there |= refusal.what == "relu" && refusal.reason == "slow there: slow by its options";
  EXPECT_TRUE(is_there);
}

/// Returns the plugin of each op of kChain, sorted, after it was partitioned with that list.
std::string ran_by(const test::PluginOptions& options, std::vector<std::string> list,
                   Report* report = nullptr) {
  BuildOptions build;
  build.plugins = test::selective_plugins(options);
  build.compilers = std::move(list);
  build.options["costs"] = "none";
  build.report = report;
  Result<IRModule> cut = partition_for(test::parse(kChain), build);
  EXPECT_TRUE(cut.ok()) << cut.status().to_string();
  std::vector<std::string> ops;
  if (!cut.ok()) return "";
  for (const auto& [name, function] : cut->functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call == nullptr) continue;
      const std::string plugin = function.attr("compiler");
      ops.push_back(cat(call->op->name, "=", plugin.empty() ? "rest" : plugin));
    }
  }
  std::sort(ops.begin(), ops.end());
  std::string out;
  for (const std::string& op : ops) out += cat(out.empty() ? "" : " ", op);
  return out;
}

TEST(WithoutAList, PluginsAreChosenByEstimates) {
  const test::PluginOptions options = two("relu:9000,tanh:9000", "relu:2000,tanh:2000");
  EXPECT_EQ(ran_by(options, {}), "relu=b tanh=b tanh=b");
  EXPECT_EQ(ran_by(options, {"auto"}), "relu=b tanh=b tanh=b");
  EXPECT_EQ(ran_by(options, {"a", "b"}), "relu=a tanh=a tanh=a") << "a list is an order";
}

TEST(WithoutAList, APluginWithoutEstimatesGetsWhatItTakes) {
  Report report;
  EXPECT_EQ(
      ran_by({{"a", {{"ops", "relu"}}}, {"b", {{"ops", "relu,tanh"}, {"est", "relu:1,tanh:1"}}}},
             {}, &report),
      "relu=a tanh=b tanh=b");
  bool is_said = false;
  for (const Report::Remark& remark : report.remarks)
    is_said |= remark.op == "placement" &&
               remark.reason == "by priority, as it estimates no times on this machine: a";
  EXPECT_TRUE(is_said);
}

TEST(WithoutAList, ASlowOpGoesElsewhere) {
  const test::PluginOptions options = {
      {"a", {{"ops", "relu,tanh"}, {"est", "relu:1,tanh:1"}, {"reluctant", "relu"}}}};
  EXPECT_EQ(ran_by(options, {}), "relu=rest tanh=a tanh=a");
}

TEST(AList, GivesASlowOpToTheNextPluginOrTheDefaultCodegen) {
  test::PluginOptions options = {{"a", {{"ops", "relu,tanh"}, {"reluctant", "relu"}}},
                                 {"b", {{"ops", "relu"}}}};
  EXPECT_EQ(ran_by(options, {"a", "b"}), "relu=b tanh=a tanh=a");
  options.erase("b");
  EXPECT_EQ(ran_by(options, {"a", "json"}), "relu=rest tanh=a tanh=a");
}

TEST(AList, OfOnePluginGivesItWhatItCallsSlow) {
  EXPECT_EQ(ran_by({{"a", {{"ops", "relu,tanh"}, {"reluctant", "relu"}}}}, {"a"}),
            "relu=a tanh=a tanh=a");
}

}  // namespace
}  // namespace byoc::placement
