// SPDX-License-Identifier: Apache-2.0
// The command explain: each op of a model has one row, whatever its
// name is and whatever passes do with it.
#include <map>
#include <set>

#include "support/paths.h"
#include "unit/driver/command.h"
#include "unit/explain/opinion.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Plugin a takes relu and multiply of one dimension; json takes the rest.
const std::string kRankOne =
    plugin_file("a") +
    " --compiler a,json --plugin-option 'a.patterns="
    R"([{"name":"relu","dag":{"op":"relu","rank":1}},{"name":"mul","dag":{"op":"multiply","rank":1}}]')";

struct Row {
  std::string op, name, plugin;
  friend bool operator==(const Row&, const Row&) = default;
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << row.op << " \"" << row.name << "\" " << row.plugin;
  }
};

std::vector<Row> rows_of(const Json& explained) {
  std::vector<Row> rows;
  for (const Json& op : explained["ops"]) rows.push_back({op["op"], op["name"], op["plugin"]});
  return rows;
}

TEST(ExplainRows, EqualNamesAreToldApart) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("same")
  %1 = reshape(%0) {shape=[6]} loc("flat")
  %2 = relu(%1) loc("same")
  return %2
})") + kRankOne);
  EXPECT_THAT(rows_of(json), testing::UnorderedElementsAre(Row{"relu", "same", "json"},
                                                           Row{"reshape", "flat", "json"},
                                                           Row{"relu", "same", "a"}));
  size_t refusals = 0;
  for (const Json& op : json["ops"]) {
    for (const Json& entry : op["opinions"]) refusals += entry["plugin"] == "a";
    if (op["plugin"] == "a") {
      EXPECT_EQ(op["function"], "a_main_0");
    }
  }
  EXPECT_EQ(refusals, 2u) << "expected refusals of relu and of reshape";
}

// The importer makes several ops of one location for nodes such as
// normalisations and recurrent nets.
TEST(ExplainRows, OpsOfOneNodeAreToldApart) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3], %y: f32[3]) {
  %0 = multiply(%x, %x) loc("Norm_1")
  %1 = multiply(%y, %y) loc("Norm_1")
  %2 = add(%0, %1) loc("Norm_1")
  return %2
})");
  EXPECT_THAT(
      rows_of(byoc.json("explain " + model + kRankOne)),
      testing::UnorderedElementsAre(Row{"multiply", "Norm_1", "json"},
                                    Row{"multiply", "Norm_1", "a"}, Row{"add", "Norm_1", "json"}));
  std::string text = byoc("explain " + model + kRankOne + " --op Norm_1").out;
  EXPECT_THAT(text, HasSubstr("multiply \"Norm_1\": taken by a in a_main_0\n"));
  EXPECT_THAT(text, HasSubstr("multiply \"Norm_1\": taken by json in json_main_0\n"));
}

// Both ops are the first of their function, so both have the default name "relu_1".
TEST(ExplainRows, UnnamedOpsOfTwoFunctionsAreToldApart) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(
fn part(%x: f32[2]) {compiler="a"} { %0 = relu(%x)  return %0 }
fn main(%x: f32[2]) { %0 = relu(%x)  %1 = @part(%0)  return %1 })") +
                        plugin_file("a") + " --default json");
  EXPECT_THAT(rows_of(json), testing::UnorderedElementsAre(Row{"relu", "relu_1", "json"},
                                                           Row{"relu", "relu_1", "a"}));
  for (const Json& op : json["ops"])
    EXPECT_EQ(op["function"], op["plugin"] == "a" ? "part" : "json_main_0") << op;
}

// The numbers that distinguish ops in the pipeline are not part of their names, even when a name of
// the user looks like one with a number.
TEST(ExplainRows, NamesStayTheUsers) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %0 = relu(%x) loc("a")
  %1 = tanh(%0) loc("a#1")
  %2 = exp(%1) loc("a")
  %3 = exp(%2) loc("a#1")
  return %3
})");
  EXPECT_THAT(rows_of(byoc.json("explain " + model + " --compiler json")),
              ElementsAre(Row{"relu", "a", "json"}, Row{"tanh", "a#1", "json"},
                          Row{"exp", "a", "json"}, Row{"exp", "a#1", "json"}));
}

