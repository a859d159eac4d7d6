// SPDX-License-Identifier: Apache-2.0
// States in the commands compile, run and verify. Values are sums worked out by hand.
#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

constexpr const char* kRunningSum =
    R"(fn main(%x: f32[4], %past: f32[4]) {output_names=["present","twice"]} {
  %two = const(2.0) : f32[]
  %0 = add(%past, %x)
  %1 = multiply(%0, %two)
  return %0, %1
})";

class RunningSum : public ::testing::Test {
 protected:
  Byoc byoc_;
  std::string model_ = byoc_.write("sum.ir", kRunningSum);
  std::string with_ = " --compiler json --state past=present";
};

TEST_F(RunningSum, RunsHandTheSumOn) {
  for (const auto& [steps, most] : {std::pair(1, 8.0), {3, 24.0}}) {  // 2 * steps * 4
    const Json ran =
        byoc_.json("run " + model_ + with_ + " --input x=1,2,3,4 --steps " + std::to_string(steps));
    ASSERT_EQ(ran["outputs"].size(), 1u) << "the state is no output";
    EXPECT_EQ(ran["outputs"][0]["name"], "twice");
    EXPECT_EQ(ran["outputs"][0]["max"], most);
    EXPECT_EQ(ran["states"]["pairs"][0]["input"], "past");
    EXPECT_EQ(ran["states"]["pairs"][0]["output"], "present");
    EXPECT_EQ(ran.contains("steps_ns"), steps > 1);
  }
}

TEST_F(RunningSum, ArtifactsKeepTheStates) {
  const std::string artifact = byoc_.file("sum.byoc");
  ASSERT_EQ(byoc_("compile " + model_ + with_ + " -o " + artifact).code, 0);
  Byoc byoc_run(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  for (const Byoc* program : {&byoc_, &byoc_run}) {
    const std::string verb = program == &byoc_ ? "run " : "";
    const Json ran =
        program->json(verb + artifact + " --input x=1,2,3,4 --input past=10 --steps 2");
    EXPECT_EQ(ran["outputs"][0]["max"], 36.0);  // 2 * (10 + 2 * 4)
    EXPECT_EQ(ran["steps_ns"].size(), 2u);
  }
}

TEST_F(RunningSum, InspectMarksTheStates) {
  const std::string artifact = byoc_.file("sum.byoc");
  ASSERT_EQ(byoc_("compile " + model_ + with_ + " -o " + artifact).code, 0);
  EXPECT_THAT(byoc_("inspect " + artifact).out,
              HasSubstr("  input  x f32[4]\n  output twice f32[4]\n"
                        "  state  past=present f32[4]\n"));
  const Json json = byoc_.json("inspect " + artifact);
  const Json& size = json["sizes"][0];
  EXPECT_EQ(size["inputs"].dump(), R"([{"name":"x","type":"f32[4]"},)"
                                   R"({"name":"past","type":"f32[4]","state":true}])");
  EXPECT_EQ(size["outputs"].dump(), R"([{"name":"twice","type":"f32[4]"},)"
                                    R"({"name":"present","type":"f32[4]","state":true}])");
}

// The rows of all sizes would not fit into the cache: the cure is a range that fits.
TEST(OpenCache, NamesTheRangeOfItsRows) {
  const Byoc byoc;
  const std::string model = byoc.write(
      "cache.ir",
      R"(fn main(%x: f32[1,T,4], %past: f32[1,24,4], %at: i64[1]) {output_names=["present"]} {
  %0 = update_rows(%past, %x, %at) {axis=1}
  return %0
})");
  const Ran ran = byoc("compile " + model + " --state past=present -o " + byoc.file("a.byoc"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("up to 65536 rows do not fit into 24"));
  EXPECT_THAT(ran.err, HasSubstr("help: --shape T=1..24"));
  EXPECT_EQ(
      byoc("compile " + model + " --state past=present --shape T=1..24 -o " + byoc.file("a.byoc"))
          .code,
      0);
}

TEST_F(RunningSum, ProfileHasTheBytesOfARun) {
  const Json ran = byoc_.json("run " + model_ + with_ + " --profile");
  EXPECT_EQ(ran["states"]["whole_bytes"], 16);  // json declares no pair: all of f32[4]
  EXPECT_EQ(ran["states"]["in_place_bytes"], 0);
  const Json given = byoc_.json("run " + model_ + with_ + " --profile --input x=1,2,3,4");
  EXPECT_EQ(given["outputs"][0]["max"], 8.0) << "of the first run, not of those that are timed";
  const Ran text = byoc_("run " + model_ + with_ + " --profile");
  EXPECT_THAT(text.out, HasSubstr("states: 1; a run writes 0 bytes in place and 16 bytes of whole "
                                  "states"));
}

TEST_F(RunningSum, StepsNeedAState) {
  const Ran none = byoc_("run " + model_ + " --compiler json --steps 2");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--steps is for models with states, and this one has none"));
  for (const char* command : {"run ", "verify "}) {
    const Ran ran = byoc_(command + model_ + with_ + " --steps 0");
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, HasSubstr("--steps is at least 1")) << command;
  }
}

