// SPDX-License-Identifier: Apache-2.0
// The commands that use plans: what they print when a plan is outdated, and compile --measure;
// images that cross borders in blocks.
#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class PlaceCommands : public ::testing::Test {
 protected:
  PlaceCommands() : model_(byoc_.write("m.ir", kTwoOps)), plan_(byoc_.file("m.plan.json")) {
    setenv("XDG_CACHE_HOME", byoc_.file("cache").c_str(), 1);
  }
  ~PlaceCommands() override { unsetenv("XDG_CACHE_HOME"); }

  // Writes a plan with another version of its first plugin.
  void write_outdated_plan() {
    const Ran placed = byoc_("place " + model_ + " --estimates --plan-file " + plan_);
    ASSERT_EQ(placed.code, 0) << placed.err;
    Result<Json> plan = parse_json(get(plan_));
    ASSERT_TRUE(plan.ok());
    (*plan)["plugins"][0]["version"] = "0.0.1";
    put(plan_, plan->dump());
  }
  std::vector<fs::path> plans() {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& file :
         fs::directory_iterator(byoc_.file("cache") + "/byoc/placement/plans", error))
      out.push_back(file.path());
    return out;
  }

  Byoc byoc_;
  std::string model_, plan_;
};

TEST_F(PlaceCommands, WarnOfAnOutdatedPlan) {
  write_outdated_plan();
  const std::string flags = " " + model_ + " --compiler auto --plan " + plan_;
  for (const char* command :
       {"run", "bench --min-time 0.01 --warmup 0 --no-peaks", "verify", "compile -o /dev/null"}) {
    const Ran ran = byoc_(command + flags);
    EXPECT_EQ(ran.code, 0) << command << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("0.0.1")) << command;
    const size_t first = ran.err.find("outdated");
    ASSERT_NE(first, std::string::npos) << command;
    EXPECT_EQ(ran.err.find("outdated", first + 1), std::string::npos) << "printed twice";
  }
}

// Programs run with a log later, so they are timed with it; costs of ops are for all programs.
TEST_F(PlaceCommands, TimesWholeProgramsWithTheLogOfTuningAndOpsWithout) {
  const std::string log = byoc_.file("log.jsonl");
  put(log, "");
  const std::string place =
      "place " + model_ + " --compiler llvm --improve 0 --min-time 0.01 --tuning-log " + log;
  const Ran without = byoc_(place);
  ASSERT_EQ(without.code, 0) << without.err;
  const Ran with = byoc_(place + " --require-tuned");
  EXPECT_EQ(with.code, 1);
  EXPECT_THAT(with.err, HasSubstr("no choice of plugins runs: "));
  EXPECT_THAT(with.err, HasSubstr("has no tuned point: no log has a record for it"));
}

// Where a plugin alone is the fastest, its plan has no cost: the artifact is that of the plugin.
TEST_F(PlaceCommands, APlanOfOnePluginGivesItsArtifact) {
  const std::string out = byoc_.file("plan.byoc"), right = byoc_.file("right.byoc");
  for (const std::vector<std::string>& order : {std::vector<std::string>(), {"onednn"}}) {
    ASSERT_EQ(byoc_("place " + model_ + " --estimates --plan-file " + plan_).code, 0);
    Result<Json> plan = parse_json(get(plan_));
    ASSERT_TRUE(plan.ok());
    plan->erase("functions");
    (*plan)["order"] = order;
    put(plan_, plan->dump());
    const Ran ran = byoc_("compile " + model_ + " --compiler auto --plan " + plan_ + " -o " + out);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    const std::string compilers = order.empty() ? "llvm" : "onednn,llvm";
    ASSERT_EQ(byoc_("compile " + model_ + " --compiler " + compilers + " -o " + right).code, 0);
    EXPECT_TRUE(get(out) == get(right)) << compilers;
  }
}

