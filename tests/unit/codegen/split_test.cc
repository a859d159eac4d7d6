// SPDX-License-Identifier: Apache-2.0
// A plugin that declines a function at a node: the region is cut there, and the rest stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kinds = std::vector<std::pair<std::string, uint64_t>>;

class Split : public ::testing::Test {
 protected:
  void compile(const std::string& text, std::map<std::string, std::string> options,
               bool is_strict = false) {
    plugins_ = selective_plugins({{"a", std::move(options)}});
    BuildOptions build_options;
    build_options.plugins = plugins_;
    build_options.compilers = {"a"};
    build_options.report = &report_;
    build_options.strict = is_strict;
    Result<Executable> made = build(parse(text), build_options);
    status_ = made.status();
    if (made.ok()) executable_ = *std::move(made);
  }
  /// The plugin and the number of ops of each step, in order.
  Kinds steps() const {
    Kinds out;
    for (const Step& step : executable_.program.steps) {
      const ExternalModule& module = executable_.modules.at(step.module);
      out.emplace_back(module.plugin, module.functions.at(step.function).ops);
    }
    return out;
  }
  std::vector<std::string> remarks(Report::Remark::Kind kind) const {
    std::vector<std::string> out;
    for (const Report::Remark& remark : report_.remarks) {
      if (remark.kind == kind)
        out.push_back(cat(remark.plugin, " ", remark.op, " ",
                          remark.locs.empty() ? "" : remark.locs[0].str(), ": ", remark.reason));
    }
    return out;
  }
  /// Compares the results with those of json for all ops.
  void expect_right(const std::string& text) {
    auto json = selective_plugins({});
    BuildOptions options;
    options.plugins = json;
    options.compilers = {"json"};
    Result<Executable> expected = build(parse(text), options);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    expect_close(execute(executable_, plugins_), execute(*expected, json));
  }

  std::shared_ptr<const PluginSet> plugins_;
  Report report_;
  Executable executable_;
  Status status_;
};

constexpr const char* kSix = R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("n0")
  %1 = tanh(%0) loc("n1")
  %2 = exp(%1) loc("n2")
  %3 = sigmoid(%2) loc("n3")
  %4 = sin(%3) loc("n4")
  %5 = cos(%4) loc("n5")
  return %5
})";

TEST_F(Split, SixOpsWithRoomForThreeAreTwoRegions) {
  compile(kSix, {{"max_nodes", "3"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"a", 3}, {"a", 3}}));
  EXPECT_THAT(remarks(Report::Remark::kNote),
              ElementsAre("a sigmoid n3: another region begins here: has room for 3 nodes"));
  EXPECT_THAT(remarks(Report::Remark::kDeclined), ElementsAre());
  expect_right(kSix);
}

TEST_F(Split, IsNoErrorWithStrict) {
  compile(kSix, {{"max_nodes", "4"}}, true);
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"a", 4}, {"a", 2}}));
}

TEST_F(Split, RoomForOneGivesARegionPerOp) {
  compile(kSix, {{"max_nodes", "1"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), Kinds(6, {"a", 1}));
  expect_right(kSix);
}

constexpr const char* kConv = R"(fn main(%x: f32[1,2,4,4]) {
  %w = const([0.5, -0.25, 1.0, 0.75]) : f32[2,2,1,1]
  %0 = conv2d(%x, %w) loc("first")
  %1 = softmax(%0) {axis=1} loc("soft")
  %2 = relu(%1) loc("between")
  %3 = conv2d(%2, %w) loc("second")
  %4 = tanh(%3) loc("last")
  return %4
})";

TEST_F(Split, AConvAfterASoftmaxBeginsAnotherRegion) {
  compile(kConv, {{"apart", "softmax>conv2d"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"a", 3}, {"a", 2}}));
  EXPECT_THAT(
      remarks(Report::Remark::kNote),
      ElementsAre(
          "a conv2d second: another region begins here: conv2d after softmax does not fit"));
  expect_right(kConv);
}

TEST_F(Split, AnOpThatFitsNowhereGoesElsewhereAlone) {
  compile(kSix, {{"leave", "exp"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"a", 2}, {"json", 1}, {"a", 3}}));
  EXPECT_THAT(remarks(Report::Remark::kDeclined), ElementsAre(HasSubstr("n2: a: leaves it")));
  expect_right(kSix);
}

TEST_F(Split, AnOpThatFitsNowhereIsAnErrorWithStrict) {
  compile(kSix, {{"leave", "exp"}}, true);
  EXPECT_THAT(status_.message(), HasSubstr("--strict: a took @"));
}

// The part after the cut is two: no value goes from one to the other.
TEST_F(Split, PartsThatNoValueConnectsAreSeveralRegions) {
  constexpr const char* kFork = R"(fn main(%x: f32[2,3]) {
    %0 = relu(%x) loc("n0")
    %1 = tanh(%0) loc("n1")
    %2 = exp(%0) loc("n2")
    return %1, %2
  })";
  compile(kFork, {{"max_nodes", "1"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), Kinds(3, {"a", 1}));
  expect_right(kFork);
}

TEST_F(Split, ACompositeIsOneNodeAndStaysOne) {
  const char* pattern =
      R"([{"name":"a.pair","dag":{"op":"tanh","as":"post","args":[{"op":"relu","as":"first"}]}}])";
  compile(kSix, {{"max_nodes", "2"}, {"ops", "exp,sigmoid,sin,cos"}, {"patterns", pattern}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"a", 3}, {"a", 2}, {"a", 1}}));
  expect_right(kSix);
}

TEST_F(Split, ACompositeThatFitsNowhereBecomesOpsOfOthers) {
  const char* pattern =
      R"([{"name":"a.pair","dag":{"op":"tanh","as":"post","args":[{"op":"relu","as":"first"}]}}])";
  compile(kSix, {{"leave", "a.pair"}, {"ops", "exp,sigmoid,sin,cos"}, {"patterns", pattern}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), (Kinds{{"json", 2}, {"a", 4}}));
  expect_right(kSix);
}

// Equal functions are cut alike, and their parts share kernels.
TEST_F(Split, EqualFunctionsAreCutAlike) {
  std::string text = "fn main(%x: f32[2,3], %y: f32[2,3]) {\n";
  for (const char* at : {"x", "y"}) {
    text += cat("%", at, "0 = relu(%", at, ") %", at, "1 = tanh(%", at, "0) %", at, "2 = exp(%", at,
                "1) %", at, "3 = sin(%", at, "2)\n");
  }
  text += "return %x3, %y3 }";
  compile(text, {{"max_nodes", "2"}});
  ASSERT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(steps(), Kinds(4, {"a", 2}));
  size_t kernels = 0;
  for (const ExternalModule& module : executable_.modules) kernels += module.functions.size();
  EXPECT_EQ(kernels, 2u);
  expect_right(text);
}

}  // namespace
}  // namespace byoc::test