// Each call has its own copy of the body. Two copies run in different functions, and the third has
// constant operands and is folded.
TEST(ExplainRows, AFunctionCalledSeveralTimesHasARowPerCall) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(
fn sum(%x: f32[2], %y: f32[2]) { %0 = multiply(%x, %y) loc("inside")  return %0 }
fn main(%x: f32[2], %y: f32[2]) {
  %c = const([1.0,2.0]) : f32[2]
  %0 = @sum(%x, %y)
  %1 = exp(%0) loc("between")
  %2 = @sum(%1, %x)
  %3 = @sum(%c, %c)
  return %2, %3
})") + kRankOne);
  EXPECT_THAT(rows_of(json), testing::UnorderedElementsAre(Row{"multiply", "inside", "a"},
                                                           Row{"multiply", "inside", "a"},
                                                           Row{"exp", "between", "json"}));
  std::set<std::string> functions;
  for (const Json& op : json["ops"]) functions.insert(op["function"]);
  EXPECT_THAT(functions, ElementsAre("a_main_0", "a_main_1", "json_main_0"));
  ASSERT_EQ(json["removed"].size(), 1u);
  EXPECT_EQ(json["removed"][0]["name"], "inside");
  EXPECT_EQ(json["removed"][0]["how"], "folded");
}

constexpr const char* kRemoved = R"(fn main(%x: f32[2]) {
  %c = const([1.0,2.0]) : f32[2]
  %0 = exp(%c) loc("known")
  %1 = add(%x, %0) loc("sum")
  %2 = relu(%1) loc("first")
  %3 = relu(%1) loc("second")
  %4 = tanh(%2) loc("third")
  %5 = tanh(%3) loc("fourth")
  %6 = sigmoid(%x) loc("unread")
  %7 = multiply(%2, %3) loc("product")
  return %4, %5, %7
})";

TEST(ExplainRemoved, FoldedOpsAreSaidToBe) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", kRemoved) + " --compiler json";
  EXPECT_EQ(byoc(line + " --op known").out,
            "exp \"known\": folded by fold_constants: its value is known before the model runs\n");
  EXPECT_THAT(byoc(line).out,
              HasSubstr("folded by fold_constants (1)\n"
                        "  1  exp  its value is known before the model runs  \"known\"\n"));
  Json json = byoc.json(line + " --op known");
  EXPECT_EQ(json["ops"].size(), 0u);
  ASSERT_EQ(json["removed"].size(), 1u);
  EXPECT_EQ(json["removed"][0]["op"], "exp");
  EXPECT_EQ(json["removed"][0]["pass"], "fold_constants");
}

// A reader of a merged op may be merged, too: "fourth" reads "second", and is a result.
TEST(ExplainRemoved, MergedOpsNameTheOneThatStays) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", kRemoved) + " --compiler json");
  std::map<std::string, std::string> into;
  for (const Json& op : json["removed"]) {
    if (op["how"] == "merged") into[op["name"]] = op["into"];
  }
  EXPECT_THAT(into, ElementsAre(std::pair("fourth", "third"), std::pair("second", "first")));
  for (const Json& op : json["ops"]) {
    EXPECT_NE(op["name"], "second");
    EXPECT_NE(op["name"], "fourth");
  }
}

TEST(ExplainRemoved, DeadOpsAreSaidToBe) {
  Byoc byoc;
  Ran ran = byoc("explain " + byoc.write("m.ir", kRemoved) + " --compiler json --op unread");
  EXPECT_EQ(ran.out,
            "sigmoid \"unread\": removed by eliminate_dead_code: no output of the model depends on "
            "it\n");
}

// Folding leaves an add of the batch_norm. Its row has the name and op of the model.
TEST(ExplainRemoved, AFoldedBatchNormKeepsItsNameAndSaysWhatRuns) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[1,2,4,4]) {
  %w = const([1.0,2.0,3.0,4.0]) : f32[2,2,1,1]
  %s = const([1.0,2.0]) : f32[2]
  %0 = conv2d(%x, %w) loc("conv")
  %1 = batch_norm(%0, %s, %s, %s, %s) loc("bn")
  return %1
})");
  Ran ran = byoc("explain " + model + " --compiler json --op bn");
  EXPECT_THAT(ran.out,
              testing::StartsWith("batch_norm \"bn\": taken by json in json_main_0, run as add\n"))
      << ran.err;
}

/// Returns the options that load plugin `id` with a pattern add_relu.
std::string composites_of(const char* id) {
  return cat(plugin_file(id), " --plugin-option '", id,
             R"(.patterns=[{"name":"add_relu","dag":{"op":"relu","args":[{"op":"add"}]}}]')");
}

constexpr const char* kAddRelu = R"(fn main(%x: f32[2]) {
  %0 = add(%x, %x) loc("sum")
  %1 = relu(%0) loc("rest")
  return %1
})";

