// SPDX-License-Identifier: Apache-2.0
// Costs that depend on more than an op and its neighbours: cuts of regions, factors of all borders,
// the default codegen. The assumed machine is that of place_test.cc.
#include "core/placement/cuts.h"

#include <gtest/gtest.h>

#include "placed.h"

namespace byoc::placement {
namespace {

using test::PluginOptions;

// The relu in b would make two regions of a's ops, and 256 KiB would cross between them.
constexpr std::string_view kGate = R"(
fn main(%x: f32[256,256]) {
  %0 = tanh(%x)
  %1 = max(%0) {axes=[1], keepdims=true}
  %2 = relu(%1)
  %3 = multiply(%0, %2)
  return %3
})";
PluginOptions gate_plugins(int relu_ns) {
  const std::string others = "tanh:5000,max:5000,multiply:5000,relu:";
  return {{"a", {{"ops", "tanh,max,relu,multiply"}, {"est", cat(others, relu_ns)}}},
          {"b", {{"ops", "relu"}, {"est", "relu:1000"}}}};
}

TEST(Place, AnOpThatCutsARegionPaysForWhatCrossesTheCut) {
  const Placed placed = place(kGate, gate_plugins(3000), "*!=json");
  EXPECT_EQ(placed.plugins(), (Ids{"a", "a", "a", "a"})) << "alone b saves 1.5 us";
  EXPECT_EQ(placed.placement.solution.cost, to_cost(18'000));
}

TEST(Place, TheCostOfACutIsInTheCostAndNotInTheBound) {
  const Placed placed = place(kGate, gate_plugins(9000), "*!=json");
  EXPECT_EQ(placed.plugins(), (Ids{"a", "a", "b", "a"}));
  const Solution& solution = placed.placement.solution;
  const Cost problem = cost_of(placed.placement.problem, solution.state);
  EXPECT_EQ(solution.bound, problem);
  EXPECT_NEAR(to_ns(solution.cost - problem), 300 + 4369, 1);
  EXPECT_FALSE(solution.is_optimal());
}

TEST(Place, ABorderFactorMakesBordersDearer) {
  const PluginOptions options = {{"a", {{"ops", "relu"}, {"est", "relu:500"}}},
                                 {"b", {{"ops", "relu,tanh"}, {"est", "relu:10000,tanh:10000"}}}};
  Costs costs;
  EXPECT_EQ(place(kChain, options, "*!=json", costs).plugins(), (Ids{"b", "a", "b"}));
  costs.border_factor = 2;
  EXPECT_EQ(place(kChain, options, "*!=json", costs).plugins(), (Ids{"b", "b", "b"}));
}

TEST(Place, DefaultCodegensAreAvoidedWhereAnotherPluginTakesTheOp) {
  const PluginOptions options = {{"a", {{"ops", "tanh"}, {"est", "tanh:900000"}}}};
  Costs costs;
  EXPECT_EQ(place(kChain, options, "", costs).plugins(), (Ids{"json", "json", "json"}));
  costs.avoids_rest = true;
  EXPECT_EQ(place(kChain, options, "", costs).plugins(), (Ids{"a", "json", "a"}));
}

}  // namespace
}  // namespace byoc::placement
