// SPDX-License-Identifier: Apache-2.0
// Two explanations compared: as values, and by byoc explain --diff.
#include "core/tools/diff/explanation_diff.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using driver::ExplanationDiff;
using driver::OpChange;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// An op as byoc explain has it; `verdicts` are "plugin|verdict|reason".
Json op(const std::string& kind, const std::string& name, const std::string& plugin,
        const std::vector<std::string>& verdicts, const std::string& composite = "") {
  Json opinions = Json::array();
  for (const std::string& text : verdicts) {
    size_t first = text.find('|'), second = text.find('|', first + 1);
    opinions.push_back({{"plugin", text.substr(0, first)},
                        {"verdict", text.substr(first + 1, second - first - 1)},
                        {"reason", text.substr(second + 1)}});
  }
  return {{"op", kind},
          {"name", name},
          {"plugin", plugin},
          {"composite", composite},
          {"opinions", opinions}};
}

Json explained(const std::vector<std::string>& order, const std::vector<Json>& ops,
               const Json& removed = Json::array()) {
  Json plugins = Json::array();
  for (const std::string& plugin : order) plugins.push_back({{"plugin", plugin}, {"regions", 1}});
  return {{"model", "net.onnx"},
          {"order", order},
          {"plugins", plugins},
          {"ops", ops},
          {"removed", removed}};
}

ExplanationDiff diff_of(const Json& before, const Json& after) {
  auto diff = driver::explanation_diff(before, after);
  EXPECT_TRUE(diff.ok()) << diff.status().to_string();
  return *diff;
}

TEST(ExplanationDiff, OfEqualOnesIsEmpty) {
  Json one =
      explained({"a", "b"}, {op("conv2d", "c", "a", {"a|taken|jit", "b|not reached|a took it"}),
                             op("relu", "r", "b", {"a|refused|no relu"})});
  ExplanationDiff diff = diff_of(one, one);
  EXPECT_EQ(diff.same, 2u);
  EXPECT_TRUE(diff.changes.empty());
  EXPECT_THAT(driver::diff_text(diff), HasSubstr("0 ops differ, 2 run as before"));
  EXPECT_EQ(diff_of(explained({}, {}), explained({}, {})).same, 0u) << "no ops at all";
}

TEST(ExplanationDiff, HasTheReasonOfThePluginThatLostTheOp) {
  Json before = explained({"a", "b"}, {op("conv2d", "c", "a", {})});
  Json after = explained({"a", "b"}, {op("conv2d", "c", "b", {"a|refused|only f32"})});
  ExplanationDiff diff = diff_of(before, after);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].kind, OpChange::kMoved);
  EXPECT_EQ(diff.changes[0].reason, "a refused: only f32");
  EXPECT_THAT(driver::diff_text(diff), HasSubstr("a -> b (1)\n  1  conv2d  a refused: only f32"));
}

TEST(ExplanationDiff, SaysWhichPluginIsNotUsedAnyMore) {
  Json before = explained({"a", "b"}, {op("conv2d", "c", "a", {})});
  Json after = explained({"b"}, {op("conv2d", "c", "b", {})});
  EXPECT_EQ(diff_of(before, after).changes[0].reason, "a is not used");
  EXPECT_EQ(diff_of(after, before).changes[0].reason, "a was not used before");
}

TEST(ExplanationDiff, SaysWhyTheNewPluginDidNotRunItBefore) {
  Json before = explained({"a", "b"}, {op("conv2d", "c", "b", {"a|refused|two groups"})});
  Json after = explained({"a", "b"}, {op("conv2d", "c", "a", {"b|not reached|a took it"})});
  EXPECT_EQ(diff_of(before, after).changes[0].reason, "before, a refused: two groups");
}

TEST(ExplanationDiff, FindsOtherImplementationsAndComposites) {
  Json before = explained({"a"}, {op("conv2d", "c", "a", {"a|taken|jit"}, "a.conv_relu"),
                                  op("matmul", "m", "a", {"a|taken|brgemm"})});
  Json after = explained({"a"}, {op("conv2d", "c", "a", {"a|taken|jit"}),
                                 op("matmul", "m", "a", {"a|slow|plain loops"})});
  ExplanationDiff diff = diff_of(before, after);
  ASSERT_EQ(diff.changes.size(), 2u);
  EXPECT_EQ(diff.changes[0].reason, "before in a.conv_relu, after in no composite");
  EXPECT_EQ(diff.changes[1].kind, OpChange::kOtherwise);
  EXPECT_EQ(diff.changes[1].before->how, "brgemm");
  EXPECT_EQ(diff.changes[1].after->how, "slow: plain loops");
}