// The reasons are those of each op, not one text about the composite b.add_relu.
TEST(ExplainReasons, InsideACompositeOfAnotherPluginEachOpHasItsOwn) {
  Byoc byoc;
  Json json =
      byoc.json("explain " + byoc.write("m.ir", kAddRelu) + plugin_file("a") + composites_of("b") +
                " --compiler a,b,json --plugin-option a.ops=relu,exp"
                " --plugin-option a.refuse=relu");
  EXPECT_THAT(rows_of(json), ElementsAre(Row{"add", "sum", "b"}, Row{"relu", "rest", "b"}));
  EXPECT_EQ(opinion(json, "sum", "a"), "refused: it has no pattern for add");
  EXPECT_EQ(opinion(json, "rest", "a"), "refused: refused by its options");
}

TEST(ExplainReasons, AnOpThatAnEarlierPluginTakesAloneMayBeInACompositeOfALaterOne) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", kAddRelu) + plugin_file("a") +
                     composites_of("b") + " --compiler a,b,json";
  EXPECT_EQ(opinion(byoc.json(line), "rest", "a"),
            "covered: it takes relu alone, but the op is inside the composite b.add_relu, and "
            "composites are formed before");
  EXPECT_THAT(byoc(line).out, HasSubstr("taken by b as part of a composite, not given to a (2)\n"));
}

// Weights that are constants outside of the composite are constants when one op of it is judged.
TEST(ExplainReasons, OpsInsideCompositesAreJudgedWithTheirConstants) {
  Byoc byoc;
  Json json =
      byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %c = const([1.0,2.0]) : f32[2]
  %0 = add(%x, %c) loc("sum")
  %1 = relu(%0) loc("rest")
  return %1
})") + composites_of("b") +
                plugin_file("a") +
                " --compiler a,b,json --plugin-option 'a.patterns="
                R"([{"name":"bias","dag":{"op":"add","args":[{"any":true},{"const":true}]}}]')"
                " --plugin-option a.refuse=add --plugin-option a.ops=exp");
  EXPECT_EQ(opinion(json, "sum", "a"), "refused: refused by its options");
  EXPECT_EQ(opinion(json, "rest", "a"), "refused: it has no pattern for relu");
}

TEST(ExplainReasons, ARefusedCompositeIsTheReasonWhereNoPatternFitsTheOpAlone) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", kAddRelu) + composites_of("a") +
                        " --compiler a,json --plugin-option a.ops=exp"
                        " --plugin-option a.refuse=a.add_relu");
  EXPECT_THAT(rows_of(json), ElementsAre(Row{"add", "sum", "json"}, Row{"relu", "rest", "json"}));
  for (const char* name : {"sum", "rest"})
    EXPECT_EQ(opinion(json, name, "a"), "refused: as part of a.add_relu: refused by its options");
}

TEST(ExplainReasons, WhatJudgeSaidOfTheOpComesBeforeARefusedComposite) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", kAddRelu) + composites_of("a") +
                        " --compiler a,json --plugin-option a.ops=relu"
                        " --plugin-option a.refuse=a.add_relu,relu");
  EXPECT_EQ(opinion(json, "rest", "a"), "refused: refused by its options");
}

TEST(ExplainReasons, AnOpThatPatternsHaveInsideIsNotCalledUnknown) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %0 = add(%x, %x) loc("sum")
  return %0
})") + composites_of("a") +
                        " --compiler a,json --plugin-option a.ops=exp");
  EXPECT_EQ(opinion(json, "sum", "a"),
            "refused: its patterns have add only inside larger matches, and the op is in none of "
            "those");
}

TEST(ExplainReasons, APluginAfterTheTakerWasNotReached) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", kAddRelu) + plugin_file("a") +
                     plugin_file("b") + " --compiler a,b,json --plugin-option b.ops=exp";
  Json json = byoc.json(line);
  for (const char* plugin : {"b", "json"})
    EXPECT_EQ(opinion(json, "sum", plugin), "not reached: a, earlier in the list, took it");
  EXPECT_THAT(byoc(line + " --op sum").out,
              HasSubstr("\n  b: not reached: a, earlier in the list, took it\n"));
  EXPECT_THAT(byoc(line).out, testing::Not(HasSubstr("not reached")));
}

TEST(ExplainReasons, APluginThatAnAttributePassedOverWasNotReached) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(
fn part(%x: f32[2]) {compiler="b"} { %0 = relu(%x) loc("inside")  return %0 }
fn main(%x: f32[2]) { %0 = tanh(%x)  %1 = @part(%0)  return %1 })") +
                        plugin_file("a") + plugin_file("b") + " --compiler a,json");
  for (const char* plugin : {"a", "json"})
    EXPECT_EQ(opinion(json, "inside", plugin),
              "not reached: annotations in the model give the op to b");
}

