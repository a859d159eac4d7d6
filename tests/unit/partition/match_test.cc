// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/pass/pattern.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Pattern parsed_pattern(std::string_view json) {
  Result<Pattern> parsed = Pattern::parse(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return *parsed;
}

struct Matched {
  IRModule module;
  const Function& main() const { return module.function("main"); }
  // Returns the locs of the ops of the best match at the node with loc `root`;
  // empty if none matches.
  std::vector<std::string> at(std::string_view json, std::string_view root,
                              size_t which = 0) const {
    std::vector<std::string> out;
    auto all = matches_at(parsed_pattern(json), main(), UseCounts(main()), node(root), which + 1);
    if (all.size() <= which) return out;
    for (uint32_t n : all[which].nodes) out.push_back(main().nodes[n].loc.str());
    return out;
  }
  std::vector<std::string> captured(std::string_view json, std::string_view root,
                                    const std::string& name) const {
    std::vector<std::string> out;
    auto all = matches_at(parsed_pattern(json), main(), UseCounts(main()), node(root));
    if (all.empty()) return out;
    for (ValueId v : all[0].captures[name]) out.push_back(main().nodes[v.node].loc.str());
    return out;
  }
  uint32_t node(std::string_view loc) const {
    for (uint32_t n = 0; n < main().nodes.size(); ++n) {
      if (main().nodes[n].loc.text() == loc) return n;
    }
    ADD_FAILURE() << "no node " << loc;
    return 0;
  }
};

Matched graph(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return {*std::move(module)};
}

constexpr std::string_view kConvBiasPosts =
    R"({"repeat":{"one_of":[{"op":"relu","args":["$"]},{"op":"add","args":["$",{"any":true,"as":"other"}]}]},
  "as":"post","on":{"optional":{"op":"add","args":["$",{"const":true,"as":"bias"}]},
  "on":{"op":"conv2d","args":[{"any":true},{"any":true}],"as":"conv"}}})";

constexpr std::string_view kConvNet = R"(
fn main(%x: f32[1,2,4,4], %r: f32[1,2,4,4], %w: f32[2,2,1,1]) {
  %b = const([1.0,2.0]) : f32[2,1,1]
  %0 = conv2d(%x, %w) loc("conv")
  %1 = add(%b, %0) loc("bias")
  %2 = add(%1, %r) loc("sum")
  %3 = relu(%2) loc("relu")
  %4 = tanh(%3) loc("tanh")
  return %4
})";

TEST(MatchesAt, TakesTheLongestChainWithOperandsInEitherOrder) {
  EXPECT_THAT(graph(kConvNet).at(kConvBiasPosts, "relu"),
              ElementsAre("conv", "bias", "sum", "relu"));
  EXPECT_THAT(graph(kConvNet).at(kConvBiasPosts, "sum"), ElementsAre("conv", "bias", "sum"));
  EXPECT_THAT(graph(kConvNet).at(kConvBiasPosts, "conv"), ElementsAre("conv"));
  EXPECT_THAT(graph(kConvNet).at(kConvBiasPosts, "tanh"), ElementsAre());
}

TEST(MatchesAt, CapturesChainsInGraphOrder) {
  EXPECT_THAT(graph(kConvNet).captured(kConvBiasPosts, "relu", "conv"), ElementsAre("conv"));
  EXPECT_THAT(graph(kConvNet).captured(kConvBiasPosts, "relu", "post"),
              ElementsAre("bias", "sum", "relu"));
}

TEST(MatchesAt, AnInnerValueReadOutsideEndsTheMatch) {
  Matched g = graph(
      R"(fn main(%x: f32[2]) { %0 = tanh(%x) loc("t")  %1 = relu(%0) loc("r")  return %1, %0 })");
  EXPECT_THAT(g.at(R"({"op":"relu","args":[{"op":"tanh"}]})", "r"), ElementsAre());
}