// The plugin takes relu and does not return from compile.
TEST_F(PlaceCommands, APluginThatHangsIsAFailedCandidate) {
  const std::string crasher = " --plugin " + fault_path("crasher") +
                              " --plugin-option crasher.in=compile "
                              "--plugin-option crasher.signal=HANG";
  const Json placed = byoc_.json("place " + model_ + crasher +
                                 " --compiler crasher,json --timeout 1 --rounds 1 --improve 0 "
                                 "--min-time 0.01");
  EXPECT_EQ(placed["ok"], true) << placed.dump();
  EXPECT_EQ(placed["failed"], 1);
  bool has_hung = false;
  for (const Json& choice : placed["choices"]) {
    const std::string error = choice["error"];
    has_hung = has_hung || error.find("hung for 5 s while compiling") != error.npos;
  }
  EXPECT_TRUE(has_hung) << placed["choices"].dump();
  EXPECT_THAT(get(byoc_.file("cache") + "/byoc/placement/observations-1.jsonl"),
              HasSubstr("hung for 1 s while compiling and running 1 ops by crasher"));
}

// A crash in one mode of a plugin does not forbid its other modes.
TEST_F(PlaceCommands, CostsBelongToTheOptionsOfAPlugin) {
  const std::string place = "place " + model_ + " --plugin " + fault_path("crasher") +
                            " --compiler crasher,json --improve 0 --rounds 1 --min-time 0.01";
  const std::string mode = " --plugin-option crasher.in=compile";
  EXPECT_EQ(byoc_.json(place + mode)["failed"], 1);
  const Json other = byoc_.json(place);
  EXPECT_EQ(other["failed"], 0) << other.dump();
  EXPECT_EQ(byoc_.json(place + mode)["measured"], 0) << "its costs are known";
}

TEST_F(PlaceCommands, CompileMeasuresWithTheFlagAlone) {
  const std::string compile = "compile " + model_ + " -o " + byoc_.file("m.byoc");
  EXPECT_EQ(byoc_(compile + " --compiler auto").code, 0);
  EXPECT_TRUE(plans().empty());
  const Ran measured = byoc_(compile + " --compiler auto --measure");
  ASSERT_EQ(measured.code, 0) << measured.err;
  ASSERT_EQ(plans().size(), 1u);
  Result<Json> plan = parse_json(get(plans()[0].string()));
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->value("measured_ns", 0.0), 0.0);
}

TEST_F(PlaceCommands, CompileRefusesToMeasureForAnOrderOfPlugins) {
  const std::string compile = "compile " + model_ + " -o " + byoc_.file("m.byoc") + " --measure";
  const Ran by_priority = byoc_(compile + " --compiler onednn");
  EXPECT_EQ(by_priority.code, 2);
  EXPECT_THAT(by_priority.err, HasSubstr("--compiler auto"));
  write_outdated_plan();
  const Ran planned = byoc_(compile + " --compiler auto --plan " + plan_);
  EXPECT_EQ(planned.code, 2);
  EXPECT_THAT(planned.err, HasSubstr("--plan"));
}

TEST_F(PlaceCommands, RulesAndPlansForAListWithoutAutoAreAnError) {
  for (const char* command : {"explain", "run", "verify", "compile -o /dev/null"}) {
    const Ran ruled = byoc_(cat(command, " ", model_, " --compiler onednn,json --place relu=json"));
    EXPECT_EQ(ruled.code, 2) << command;
    EXPECT_THAT(ruled.err, HasSubstr("--place is for the choice by cost")) << command;
    EXPECT_THAT(ruled.err, HasSubstr("help: add --compiler auto,onednn,json")) << command;
    const Ran planned = byoc_(cat(command, " ", model_, " --compiler json --plan ", plan_));
    EXPECT_EQ(planned.code, 2) << command;
    EXPECT_THAT(planned.err, HasSubstr("--plan is for the choice by cost")) << command;
  }
  EXPECT_EQ(byoc_("explain --placement " + model_ + " --place relu=json").code, 0);
  EXPECT_EQ(byoc_("place --estimates " + model_ + " --place relu=json").code, 0);
  const std::string vs = " --min-time 0.01 --warmup 0 --no-peaks --vs compiler=json";
  const Ran both = byoc_("bench " + model_ + " --compiler auto,json --place relu=json" + vs);
  EXPECT_EQ(both.code, 0) << both.err;
}