// The weights and the input come from outside. Their layout_transforms belong
// to no op of the model.
TEST(ExplainRows, OpsThatLayoutsAddBelongToTheOpTheyComeFrom) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", R"(
fn main(%x: f32[1,8,4,4], %w: f32[8,8,1,1]) { %0 = conv2d(%x, %w) loc("conv")  return %0 })") +
                     plugin_file("blocks") +
                     " --compiler blocks --plugin-option blocks.layouts=conv2d:8";
  Json json = byoc.json(line);
  ASSERT_EQ(rows_of(json), (std::vector<Row>{{"conv2d", "conv", "blocks"}})) << json["ops"];
  std::vector<std::string> runs, added;
  for (const Json& run : json["ops"][0]["runs"]) runs.push_back(run["op"]);
  for (const Json& run : json["added"]) added.push_back(run["op"]);
  EXPECT_THAT(runs, ElementsAre("conv2d_nchwc", "layout_transform"));
  EXPECT_THAT(added, ElementsAre("layout_transform", "layout_transform", "layout_transform"));
  EXPECT_THAT(byoc(line + " --op conv").out,
              HasSubstr(", run as conv2d_nchwc, with layout_transform in "));
}

TEST(ExplainRows, ADeclinedOpIsTheNextPluginsAndSaysWhoDeclined) {
  Byoc byoc;
  std::string arguments =
      byoc.write("m.ir", "fn main(%x: f32[4]) { %0 = exp(%x) loc(\"e\")  return %0 }") +
      plugin_file("a") + plugin_file("b") +
      " --compiler a,b,json --plugin-option a.ops=exp --plugin-option a.decline=exp"
      " --plugin-option b.ops=exp";
  Json json = byoc.json("explain " + arguments);
  EXPECT_THAT(rows_of(json), ElementsAre(Row{"exp", "e", "b"}));
  EXPECT_EQ(opinion(json, "e", "a"), "declined in compile: declined by its options");
  EXPECT_THAT(byoc("compile " + arguments + " -o " + byoc.file("m.byoc")).err,
              HasSubstr("declined by its options"));
}

// The functions in the report of explain are those that the compiled model runs, also after a
// plugin declined one.
TEST(ExplainRows, FunctionsAreThoseThatRun) {
  Byoc byoc;
  std::string arguments = byoc.write("m.ir", R"(fn main(%x: f32[4]) {
  %0 = relu(%x) loc("r")
  %1 = tanh(%0) loc("t")
  %2 = add(%1, %0) loc("s")
  %3 = exp(%2) loc("e")
  return %3
})") + plugin_file("a") + plugin_file("b") +
                          " --compiler a,b,json --plugin-option a.ops=relu,add"
                          " --plugin-option b.ops=exp --plugin-option b.decline=exp";
  std::map<std::string, std::string> explained, run;
  Json ops = byoc.json("explain " + arguments)["ops"];
  for (const Json& op : ops)
    explained[op["name"]] =
        cat(op["plugin"].get<std::string>(), ":", op["function"].get<std::string>());
  Json profile = byoc.json("run " + arguments + " --profile")["profile"];
  for (const Json& step : profile) {
    for (const Json& name : step["nodes"])
      run[name] = cat(step["run_by"].get<std::string>(), ":", step["symbol"].get<std::string>());
  }
  EXPECT_EQ(run.size(), 4u);
  EXPECT_EQ(explained, run);
}

TEST(ExplainGroups, NamesThoseThatAreRefused) {
  Byoc byoc;
  Ran ran = byoc("explain " + byoc.write("m.ir", R"(fn main(%x: f32[4,8], %w: f32[8,8]) {
  %0 = matmul(%x, %w) loc("MatMul_0")
  %1 = relu(%0) loc("Relu_1")
  %2 = softmax(%1) loc("Softmax_2")
  return %2
})") + plugin_file("regions") +
                 " --compiler regions --plugin-option regions.groups=pair:MatMul_0+Softmax_2,"
                 "whole:MatMul_0+Relu_1+Softmax_2");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: group \"whole\" of regions is refused: \"MatMul_0\" and "
                                 "\"Softmax_2\" belong also to group \"pair\"\n"));
  EXPECT_THAT(
      ran.err,
      HasSubstr("warning: group \"pair\" of regions is refused: not convex: \"Relu_1\" lies "
                "between \"MatMul_0\" and \"Softmax_2\"\n"));
}

}  // namespace
}  // namespace byoc::test
