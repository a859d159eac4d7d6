// SPDX-License-Identifier: Apache-2.0
// Selectors, which choose one of several strategies to compute an op.
#include "module.h"

namespace byoc {
namespace {

using te::Site;
using te::Strategy;
using ::testing::HasSubstr;

// A site with a relu of f32[3].
class Selectors : public ::testing::Test {
 protected:
  Selectors() : module_(testing::parse("fn main(%x: f32[3]) { %0 = relu(%x)  return %0 }")) {
    const Function& main = module_.function("main");
    const Call& call = std::get<Call>(main.nodes[1].kind);
    TypeId type = TensorType{DType::kF32, {3}};
    site_ = Site{&main, 1, call.op, call.attrs, {type}, {type}, {false}, &target_};
  }
  std::string pick(const te::StrategySelector& selector, std::span<const Strategy> strategies) {
    Result<size_t> choice = selector(site_, strategies);
    return choice.ok() ? strategies[*choice].name : choice.status().to_string();
  }
  static std::function<double(const Site&)> cost(double ns) {
    return [ns](const Site&) { return ns; };
  }

  te::Target target_;
  IRModule module_;
  Site site_;
};

TEST_F(Selectors, ByLevelPicksTheHighestAndTheFirstOfEquals) {
  std::vector<Strategy> s = {
      {.name = "a", .level = 5}, {.name = "b", .level = 12}, {.name = "c", .level = 12}};
  EXPECT_EQ(pick(te::by_level(), s), "b");
  EXPECT_THAT(pick(te::by_level(), {}), HasSubstr("nothing to choose from for relu"));
}

TEST_F(Selectors, ByCostPicksTheCheapestAndTheUnknownLast) {
  std::vector<Strategy> s = {{.name = "unknown", .level = 99},
                             {.name = "slow", .cost_ns = cost(20)},
                             {.name = "fast", .level = 1, .cost_ns = cost(7)}};
  EXPECT_EQ(pick(te::by_cost(), s), "fast");
  s.resize(1);
  s.push_back({.name = "higher", .level = 100});
  EXPECT_EQ(pick(te::by_cost(), s), "higher");
}

TEST_F(Selectors, OnlyGenericPassesOverComputesThatNeedASchedule) {
  std::vector<Strategy> s = {{.name = "direct", .level = 10},
                             {.name = "packed", .level = 20, .has_generic_schedule = false},
                             {.name = "low", .level = 1}};
  EXPECT_EQ(pick(te::by_level(), s), "packed");
  EXPECT_EQ(pick(te::only_generic(te::by_level()), s), "direct");
  std::vector<Strategy> none = {s[1]};
  EXPECT_THAT(pick(te::only_generic(te::by_level()), none),
              HasSubstr("no compute of relu has a generic schedule"));
}

TEST_F(Selectors, FromHistoryPicksWhatItNamesForTheKey) {
  std::vector<Strategy> s = {{.name = "direct", .level = 10}, {.name = "tuned", .level = 1}};
  EXPECT_EQ(te::site_key(site_), "relu(f32[3])");
  EXPECT_EQ(pick(te::from_history({{"relu(f32[3])", "tuned"}}, te::by_level()), s), "tuned");
  EXPECT_EQ(pick(te::from_history({{"relu(f32[4])", "tuned"}}, te::by_level()), s), "direct");
}

TEST_F(Selectors, FromHistoryPicksWhatIsRecordedForTheCall) {
  std::vector<Strategy> s = {{.name = "direct", .level = 10}, {.name = "tuned", .level = 1}};
  EXPECT_EQ(pick(te::from_history(te::by_level()), s), "direct");
  site_.recorded = "tuned";
  EXPECT_EQ(pick(te::from_history(te::by_level()), s), "tuned");
  EXPECT_EQ(pick(te::by_level(), s), "direct");
  site_.recorded = "gone";
  EXPECT_EQ(pick(te::from_history(te::by_level()), s), "direct");
}

TEST_F(Selectors, PreferPicksTheNameWhereItIs) {
  std::vector<Strategy> s = {{.name = "direct", .level = 10}, {.name = "fast", .level = 1}};
  EXPECT_EQ(pick(te::prefer("fast", te::by_level()), s), "fast");
  EXPECT_EQ(pick(te::prefer("faster", te::by_level()), s), "direct");
}

TEST_F(Selectors, OnlyPicksAmongTheAllowed) {
  std::vector<Strategy> s = {{.name = "a", .level = 30}, {.name = "b"}, {.name = "c", .level = 20}};
  auto without_a = [](const Site&, const Strategy& strategy) { return strategy.name != "a"; };
  EXPECT_EQ(pick(te::only(without_a, te::by_level()), s), "c");
  auto none = [](const Site&, const Strategy&) { return false; };
  EXPECT_THAT(pick(te::only(none, te::by_level()), s),
              HasSubstr("no compute of relu is allowed; there are a, b, c"));
  te::StrategySelector wrong = [](const Site&, std::span<const Strategy> all) -> Result<size_t> {
    return all.size();
  };
  EXPECT_THAT(pick(te::only(without_a, wrong), s), HasSubstr("nothing to choose from"));
}

TEST_F(Selectors, FromHistoryRefusesWhatDoesNotApply) {
  std::vector<Strategy> s = {{.name = "direct"}, {.name = "packed"}};
  auto choice = te::from_history({{"relu(f32[3])", "winograd"}}, te::by_level())(site_, s);
  EXPECT_EQ(choice.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(choice.status().to_string(),
              HasSubstr("the history chose \"winograd\" for relu(f32[3]), which does not apply; "
                        "those that apply: direct, packed"));
}

TEST_F(Selectors, SeeOnlyStrategiesThatApply) {
  te::StrategyTable table = [](const Site& site) {
    return std::vector<Strategy>{
        {.name = "never",
         .level = 99,
         .compute = site.op->compute,
         .applies = [](const Site&) { return false; }},
        {.name = "direct", .level = 1, .compute = site.op->compute},
    };
  };
  auto dag = testing::translate(module_, te::by_level(), table);
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  EXPECT_EQ(dag->stages.back().compute, "direct");
}

}  // namespace
}  // namespace byoc