TEST_F(PlaceCommands, WarnOfRulesAboutNamesThatTheModelDoesNotHave) {
  const std::string rules =
      " --compiler auto --place '#frist=json' --place 'softmax!=json'"
      " --place '@mian=json' --place 'relu=json'";
  for (const char* command :
       {"run ", "compile -o /dev/null ", "verify ", "explain ", "place --estimates "}) {
    const Ran ran = byoc_(command + model_ + rules);
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("warning: the rule #frist=json has no effect: the model has no "
                                   "node \"frist\"; did you mean \"first\"?"))
        << command;
    EXPECT_THAT(ran.err, HasSubstr("the model has no op \"softmax\"; byoc explain MODEL --json"))
        << command;
    EXPECT_THAT(ran.err, HasSubstr("no function \"mian\"; did you mean \"main\"?")) << command;
    EXPECT_THAT(ran.err, Not(HasSubstr("rule relu=json"))) << command;
  }
}

#if defined(__x86_64__)
// One convolution of the network runs by llvm, between regions of onednn that compute in blocks of
// eight channels.
class BorderLayouts : public ::testing::Test {
 protected:
  static constexpr const char* kFlags = BYOC_SOURCE_DIR
      "/tests/models/digits/model.onnx --shape N=1 --target x86-64-v3 "
      "--compiler auto,onednn,llvm --plan none --place '*=onednn'";
  static constexpr const char* kPin = " --place '#/down/Conv=llvm'";

  std::vector<std::string> reorders(const std::string& flags) {
    std::vector<std::string> out;
    const Json spans = byoc_.json("run " + flags + " --profile")["spans"];
    for (const Json& span : spans) {
      if (span["is_reorder"].get<bool>()) out.push_back(span["name"]);
      if (span["name"] == "/conv/Conv") computes_in_ = span["details"]["dst"];
    }
    return out;
  }

  Byoc byoc_{"ONEDNN_MAX_CPU_ISA=AVX2 " BYOC_BUILD_DIR "/bin/byoc"};
  std::string computes_in_;
};

TEST_F(BorderLayouts, AddNoReorder) {
  const std::vector<std::string> alone = reorders(kFlags);
  if (computes_in_ != "aBcd8b") GTEST_SKIP() << "oneDNN computes in " << computes_in_;
  EXPECT_EQ(reorders(cat(kFlags, kPin)), alone);
}

TEST_F(BorderLayouts, ArePrinted) {
  const Ran ran = byoc_(cat("explain --placement ", kFlags, kPin));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nonednn -> llvm +f32\\[1,[0-9,]+,8\\] +NCHW8c "
                                              "+onednn +1 "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nllvm -> onednn +f32\\[1,[0-9,]+,8\\] +NCHW8c "
                                              "+onednn +1 "));
  const Json borders = byoc_.json(cat("explain --placement ", kFlags, kPin))["borders"];
  ASSERT_EQ(borders.size(), 2u) << borders.dump(1);
  for (const Json& border : borders) {
    EXPECT_EQ(border["layout"], "NCHW8c");
    EXPECT_EQ(border["transform_in"], "onednn");
    EXPECT_EQ(border["tensors"], 1);
    EXPECT_GT(border["bytes"], 0);
  }
  EXPECT_THAT(byoc_(cat("explain --placement ", kFlags)).out,
              HasSubstr("borders: none between plugins\n"));
}

TEST_F(BorderLayouts, HaveFiveDimsAndTheRightValues) {
  const Ran printed = byoc_(cat("print --after share_layouts ", kFlags, kPin));
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, testing::ContainsRegex("fn onednn_main_1\\(%i0: f32\\[1,[0-9]+,[0-9]+,"
                                                  "[0-9]+,8\\]"));
  const Ran verified = byoc_(cat("verify ", kFlags, kPin));
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}
#endif

}  // namespace
}  // namespace byoc::test