TEST_F(RunningSum, RefusesOtherPairs) {
  const Ran unknown =
      byoc_("compile " + model_ + " --state pas=present -o " + byoc_.file("a.byoc"));
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err,
              HasSubstr("error[unknown-state]: the model has no input \"pas\"; did you "
                        "mean \"past\"?"));
}

TEST_F(RunningSum, VerifyComparesSeveralRuns) {
  const Json passed = byoc_.json("verify " + model_ + with_ + " --steps 4");
  EXPECT_EQ(passed["passed"], true);
  std::vector<std::string> names;
  for (const Json& output : passed["outputs"]) names.push_back(output["name"]);
  // First as plain outputs, then per run, in the order of the model.
  EXPECT_THAT(names, testing::ElementsAre("present", "twice", "present, run 1", "twice, run 1",
                                          "present, run 2", "twice, run 2", "present, run 3",
                                          "twice, run 3", "present, run 4", "twice, run 4"));
}

// Reads a row of a table by a counter, which leaves the table after `rows` runs.
std::string counter_into(int rows) {
  std::string table;
  for (int k = 0; k < rows; ++k) table += cat(k == 0 ? "" : ",", 10 * (k + 1), ".0");
  return cat(R"(fn main(%n: i64[1]) {output_names=["next","y"]} {
  %one = const([1]) : i64[1]
  %table = const([)",
             table, "]) : f32[", rows, R"(]
  %next = add(%n, %one)
  %y = gather(%table, %n) {axis=0}
  return %next, %y
})");
}

TEST(UsedUpStates, BeginAtZerosAgainInVerify) {
  const Byoc byoc;
  const std::vector<std::tuple<int, int, Json, std::string>> cases = {
      {1, 1, Json::array(), "     1 run with states\n"},
      {1, 3, Json::array({2, 3}),
       "     3 runs with states, used up and at zeros again in runs 2, 3\n"},
      {2, 3, Json::array({3}), "     3 runs with states, used up and at zeros again in run 3\n"},
      {3, 3, Json::array(), "     3 runs with states\n"},
      {4, 6, Json::array({5}), "     6 runs with states, used up and at zeros again in run 5\n"}};
  for (const auto& [rows, steps, again, text] : cases) {
    const std::string line = cat("verify ", byoc.write("counter.ir", counter_into(rows)),
                                 " --state n=next --compiler json --steps ", steps);
    const Json verified = byoc.json(line);
    EXPECT_EQ(verified["passed"], true) << line;
    EXPECT_EQ(verified["states"].dump(), Json({{"runs", steps}, {"began_again", again}}).dump());
    EXPECT_EQ(verified["outputs"].size(), 2u * (1 + steps)) << line;
    EXPECT_THAT(byoc(line).out, HasSubstr(text));
  }
}

// The second run from zeros reads -1, where this plugin fails and the reference does not.
TEST(UsedUpStates, AreUsedUpForTheReferenceToo) {
  const Byoc byoc;
  const std::string model =
      byoc.write("down.ir", R"(fn main(%past: f32[4]) {output_names=["next","y"]} {
  %one = const(1.0) : f32[]
  %0 = subtract(%past, %one)
  %1 = relu(%past)
  return %0, %1
})");
  const Ran ran = byoc("verify " + model + " --state past=next --input past=1 --plugin " +
                       fault_path("faulty_none") +
                       " --compiler faulty,json --plugin-option faulty.fault=run-negative");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("the kernel panicked"));
  EXPECT_THAT(ran.err, HasSubstr("run 2 with states, which json computes"));
}

TEST_F(RunningSum, TextsMayDeclareTheStates) {
  std::string text = kRunningSum;
  text.replace(text.find("{output_names"), 1,
               "{state_inputs=[\"past\"], state_outputs=[\"present\"], ");
  const Json ran = byoc_.json("run " + byoc_.write("own.ir", text) +
                              " --compiler json --input x=1,2,3,4 --steps 3");
  EXPECT_EQ(ran["outputs"][0]["max"], 24.0);
}

}  // namespace
}  // namespace byoc::test