// x * sigmoid(x) is a DAG, not a chain. A comparison of op names would match the second form, too.
TEST(MatchesAt, FollowsSharedValues) {
  constexpr std::string_view swish =
      R"({"op":"multiply","args":[{"any":true,"as":"x"},{"op":"sigmoid","args":[{"same":"x"}]}]})";
  Matched yes = graph(
      R"(fn main(%x: f32[2]) { %0 = sigmoid(%x) loc("s")  %1 = multiply(%0, %x) loc("m")  return %1 })");
  Matched no = graph(
      R"(fn main(%x: f32[2], %y: f32[2]) { %0 = sigmoid(%x) loc("s")  %1 = multiply(%0, %y) loc("m")  return %1 })");
  EXPECT_THAT(yes.at(swish, "m"), ElementsAre("s", "m"));
  EXPECT_THAT(no.at(swish, "m"), ElementsAre());
}

// The nearest f32 of sqrt(2) is 1.41421354; exporters also write it with fewer digits.
TEST(MatchesAt, AConstantHasTheValueWithinItsTolerance) {
  const auto divided_by = [](std::string_view constant) {
    return graph(cat("fn main(%x: f32[2]) { %c = const(", constant,
                     " %0 = divide(%x, %c) loc(\"d\") return %0 }"));
  };
  const auto pattern = [](std::string_view value) {
    return cat(R"({"op":"divide","args":[{"any":true},{"const":true,"as":"c","value":)", value,
               "}]}");
  };
  for (const char* wide :
       {"1.41421354) : f32[]", "[1.4142, 1.4143]) : f32[2]", "1.4140625) : f32[1]"})
    EXPECT_THAT(divided_by(wide).at(pattern(R"(1.4142135,"rtol":1e-3)"), "d"), ElementsAre("d"))
        << wide;
  for (const char* other : {"1.5) : f32[]", "[1.4142135, 2.0]) : f32[2]", "nan) : f32[]"})
    EXPECT_THAT(divided_by(other).at(pattern(R"(1.4142135,"rtol":1e-3)"), "d"), ElementsAre())
        << other;
  EXPECT_THAT(divided_by("1.41421354) : f32[]").at(pattern("1.41421356237"), "d"),
              ElementsAre("d"));
  EXPECT_THAT(divided_by("1.4142136) : f32[]").at(pattern("1.4142"), "d"), ElementsAre());
  EXPECT_THAT(divided_by("-2.0) : f32[]").at(pattern("-2"), "d"), ElementsAre("d"));
}

TEST(MatchesAt, AnOperandThatIsNoConstantHasNoValue) {
  Matched g = graph("fn main(%x: f32[2], %c: f32[]) { %0 = divide(%x, %c) loc(\"d\") return %0 }");
  EXPECT_THAT(g.at(R"({"op":"divide","args":[{"any":true},{"const":true,"value":2}]})", "d"),
              ElementsAre());
}

TEST(PatternSyntax, OfValuesOfConstants) {
  const auto message = [](std::string_view constant) {
    auto pattern = Pattern::parse(cat(R"({"op":"add","args":[{"any":true},)", constant, "]}"));
    return pattern.ok() ? "" : cat(pattern.status().message(), " at ", pattern.status().where());
  };
  EXPECT_EQ(message(R"({"const":true,"value":"2"})"), "`value` must be a number at pattern/args/1");
  EXPECT_EQ(message(R"({"const":true,"rtol":1e-3})"), "`rtol` needs `value` at pattern/args/1");
  EXPECT_EQ(message(R"({"const":true,"value":2,"rtol":-1})"),
            "`rtol` must be a number of at least 0 at pattern/args/1");
}

/// Returns what is wrong with a pattern, with its place; "" for a right one.
std::string mistake_of(std::string_view json) {
  auto pattern = Pattern::parse(json);
  return pattern.ok() ? "" : cat(pattern.status().message(), " at ", pattern.status().where());
}

