// SPDX-License-Identifier: Apache-2.0
// The choice on whole functions, with plugins whose estimates are set by options. The assumed
// machine has caches of 60 GB/s and calls of 300 ns: a border of f32[256,256] costs 300 + 4369 ns.
#include "core/placement/place.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <random>

#include "byoc/base/file.h"
#include "byoc/pass/passes.h"
#include "byoc/text/graph_json.h"
#include "core/placement/plan.h"
#include "placed.h"

namespace byoc::placement {
namespace {

using test::PluginOptions;

constexpr const char* kPair =
    R"([{"name":"tanh_relu","dag":{"op":"relu","args":[{"op":"tanh"}]}}])";

// By priority a would get relu. Its kernel is 4 us faster, its two borders cost 9 us.
TEST(Place, ALoneOpGoesBackWhenItsBordersCostMoreThanItSaves) {
  const PluginOptions options = {{"a", {{"ops", "relu"}, {"est", "relu:6000"}}},
                                 {"b", {{"ops", "relu,tanh"}, {"est", "relu:10000,tanh:10000"}}}};
  const Placed placed = place(kChain, options, "*!=json");
  EXPECT_EQ(placed.plugins(), (Ids{"b", "b", "b"}));
  EXPECT_TRUE(placed.placement.solution.is_optimal());
  EXPECT_EQ(placed.placement.solution.cost, to_cost(30'000));
  const std::vector<Alternative> others = alternatives(placed.placement, 2);
  ASSERT_EQ(others.size(), 3u);  // a, b and the default codegen
  const double border = 300 + 262144 / 60.0;
  EXPECT_NEAR(others[0].total_ns, 26'000 + 2 * border, 0.01);
  EXPECT_NEAR(others[0].border_ns, 2 * border, 0.01);
  EXPECT_NEAR(others[1].total_ns, 30'000, 0.01);
  EXPECT_EQ(others[1].border_ns, 0);
}

TEST(Place, ALoneOpStaysWhereItSavesMoreThanItsBorders) {
  const PluginOptions options = {{"a", {{"ops", "relu"}, {"est", "relu:100"}}},
                                 {"b", {{"ops", "relu,tanh"}, {"est", "relu:10000,tanh:10000"}}}};
  const Placed placed = place(kChain, options, "*!=json");
  EXPECT_EQ(placed.plugins(), (Ids{"b", "a", "b"}));
  EXPECT_NEAR(border_ns(placed.placement, 2), 2 * (300 + 262144 / 60.0), 0.01);
}

TEST(Place, AMatchIsChosenAsAWholeWhenItIsCheaper) {
  PluginOptions options = {{"a",
                            {{"ops", "relu,tanh"},
                             {"patterns", kPair},
                             {"est", "a.tanh_relu:500,relu:4000,tanh:4000"}}}};
  EXPECT_EQ(place(kChain, options).placement.solution.cost, to_cost(4500));
  options["a"]["est"] = "a.tanh_relu:90000,relu:100,tanh:100";
  const Placed apart = place(kChain, options);
  EXPECT_EQ(apart.placement.solution.cost, to_cost(300));
  for (uint32_t index : apart.placement.chosen) {
    if (index != kNone) {
      EXPECT_EQ(apart.placement.candidates.all[index].match, kNone);
    }
  }
}

TEST(Place, OfEqualCostsTheFirstPluginIsChosenEveryTime) {
  const PluginOptions options = {{"a", {{"ops", "relu,tanh"}, {"est", "relu:50,tanh:50"}}},
                                 {"b", {{"ops", "relu,tanh"}, {"est", "relu:50,tanh:50"}}}};
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(place(kChain, options).plugins(), (Ids{"a", "a", "a"}));
}

TEST(Place, AllPluginsAreAskedAndRefusalsAreKept) {
  const PluginOptions options = {{"a", {{"ops", "relu"}, {"est", "relu:1"}}},
                                 {"b", {{"ops", "relu,tanh"}, {"refuse", "relu"}}}};
  const Placed placed = place(kChain, options);
  std::vector<std::string> reasons;
  for (const Refusal& refusal : placed.placement.candidates.refusals) {
    if (refusal.node == 2) reasons.push_back(refusal.reason);
  }
  EXPECT_EQ(reasons, (Ids{"refused by its options"}));
}

// Borders of f32[2] cost 300 ns.
constexpr std::string_view kSmall = R"(
fn main(%x: f32[2]) {
  %0 = tanh(%x) loc("T0")
  %1 = relu(%0) loc("R1")
  %2 = tanh(%1) loc("T2")
  return %2
})";

const PluginOptions kTwo = {{"a", {{"ops", "relu,tanh"}, {"est", "relu:50,tanh:50"}}},
                            {"b", {{"ops", "relu,tanh"}, {"est", "relu:500,tanh:500"}}}};

TEST(PlaceRules, OptionsPinAndBan) {
  EXPECT_EQ(place(kSmall, kTwo, "relu=b").plugins(), (Ids{"a", "b", "a"}));
  EXPECT_EQ(place(kSmall, kTwo, "#T2!=a,#T2!=json").plugins(), (Ids{"a", "a", "b"}));
  EXPECT_EQ(place(kSmall, kTwo, "@main=json").plugins(), (Ids{"json", "json", "json"}));
  EXPECT_EQ(place(kSmall, kTwo, "*!=a,*!=json").plugins(), (Ids{"b", "b", "b"}));
}

TEST(PlaceRules, AFunctionHasRulesAsAnAttribute) {
  std::string text(kSmall);
  text.replace(text.find(") {"), 3, ") {placement=\"relu=b\"} {");
  EXPECT_EQ(place(text, kTwo).plugins(), (Ids{"a", "b", "a"}));
}

std::string with_own_rules(std::string_view rules) {
  std::string text(kSmall);
  text.insert(text.find(" loc(\"R1\")"), cat(" {placement=\"", rules, "\"}"));
  return text;
}

TEST(PlaceRules, AnOpHasRulesAsAnAttribute) {
  EXPECT_EQ(place(with_own_rules("b"), kTwo).plugins(), (Ids{"a", "b", "a"}));
  EXPECT_EQ(place(with_own_rules("!a, !b"), kTwo).plugins()[1], "json");
  EXPECT_EQ(place(with_own_rules("b"), kTwo, "#R1=a,tanh!=a").plugins()[1], "b");
  EXPECT_EQ(place(with_own_rules("b"), kTwo).placement.candidates.all[0].text,
            place(kSmall, kTwo).placement.candidates.all[0].text);
}

TEST(PlaceRules, AnAttributeThatNamesNoPluginIsAnError) {
  for (const char* rules : {"", "!", "a,", "nine"}) {
    Result<Placed> placed = try_place(with_own_rules(rules), kTwo);
    ASSERT_FALSE(placed.ok()) << rules;
    EXPECT_NE(placed.status().to_string().find("relu"), std::string::npos);
  }
  EXPECT_EQ(try_place(with_own_rules("nine"), kTwo).status().slug(), "unknown-plugin");
}

TEST(PlaceRules, APinInCppStaysWithTheHost) {
  IRModule module = test::parse(with_own_rules("b"));
  Attrs attrs;
  attrs.set("placement", std::string("b"));
  Result<Attrs> complete = complete_attrs(*all_ops().find("relu"), attrs);
  ASSERT_TRUE(complete.ok()) << complete.status().to_string();
  EXPECT_TRUE(*complete == *std::get<Call>(module.function("main").nodes[2].kind).attrs);
  EXPECT_FALSE(complete_attrs(*all_ops().find("relu"), {{"placement", int64_t{1}}}).ok());
  std::string json;
  write_graph_json(module, module.function("main"), "main", json);
  EXPECT_EQ(json.find("placement"), std::string::npos);
  EXPECT_EQ(json.find("attrs"), std::string::npos);
}

TEST(PlaceRules, AnOpWithoutAPluginIsAnErrorWithAllReasons) {
  Result<Placed> placed = try_place(kChain, {{"a", {{"ops", "tanh"}}}}, "relu=a");
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.status().slug(), "placement-rule");
  EXPECT_NE(placed.status().message().find("R1"), std::string::npos);
  EXPECT_NE(placed.status().message().find("no pattern for relu"), std::string::npos);
  EXPECT_NE(placed.status().message().find("relu=a"), std::string::npos);
}

TEST(PlaceCosts, MeasuredCostsGoBeforeEstimatesAndErrorsForbid) {
  Placed first = place(kChain, kTwo);
  const Plugin& a = *first.context.plugins->find("a");
  Costs costs;
  const Candidate& relu = first.placement.candidates.all[first.placement.chosen[2]];
  costs.store.put(costs.key_of(a, relu.text), {90'000, ""});
  const Placed slow = place(kChain, kTwo, "", costs);
  EXPECT_EQ(slow.plugins(), (Ids{"b", "b", "b"}));
  costs.store.put(costs.key_of(a, relu.text), {0, "crashed (Segmentation fault)"});
  const Placed failed = place(kChain, kTwo, "relu!=b,tanh!=b", costs);
  EXPECT_EQ(failed.plugins()[1], "json");
  const Candidate& bad = failed.placement.candidates.all[failed.placement.candidates.of_node[2][0]];
  EXPECT_EQ(bad.cost.source, CandidateCost::kForbiddenByError);
  EXPECT_EQ(bad.cost.note, "crashed (Segmentation fault)");
}

TEST(PlaceByCost, WritesOpenRegionsThatTheOtherPassesPartition) {
  IRModule module = test::parse(kChain);
  PluginOptions options = {{"a",
                            {{"ops", "relu,tanh"},
                             {"patterns", kPair},
                             {"est", "a.tanh_relu:500,relu:4000,tanh:4000"}}}};
  PassContext context = test::context_of(module, test::selective_plugins(options), {"auto"});
  context.options["costs"] = "none";
  Result<IRModule> placed = place_by_cost(module, context.compilers, context);
  ASSERT_TRUE(placed.ok()) << placed.status().to_string();
  Result<IRModule> again = place_by_cost(*placed, context.compilers, context);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(equal(*placed, *again)) << print(*placed) << print(*again);
  IRModule cut = test::run(*placed, "merge_compiler_regions,partition_graph", context);
  EXPECT_NE(cut.find("a_main_0"), nullptr) << print(cut);
  EXPECT_TRUE(verify(cut).ok());
}

BuildOptions auto_build(const PluginOptions& options) {
  BuildOptions build;
  build.plugins = test::selective_plugins(options);
  build.compilers = {"auto"};
  build.options["costs"] = "none";
  return build;
}

TEST(PlaceByCost, CompiledProgramsComputeTheSame) {
  const IRModule module = test::parse(kChain);
  BuildOptions build_with = auto_build(kTwo);
  Result<Executable> by_cost = build(module, build_with);
  ASSERT_TRUE(by_cost.ok()) << by_cost.status().to_string();
  ASSERT_EQ(by_cost->modules.size(), 1u);
  EXPECT_EQ(by_cost->modules[0].plugin, "a");
  build_with.compilers = {"json"};
  Result<Executable> reference = build(module, build_with);
  ASSERT_TRUE(reference.ok());
  test::expect_close(test::execute(*by_cost, build_with.plugins),
                     test::execute(*reference, build_with.plugins));
}

TEST(PlaceByCost, FunctionsWithTheAttributeCompilerKeepTheirPlugin) {
  const IRModule module = test::parse(R"(
fn main(%x: f32[8]) { %0 = @mine(%x)  %1 = relu(%0)  return %1 }
fn mine(%x: f32[8]) {compiler="b"} { %0 = tanh(%x)  return %0 })");
  const BuildOptions build_with = auto_build(kTwo);
  Result<IRModule> cut = partition_for(module, build_with);
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  EXPECT_EQ(cut->function("mine").attr("compiler"), "b");
}

class Plans : public ::testing::Test {
 protected:
  Plans() : path_((std::filesystem::temp_directory_path() / cat("byoc-plan-", getpid())).string()) {
    module_ = test::parse(kChain);
    context_ = test::context_of(module_, test::selective_plugins(kTwo), {"auto"}, &report_);
    context_.options["costs"] = "none";
    Result<FunctionPlacement> placement =
        place_function(module_, "main", context_.compilers, pinned(), context_);
    EXPECT_TRUE(placement.ok());
    plan_ = empty_plan(module_, context_.compilers, *costs_of(context_), context_);
    add_choices(module_, *placement, plan_);
  }
  ~Plans() override { std::filesystem::remove(path_); }
  // Costs that make b the plugin of relu: a choice that estimates would not make.
  static Costs pinned() {
    Costs costs;
    costs.rules = *Rules::parse("relu=b");
    return costs;
  }
  std::string relu_runs_by(const Plan& plan) {
    EXPECT_TRUE(write_plan(plan, path_).ok());
    context_.options["plan"] = path_;
    report_.remarks.clear();
    Result<IRModule> placed = place_by_cost(module_, context_.compilers, context_);
    EXPECT_TRUE(placed.ok()) << placed.status().to_string();
    const std::string text = print(*placed);
    const size_t relu = text.find("= relu(");
    const size_t end = text.find("compiler=\"", relu);
    return text.substr(end + 10, 1);
  }
  std::string warning() const {
    for (const Report::Remark& remark : report_.remarks) {
      if (remark.op == "plan") return remark.reason;
    }
    return "";
  }
  std::string path_;
  IRModule module_;
  Report report_;
  PassContext context_;
  Plan plan_;
};

TEST_F(Plans, AreTheSameAfterAFile) {
  ASSERT_TRUE(write_plan(plan_, path_).ok());
  Result<Plan> read = read_plan(path_);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read), to_json(plan_));
}

TEST_F(Plans, AreUsedInsteadOfEstimates) {
  EXPECT_EQ(relu_runs_by(plan_), "b");
  EXPECT_EQ(warning(), "");
}

TEST_F(Plans, MayBeAnOrderOfPlugins) {
  plan_.order = Ids{"b"};
  EXPECT_EQ(relu_runs_by(plan_), "b");
}

TEST_F(Plans, OfAnotherVersionOfAPluginAreRefusedAndEstimatedAnew) {
  plan_.plugins[0].second = "0.9.9";
  EXPECT_EQ(relu_runs_by(plan_), "a");
  EXPECT_NE(warning().find("0.9.9"), std::string::npos);
  EXPECT_NE(warning().find("1.0.0"), std::string::npos);
}

TEST_F(Plans, OfAnotherProcessorAreRefusedAndEstimatedAnew) {
  plan_.machine = "a 6502";
  EXPECT_EQ(relu_runs_by(plan_), "a");
  EXPECT_NE(warning().find("a 6502"), std::string::npos);
}

TEST_F(Plans, OfOtherOptionsOfCodeHaveAFileOfTheirOwnAndAreRefused) {
  const std::string usual = plan_path("folder", plan_);
  plan_.code = "exact-sums";
  EXPECT_NE(plan_path("folder", plan_), usual);
  EXPECT_EQ(relu_runs_by(plan_), "a");
  EXPECT_NE(warning().find("\"exact-sums\""), std::string::npos);
  context_.compile_flags = BYOC_STRICT_FP;
  EXPECT_EQ(relu_runs_by(plan_), "b");
  EXPECT_EQ(warning(), "");
}

TEST_F(Plans, OfAnotherGraphOrWithNodesThatDoNotExistAreRefused) {
  Plan other = plan_;
  other.graph = "0123";
  EXPECT_EQ(relu_runs_by(other), "a");
  EXPECT_NE(warning().find("the graph"), std::string::npos);
  other = plan_;
  other.functions[0].second[0].nodes = {4'000'000};
  EXPECT_EQ(relu_runs_by(other), "a");
  EXPECT_NE(warning().find("no longer takes"), std::string::npos);
  other = plan_;
  other.functions[0].second.push_back(other.functions[0].second[0]);
  EXPECT_EQ(relu_runs_by(other), "a");
}

TEST_F(Plans, ThatAreNoPlansAreErrorsWithTheFile) {
  for (const char* text : {"", "{}", "{\"format\":\"byoc-plan-1\"}", "[1]"}) {
    ASSERT_TRUE(write_file(path_, text).ok());
    Result<Plan> read = read_plan(path_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().to_string().find(path_), std::string::npos);
  }
}

// A random function of unary and binary ops, with extents 0, 1 and 3, and one name for all ops.
std::string random_function(std::mt19937& random) {
  const uint32_t extent = std::array{0u, 1u, 3u}[random() % 3];
  const uint32_t ops = 1 + random() % 25;
  std::string out = cat("fn main(%x: f32[2,", extent, "]) {\n");
  auto value = [&](uint32_t before) {
    const uint32_t k = random() % (before + 1);
    return k == before ? std::string("%x") : cat("%", k);
  };
  for (uint32_t k = 0; k < ops; ++k) {
    const uint32_t kind = random() % 3;
    out += cat("  %", k, " = ", kind == 0 ? "tanh" : kind == 1 ? "relu" : "add", "(", value(k));
    out += cat(kind == 2 ? cat(", ", value(k)) : "", ") loc(\"same\")\n");
  }
  return cat(out, "  return %", ops - 1, "\n}\n");
}

TEST(PlaceByCost, RandomFunctionsStayValidAndCostWhatTheSolverReports) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    PluginOptions options = {{"a", {{"ops", "relu,tanh"}, {"patterns", kPair}}},
                             {"b", {{"ops", "relu,add"}}}};
    options["a"]["est"] = cat("a.tanh_relu:", 1 + random() % 900, ",relu:", 1 + random() % 900,
                              ",tanh:", 1 + random() % 900);
    options["b"]["est"] = cat("relu:", 1 + random() % 900, ",add:", 1 + random() % 900);
    const std::string text = random_function(random);
    Placed placed = place(text, options);
    const FunctionPlacement& placement = placed.placement;
    ASSERT_LE(cost_of(placement.problem, placement.solution.state), placement.solution.cost)
        << "the solution has the costs of cuts as well";
    ASSERT_LE(placement.solution.bound, placement.solution.cost);
    for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
      if (placement.chosen[node] == kNone) continue;
      const Candidate& one = placement.candidates.all[placement.chosen[node]];
      for (uint32_t other : placement.candidates.nodes_of(one))
        ASSERT_EQ(placement.chosen[other], placement.chosen[node]) << text;
    }
    Result<Function> applied = apply_placement(placed.module, placement, placed.context);
    ASSERT_TRUE(applied.ok()) << applied.status().to_string();
    placed.module.function("main") = *std::move(applied);
    const IRModule cut =
        test::run(placed.module, "merge_compiler_regions,partition_graph", placed.context);
    ASSERT_TRUE(verify(cut).ok()) << text << print(cut);
  }
}

TEST(CanonicalText, HasNoNamesAndNoContentsOfConstants) {
  const IRModule a = test::parse(R"(
fn main(%x: f32[2]) { %c = const(1.0) : f32[2]  %0 = add(%x, %c) loc("A")  return %0 })");
  const IRModule b = test::parse(R"(
fn main(%y: f32[2]) { %c = const(2.0) : f32[2]  %0 = add(%y, %c) loc("B")  return %0 })");
  const IRModule c = test::parse("fn main(%x: f32[2]) { %0 = add(%x, %x)  return %0 }");
  auto text = [](const IRModule& m) {
    const Function& f = m.function(m.entry);
    const auto last = static_cast<uint32_t>(f.nodes.size() - 1);
    return canonical_text(f, std::span(&last, 1));
  };
  EXPECT_EQ(text(a), text(b));
  EXPECT_NE(text(a), text(c));
  EXPECT_EQ(graph_text(a), graph_text(b));
  EXPECT_NE(graph_text(a), graph_text(c));
}

}  // namespace
}  // namespace byoc::placement
