// SPDX-License-Identifier: Apache-2.0
// Costs that follow from programs of one plugin each. Costs before are estimates of options.
#include "core/tools/place/alone.h"

#include <gtest/gtest.h>

#include "support/flow.h"

namespace byoc::driver {
namespace {

using placement::Costs;
using placement::FunctionPlacement;

constexpr std::string_view kModelAlone = R"(
fn main(%x: f32[64,64]) {
  %0 = tanh(%x)
  %1 = relu(%0)
  return %1
})";

class Alone : public ::testing::Test {
 protected:
  Alone()
      : module_(test::parse(kModelAlone)),
        plugins_(test::selective_plugins(
            {{"a", {{"ops", "tanh,relu"}, {"est", "tanh:1000,relu:3000"}}},
             {"b", {{"ops", "tanh,relu"}, {"est", "tanh:2000,relu:2000"}}}})),
        context_(test::context_of(module_, plugins_, {"auto"})) {
    costs_.rules = *placement::Rules::parse("*!=json");
  }

  FunctionPlacement place(const std::vector<std::string>& plugins) {
    Result<FunctionPlacement> out =
        placement::place_function(module_, module_.entry, plugins, costs_, context_);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : FunctionPlacement();
  }
  // Returns the program of a plugin, whose region took that long.
  AloneProgram program(const std::string& id, double ns) {
    AloneProgram out{{id}, placement::empty_plan(module_, {id}, costs_, context_), {}};
    placement::add_choices(module_, place({id}), out.plan);
    out.step_ns[cat(id, "_main_0")] = ns;
    return out;
  }
  double cost(const std::string& id) { return placement::to_ns(place({id}).solution.cost); }

  IRModule module_;
  std::shared_ptr<const PluginSet> plugins_;
  PassContext context_;
  Costs costs_;
};

// A region costs a call of 300 ns, which is no cost of its ops.
TEST_F(Alone, CostsAreThoseOfTheProgramOfEachPlugin) {
  const std::vector<AloneProgram> programs = {program("a", 2 * 4300), program("b", 4300 / 2.0)};
  ASSERT_TRUE(correct_by_programs(module_, programs, context_, costs_).ok());
  EXPECT_NEAR(cost("a"), 8000, 1);
  EXPECT_NEAR(cost("b"), 2000, 1);
}

// The relu of json is fast between two regions, which makes it no faster in json's own program.
TEST_F(Alone, ACandidateHasTheCostOfTheFirstProgramWithIt) {
  costs_.rules = *placement::Rules::parse("relu!=a");
  AloneProgram rest{
      {}, placement::empty_plan(module_, {}, costs_, context_), {{"json_main_0", 9e6}}};
  placement::add_choices(module_, place({}), rest.plan);
  costs_.avoids_rest = true;
  AloneProgram a = program("a", 4300);
  costs_.avoids_rest = false;
  a.step_ns["json_main_0"] = 10;
  ASSERT_TRUE(correct_by_programs(module_, {rest, a}, context_, costs_).ok());
  EXPECT_NEAR(placement::to_ns(place({}).solution.cost), 9e6, 10);
}

TEST_F(Alone, EarlierCorrectionsDoNotCount) {
  const std::vector<AloneProgram> programs = {program("a", 2 * 4300)};
  ASSERT_TRUE(correct_by_programs(module_, programs, context_, costs_).ok());
  for (auto& [key, ns] : costs_.corrections) ns += 700;
  costs_.factors["b"] = 3;
  costs_.border_factor = 1.5;
  ASSERT_TRUE(correct_by_programs(module_, programs, context_, costs_).ok());
  EXPECT_NEAR(cost("a"), 8000, 1);
  EXPECT_NEAR(cost("b"), 4000, 1);
  EXPECT_EQ(costs_.border_factor, 1.5);
}

}  // namespace
}  // namespace byoc::driver