// A member that is ignored would make the pattern match more than is meant.
TEST(PatternSyntax, RefusesMembersThatItDoesNotKnow) {
  EXPECT_EQ(mistake_of(R"({"op":"relu","argz":[{"const":true}]})"),
            R"(unknown member "argz"; did you mean "args"? at pattern)");
  EXPECT_EQ(mistake_of(R"({"op":"relu","attr":{"k":1}})"),
            R"(unknown member "attr"; did you mean "attrs"? at pattern)");
  EXPECT_EQ(mistake_of(R"({"op":"relu","dtypes":["f32"]})"),
            R"(unknown member "dtypes"; did you mean "dtype"? at pattern)");
  EXPECT_EQ(mistake_of(R"({"op":"add","args":[{"any":true},{"op":"relu","rnak":[2]}]})"),
            R"(unknown member "rnak"; did you mean "rank"? at pattern/args/1)");
  EXPECT_EQ(mistake_of(R"({"op":"relu","args":[{"any":true,"dtype":["f32"]}]})"),
            R"(unknown member "dtype"; known are any, as at pattern/args/0)");
  EXPECT_EQ(mistake_of(R"({"op":"relu","args":[{"const":true,"vlaue":1}]})"),
            R"(unknown member "vlaue"; did you mean "value"? at pattern/args/0)");
  EXPECT_EQ(mistake_of(R"({"one_of":[{"op":"relu"}],"rank":[2]})"),
            R"(unknown member "rank"; known are one_of, as at pattern)");
  EXPECT_EQ(mistake_of(R"({"optional":{"op":"relu","args":["$"]},"on":{"op":"add"},"min":1})"),
            R"(unknown member "min"; known are optional, on, as at pattern)");
  EXPECT_EQ(mistake_of(R"({"repeat":{"op":"relu","args":["$"]},"on":{"op":"add"},"maximum":1})"),
            R"(unknown member "maximum"; known are repeat, on, min, max, as at pattern)");
  EXPECT_EQ(mistake_of(R"({"op":"add","args":[{"any":true,"as":"x"},{"same":"x","as":"y"}]})"),
            R"(unknown member "as"; known are same at pattern/args/1)");
}

TEST(PatternSyntax, RefusesTestsThatTestNothing) {
  EXPECT_EQ(mistake_of(R"({"op":"relu","args":[{"any":false}]})"),
            "`any` must be true at pattern/args/0");
  EXPECT_EQ(mistake_of(R"({"op":"relu","args":[{"const":"w"}]})"),
            "`const` must be true at pattern/args/0");
  EXPECT_EQ(mistake_of(R"({"op":"relu","attrs":{"k":{}}})"),
            "a test needs one of in, min, max at pattern/attrs/k");
  EXPECT_EQ(mistake_of(R"({"op":"relu","dtype":[]})"), "`dtype` is empty at pattern/dtype");
  EXPECT_EQ(mistake_of(R"({"op":"relu","rank":[]})"), "`rank` is empty at pattern/rank");
}

// A plugin finds a captured value by its name, so a match has one value of each name.
TEST(PatternSyntax, RefusesANameForTwoValuesOfAMatch) {
  const char* kTwice =
      R"(the name "x" is captured twice; {"same": "x"} matches the value that has it)";
  EXPECT_EQ(mistake_of(R"({"op":"add","args":[{"any":true,"as":"x"},{"any":true,"as":"x"}]})"),
            cat(kTwice, " at pattern/args/1"));
  EXPECT_EQ(mistake_of(R"({"op":"relu","args":[{"const":true,"as":"x"}],"as":"x"})"),
            cat(kTwice, " at pattern"));
  EXPECT_EQ(mistake_of(R"({"optional":{"op":"add","args":["$",{"any":true,"as":"x"}]},
                           "on":{"op":"relu","args":[{"any":true,"as":"x"}]}})"),
            cat(kTwice, " at pattern/on"));
  EXPECT_EQ(mistake_of(R"({"op":"add","args":[{"any":true,"as":"x"},
               {"one_of":[{"op":"relu"},{"op":"tanh","args":[{"any":true,"as":"x"}]}]}]})"),
            cat(kTwice, " at pattern/args/1"));
}

TEST(PatternSyntax, AllowsANameInAlternativesOfWhichOneMatches) {
  EXPECT_EQ(mistake_of(R"({"one_of":[{"op":"relu","args":[{"any":true,"as":"x"}],"as":"y"},
                                     {"op":"tanh","args":[{"any":true,"as":"x"}],"as":"y"}]})"),
            "");
  EXPECT_EQ(mistake_of(kConvBiasPosts), "");
}

