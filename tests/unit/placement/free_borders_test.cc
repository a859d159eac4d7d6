// SPDX-License-Identifier: Apache-2.0
// The most that a choice could gain. Costs are estimates that the plugins' options set.
#include "core/placement/free_borders.h"

#include <gtest/gtest.h>

#include "placed.h"

namespace byoc::placement {
namespace {

using test::PluginOptions;

const PluginOptions kTwoWithOneFast = {
    {"a", {{"ops", "tanh,relu"}, {"est", "tanh:1000,relu:5000"}}},
    {"b", {{"ops", "tanh,relu"}, {"est", "tanh:9000,relu:1000"}}}};

FreeBorders of(const PluginOptions& plugins, const std::string& rules) {
  return free_borders({place(kChain, plugins, rules).placement});
}

TEST(FreeBorders, EachOpHasItsCheapestPlugin) {
  const FreeBorders out = of(kTwoWithOneFast, "*!=json");
  EXPECT_NEAR(out.free_ns, 3000, 0.01);
  EXPECT_NEAR(out.alone_ns, 7000, 0.01);
  EXPECT_EQ(out.alone, "a");
  EXPECT_NEAR(out.most_gain(), 7.0 / 3, 1e-6);
}

TEST(FreeBorders, TheDefaultCodegenHasTheRestOfAPlugin) {
  const PluginOptions plugins = {{"a", {{"ops", "tanh"}, {"est", "tanh:1000"}}},
                                 {"b", {{"ops", "relu"}, {"est", "relu:1000"}}}};
  const FreeBorders out = of(plugins, "tanh!=json");
  const double relu = place(kChain, plugins, "relu=json,tanh!=json").placement.solution.cost / 1e3;
  EXPECT_EQ(out.alone, "a") << "b alone leaves tanh without a plugin";
  EXPECT_NEAR(out.alone_ns, relu, 0.01);
  EXPECT_GT(out.alone_ns, 2000 + 2 * kBorder);
  EXPECT_NEAR(out.free_ns, 3000, 0.01);
}

// The two states of a match are chosen together: a free tanh beside b's relu is no choice.
TEST(FreeBorders, MatchesStayWhole) {
  const PluginOptions plugins = {
      {"a",
       {{"ops", "tanh"},
        {"patterns", R"([{"name":"pair","dag":{"op":"relu","args":[{"op":"tanh"}]}}])"},
        {"est", "a.pair:3000,tanh:5000"}}},
      {"b", {{"ops", "tanh,relu"}, {"est", "tanh:1500,relu:1000"}}}};
  EXPECT_NEAR(of(plugins, "*!=json").free_ns, 4000, 0.01) << "2500 for the pair, 1500 for T2";
}

TEST(FreeBorders, FunctionsAddUp) {
  const FunctionPlacement one = place(kChain, kTwoWithOneFast, "*!=json").placement;
  const FreeBorders out = free_borders({one, one});
  EXPECT_NEAR(out.free_ns, 6000, 0.01);
  EXPECT_NEAR(out.alone_ns, 14000, 0.01);
}

TEST(FreeBorders, NothingGainsWithoutFunctions) { EXPECT_EQ(free_borders({}).most_gain(), 0); }

}  // namespace
}  // namespace byoc::placement