TEST(ExplanationDiff, ComparesOpsOfEqualNamesInTheirOrder) {
  Json before = explained({"a", "b"}, {op("relu", "r", "a", {}), op("relu", "r", "b", {})});
  Json after = explained({"a", "b"}, {op("relu", "r", "a", {}), op("relu", "r", "a", {})});
  ExplanationDiff diff = diff_of(before, after);
  EXPECT_EQ(diff.same, 1u);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].before->index, 1u);
  EXPECT_EQ(diff.changes[0].after->index, 1u);
}

TEST(ExplanationDiff, HasOpsThatRunInOneOfThemAlone) {
  Json removed = {{{"op", "relu"},
                   {"name", "r"},
                   {"how", "folded"},
                   {"pass", "fold_constants"},
                   {"reason", "its operands are constant"}}};
  Json before = explained({"a"}, {op("relu", "r", "a", {}), op("tanh", "t", "a", {})});
  Json after = explained({"a"}, {op("tanh", "t", "a", {}), op("sin", "s", "", {})}, removed);
  ExplanationDiff diff = diff_of(before, after);
  ASSERT_EQ(diff.changes.size(), 2u);
  EXPECT_EQ(diff.changes[0].kind, OpChange::kNew);
  EXPECT_EQ(diff.changes[0].reason, "the model has no such op");
  EXPECT_EQ(diff.changes[1].kind, OpChange::kGone);
  EXPECT_EQ(diff.changes[1].reason, "folded by fold_constants: its operands are constant");
  EXPECT_THAT(driver::diff_text(diff), HasSubstr("does not run -> no plugin (1)"));
  EXPECT_THAT(driver::diff_text(diff), HasSubstr("a -> does not run (1)"));
}

TEST(ExplanationDiff, RefusesJsonOfAnotherForm) {
  for (const char* text : {"{}", "[]", "3",
                           R"({"model":"m","order":[1],"ops":[],"removed":[],)"
                           R"("plugins":[]})"}) {
    auto diff = driver::explanation_diff(*parse_json(text), explained({}, {}));
    ASSERT_FALSE(diff.ok()) << text;
    EXPECT_EQ(diff.status().slug(), "explanation");
    EXPECT_THAT(diff.status().to_string(), HasSubstr("byoc explain MODEL --json=FILE")) << text;
  }
}

TEST(ExplainDiff, ComparesWithAStoredExplanationAnotherModelAndOtherSettings) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps), plain = " --compiler json";
  std::string other =
      byoc.write("n.ir", "fn main(%x: f32[1,8]) { %0 = sin(%x) loc(\"s\") return %0 }");
  EXPECT_EQ(byoc("explain " + model + plain + " --json=" + byoc.file("old.json")).code, 0);
  Ran same = byoc("explain --diff " + byoc.file("old.json") + " " + model + plain);
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("0 ops differ, 2 run as before"));
  Ran models = byoc("explain --diff " + other + " " + model + plain);
  EXPECT_THAT(models.out, HasSubstr("models: before "));
  EXPECT_THAT(models.out, HasSubstr("3 ops differ, 0 run as before"));
  Ran settings = byoc("explain " + model + plain + " --diff level=0");
  EXPECT_EQ(settings.code, 0) << settings.err;
  EXPECT_THAT(settings.out, HasSubstr("before: json"));
}

TEST(ExplainDiff, NamesWhatItCannotRead) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  put(byoc.file("run.json"), R"({"schema":"byoc.run/1"})");
  Ran other = byoc("explain " + model + " --diff " + byoc.file("run.json"));
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("error[explanation]"));
  EXPECT_THAT(other.err, HasSubstr("run.json"));
  EXPECT_EQ(byoc("explain " + model + " --diff none.json").code, 1);
  Ran word = byoc("explain " + model + " --diff colour=blue");
  EXPECT_EQ(word.code, 2);
  EXPECT_THAT(word.err, HasSubstr("--diff: \"colour=blue\" is no setting"));
  EXPECT_THAT(byoc("explain " + model + " --diff none.onnx").err, HasSubstr("none.onnx"));
}

}  // namespace
}  // namespace byoc::test