// Such a name is that of a list in any case.
TEST(PatternSyntax, AllowsANameForTheLinksOfTwoChains) {
  const std::string chain = R"({"repeat":{"op":"add","args":["$",{"any":true,"as":"other"}]},
                                "as":"post","on":)";
  EXPECT_EQ(mistake_of(chain + R"({"op":"exp","args":[)" + chain + R"({"op":"tanh"}}]}})"), "");
  EXPECT_NE(mistake_of(chain + R"({"op":"exp","args":[{"any":true,"as":"other"}]}})"), "");
}

TEST(MatchesAt, AValueMatchedAsInputIsNoOpOfTheMatch) {
  Matched g = graph(
      R"(fn main(%x: f32[2]) { %0 = relu(%x) loc("a")  %1 = add(%0, %0) loc("b")  return %1 })");
  EXPECT_THAT(g.at(R"({"op":"add","args":[{"op":"relu"},{"any":true}]})", "b"), ElementsAre());
  EXPECT_THAT(g.at(R"({"op":"add","args":[{"op":"relu","as":"r"},{"same":"r"}]})", "b"),
              ElementsAre("a", "b"));
}

TEST(MatchesAt, TriesTheOtherOperandWhenTheFirstIsReadElsewhere) {
  Matched g = graph(
      R"(fn main(%x: f32[2]) { %0 = relu(%x) loc("a")  %1 = relu(%0) loc("b")  %2 = add(%0, %1) loc("s")  return %2 })");
  EXPECT_THAT(g.at(R"({"op":"add","args":[{"op":"relu"},{"any":true}]})", "s"),
              ElementsAre("b", "s"));
}

TEST(MatchesAt, ChecksAttributesTypesAndRanks) {
  Matched g = graph(R"(fn main(%x: f32[1,2,5,5], %w: f32[2,2,3,3]) {
    %0 = conv2d(%x, %w) {strides=[2,2], dilations=[1,1]} loc("c")  return %0 })");
  EXPECT_THAT(
      g.at(
          R"({"op":"conv2d","attrs":{"strides":{"in":[[1,1],[2,2]]},"dilations":{"max":1},"group":1},"dtype":["f32"],"rank":[4]})",
          "c"),
      ElementsAre("c"));
  EXPECT_THAT(g.at(R"({"op":"conv2d","attrs":{"strides":[1,1]}})", "c"), ElementsAre());
  EXPECT_THAT(g.at(R"({"op":"conv2d","attrs":{"dilations":{"min":2}}})", "c"), ElementsAre());
  EXPECT_THAT(g.at(R"({"op":"conv2d","dtype":["f16"]})", "c"), ElementsAre());
  EXPECT_THAT(g.at(R"({"op":"conv2d","rank":[3,5]})", "c"), ElementsAre());
  EXPECT_THAT(g.at(R"({"op":"conv2d","attrs":{"no_such":1}})", "c"), ElementsAre());
}

TEST(MatchesAt, RepeatsWithinItsBounds) {
  Matched g = graph(R"(fn main(%x: f32[2]) {
    %0 = tanh(%x) loc("t")  %1 = relu(%0) loc("1")  %2 = relu(%1) loc("2")  %3 = relu(%2) loc("3")  return %3 })");
  auto bounded = [](int min, int max) {
    return cat(R"({"repeat":{"op":"relu","args":["$"]},"min":)", min, R"(,"max":)", max,
               R"(,"on":{"op":"tanh"}})");
  };
  EXPECT_THAT(g.at(bounded(0, 3), "3"), ElementsAre("t", "1", "2", "3"));
  EXPECT_THAT(g.at(bounded(0, 2), "3"), ElementsAre());
  EXPECT_THAT(g.at(bounded(3, 3), "2"), ElementsAre());
}

