// SPDX-License-Identifier: Apache-2.0
// A plugin that takes GELU and layer norm in the pieces that exporters write: the kit runs both,
// also those of example models, and each fault fails its own check.
#include "byoc/base/json.h"
#include "core/conform/samples/pattern_instances.h"
#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> failed(const Json& json) {
  std::vector<std::string> out;
  for (const Json& check : json["checks"]) {
    if (check["outcome"] == "fail") out.push_back(check["name"]);
  }
  return out;
}

Json row(const Json& json, const std::string& name) {
  for (const Json& check : json["checks"]) {
    if (check["name"] == name) return check;
  }
  return Json();
}

Json checked_pieces(const std::string& plugin, const std::string& arguments = "") {
  return Byoc().json(cat("check-plugin ", fault_path(plugin), " ", arguments));
}

TEST(Pieces, BothPatternsAreRunWithTheConstantsThatJudgeRequires) {
  const Json json = checked_pieces("pieces_none");
  EXPECT_THAT(failed(json), IsEmpty()) << json.dump(1);
  EXPECT_EQ(row(json, "composites")["outcome"], "pass") << json.dump(1);
  EXPECT_THAT(json["patterns_not_run"], IsEmpty());
  for (const char* check : {"memory", "time"}) EXPECT_EQ(row(json, check)["outcome"], "pass");
}

struct Wrong {
  const char* fault;
  const char* check;
  const char* reason;
  const char* cure;
  const char* arguments = "";
};

TEST(Pieces, EachFaultFailsItsOwnCheck) {
  for (const Wrong& wrong :
       {Wrong{"pieces_gelu", "composites", "pieces.gelu as", "compute every op of the body"},
        Wrong{"pieces_norm", "composites", "pieces.layer_norm as", "compute every op of the body"},
        Wrong{"pieces_leaks", "memory", "each run keeps 655", "free what run allocates"},
        Wrong{"pieces_sleeps", "time", ": a run takes 8", "wait by no sleep"},
        Wrong{"pieces_throws", "composites", "the chip is on fire", "refuse in judge"},
        Wrong{"pieces_hangs", "composites", "hung for 1 s while run, pieces.",
              "end the call; one that needs longer gets it by --timeout run=6", "--timeout 1"},
        Wrong{"pieces_crashes", "composites", "crashed (Aborted) while run, pieces.",
              "find the line in a debugger: gdb"},
        Wrong{"pieces_empty", "composites", "crashed (Aborted) while run, pieces.",
              "find the line in a debugger: gdb"}}) {
    const Json json = checked_pieces(wrong.fault, wrong.arguments);
    EXPECT_THAT(failed(json), ElementsAre(wrong.check)) << wrong.fault << json.dump(1);
    const Json found = row(json, wrong.check);
    EXPECT_THAT(found["reason"].get<std::string>(), HasSubstr(wrong.reason));
    EXPECT_THAT(found["cure"].get<std::string>(), HasSubstr(wrong.cure));
  }
}

TEST(Pieces, ADeclineInCompileFailsNothingAndIsNamed) {
  const Byoc byoc;
  const std::string command = cat("check-plugin ", fault_path("pieces_declines"), " ");
  const Ran ran = byoc(command);
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("0 failed"));
  EXPECT_THAT(ran.out, HasSubstr("not run: no kernel of pieces.gelu pieces.layer_norm; --example"));
  EXPECT_EQ(byoc(command + "--all-patterns").code, 1);
  EXPECT_THAT(byoc(command + "-q").out, Not(HasSubstr("fail ")));
}

TEST(Pieces, ASlotMayHaveMoreTime) {
  const Json late = checked_pieces("pieces_compiles_long", "--timeout 1");
  EXPECT_THAT(failed(late), Contains("compiles")) << late.dump(1);
  EXPECT_THAT(row(late, "compiles")["cure"].get<std::string>(), HasSubstr("--timeout compile=6"));
  const Json good = checked_pieces("pieces_compiles_long", "--timeout 1 --timeout compile=10");
  EXPECT_THAT(failed(good), IsEmpty()) << good.dump(1);
}

// GELU between other ops, which the plugin does not take.
constexpr const char* kExample = R"(fn main(%x: f32[3,8]) {
  %root = const(1.41421354) : f32[]
  %one = const(1.0) : f32[]
  %half = const(0.5) : f32[]
  %0 = tanh(%x) loc("before")
  %1 = divide(%0, %root) loc("scaled")
  %2 = erf(%1) loc("erf")
  %3 = add(%2, %one) loc("plus")
  %4 = multiply(%0, %3) loc("times")
  %5 = multiply(%4, %half) loc("gelu")
  return %5
})";

TEST(Pieces, FunctionsOfExamplesAreRun) {
  const Byoc byoc;
  const std::string example = byoc.write("mlp.ir", kExample);
  const Json good = checked_pieces("pieces_none", cat("--example ", example));
  EXPECT_EQ(row(good, "examples")["outcome"], "pass") << good.dump(1);
  EXPECT_THAT(row(good, "examples")["reason"].get<std::string>(), HasSubstr("1 function"));
  const Json wrong = checked_pieces("pieces_gelu", cat("--example ", example));
  EXPECT_THAT(failed(wrong), ElementsAre("composites", "examples"));
  EXPECT_THAT(row(wrong, "examples")["reason"].get<std::string>(),
              HasSubstr("mlp.ir: pieces_main_0: "));
}

TEST(Pieces, AnExampleThatCannotBeReadIsAnError) {
  const Ran ran =
      Byoc()(cat("check-plugin ", fault_path("pieces_none"), " --example nowhere.onnx"));
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("--example nowhere.onnx"));
}

TEST(Pieces, WithoutAnExampleThatCheckIsSkipped) {
  EXPECT_EQ(row(checked_pieces("pieces_none"), "examples")["outcome"], "skip");
}

using namespace byoc::conform;

TEST(Instances, RepeatOperands) {
  auto pattern = Pattern::parse(
      R"({"op":"add","args":[{"op":"multiply","args":[{"any":true},{"any":true}]},{"const":true}]})");
  ASSERT_TRUE(pattern.ok());
  const auto has_square = [](const Instance& instance) {
    const Function& main = instance.module.function("main");
    for (const Node& node : main.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call && call->op->name == "multiply" && main.args(node)[0] == main.args(node)[1])
        return true;
    }
    return false;
  };
  const auto repeated = instances_of(*pattern, 1, 64, 16, {.repeats_operands = true});
  EXPECT_TRUE(std::any_of(repeated.begin(), repeated.end(), has_square));
}

TEST(Instances, HaveNoElements) {
  auto pattern = Pattern::parse(
      R"({"op":"relu","args":[{"op":"add","args":[{"any":true,"as":"x"},{"const":true}]}]})");
  ASSERT_TRUE(pattern.ok());
  const auto empty = instances_of(*pattern, 1, 64, 16, {.is_empty = true});
  EXPECT_THAT(empty, Not(IsEmpty()));
  for (const Instance& instance : empty) {
    const Node& root = instance.module.function("main").nodes.back();
    EXPECT_EQ(*num_elements(root.types[0]->shape), 0) << instance.label;
  }
}

TEST(Instances, HaveTheValuesOfThePattern) {
  auto pattern = Pattern::parse(
      R"({"op":"relu","args":[{"op":"divide","args":[{"any":true},{"const":true,"value":1.4142135,"rtol":1e-4}]}]})");
  ASSERT_TRUE(pattern.ok());
  EXPECT_THAT(instances_of(*pattern, 1, 64, 16), Not(IsEmpty()));
}

}  // namespace
}  // namespace byoc::test