TEST(MatchesAt, GivesAlternativesInOrder) {
  Matched g = graph(
      R"(fn main(%x: f32[2]) { %0 = relu(%x) loc("a")  %1 = relu(%x) loc("b")  %2 = add(%0, %1) loc("s")  return %2 })");
  constexpr std::string_view p = R"({"op":"add","args":[{"op":"relu"},{"any":true}]})";
  EXPECT_THAT(g.at(p, "s", 0), ElementsAre("a", "s"));
  EXPECT_THAT(g.at(p, "s", 1), ElementsAre("b", "s"));
  EXPECT_THAT(g.at(p, "s", 2), ElementsAre());
}

TEST(MatchesAt, BacktrackingIsBounded) {
  std::string text = "fn main(%x: f32[2]) { %0 = relu(%x) loc(\"0\")";
  for (int k = 1; k <= 60; ++k)
    text += cat(" %", k, " = add(%", k - 1, ", %", k - 1, ") loc(\"", k, "\")");
  Matched g = graph(text + " return %60 }");
  constexpr std::string_view p =
      R"({"repeat":{"op":"add","args":["$",{"any":true}]},"max":64,"on":{"op":"tanh"}})";
  EXPECT_THAT(g.at(p, "60"), ElementsAre());
}

TEST(Rewrite, ReplacesMatchesAndDropsWhatNobodyReads) {
  Matched g = graph(
      R"(fn main(%x: f32[2]) { %0 = sigmoid(%x)  %1 = multiply(%x, %0)  %2 = relu(%1)  return %2 })");
  Result<Function> out = rewrite(
      g.main(),
      parsed_pattern(
          R"({"op":"multiply","args":[{"any":true,"as":"x"},{"op":"sigmoid","args":[{"same":"x"}]}]})"),
      [](const Match& match, Rewriter& r) -> Result<std::optional<ValueId>> {
        ValueId x = r.map(match.captures.at("x")[0]);
        const OpDef* tanh = all_ops().find("tanh");
        return std::optional(ValueId{r.to().add_call(tanh, intern(*complete_attrs(*tanh, {})),
                                                     std::span(&x, 1), r.to().nodes[x.node].types),
                                     0});
      });
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(
      *out, graph("fn main(%x: f32[2]) { %0 = tanh(%x)  %1 = relu(%0)  return %1 }").main(), &why))
      << why;
}

struct BadPattern {
  const char* json;
  const char* message;
};
class PatternParse : public testing::TestWithParam<BadPattern> {};
TEST_P(PatternParse, RefusesWithThePathOfWhatIsWrong) {
  Result<Pattern> parsed = Pattern::parse(GetParam().json);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().to_string(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    All, PatternParse,
    testing::Values(
        BadPattern{"[", "not valid JSON"}, BadPattern{R"({"any":true})", "a pattern needs an op"},
        BadPattern{R"({"oops":1})",
                   "a pattern needs one of op, any, const, one_of, optional, repeat, same"},
        BadPattern{R"({"op":"add","args":["$"]})", "\"$\" is only valid inside"},
        BadPattern{R"({"op":"add","args":["$"]})", "pattern/args/0"},
        BadPattern{R"({"op":"a","dtype":["f31"]})", "no dtype \"f31\""},
        BadPattern{R"({"op":"a","attrs":{"k":{"above":1}}})", "unknown test \"above\""},
        BadPattern{R"({"repeat":{"op":"relu"},"on":{"op":"a"}})",
                   "with \"$\" as exactly one argument"},
        BadPattern{R"({"repeat":{"op":"relu","args":["$"]},"max":-1,"on":{"op":"a"}})",
                   "0 <= min <= max <= 64"},
        BadPattern{R"({"repeat":{"op":"relu","args":["$"]},"min":1e30,"on":{"op":"a"}})",
                   "`min` is 1e+30, expected an integer"},
        BadPattern{R"({"repeat":{"op":"relu","args":["$"]},"max":"2","on":{"op":"a"}})",
                   "`max` is \"2\", expected an integer"},
        BadPattern{R"({"optional":{"op":"relu","args":["$"]}})", "`optional` needs `on`"},
        BadPattern{R"({"one_of":[]})", "`one_of` is empty"},
        BadPattern{R"({"op":7})", "`op` must be a string"}));

}  // namespace
}  // namespace byoc
