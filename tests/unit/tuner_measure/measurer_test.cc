// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/measurer.h"

#include <filesystem>

#include "knobby.h"

namespace byoc::tune {
namespace {

using test::Knobby;
using test::point;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool always() { return true; }

std::unique_ptr<Measurer> measurer_of(const Knobby& knobby, MeasureOptions options) {
  auto made = Measurer::make(knobby.tasks(), knobby.build(), std::move(options));
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return *std::move(made);
}

/// Measures the points and returns the results in their order.
std::vector<Measured> measure(Measurer& measurer, const std::vector<Point>& points) {
  std::vector<Trial> trials;
  for (const Point& point : points) trials.push_back({0, point});
  std::vector<Measured> out(points.size());
  std::vector<int> calls(points.size(), 0);
  Status done = measurer.measure(trials, always, [&](const Measured& one) {
    out[one.index] = one;
    ++calls[one.index];
  });
  EXPECT_TRUE(done.ok()) << done.to_string();
  EXPECT_THAT(calls, ::testing::Each(1));
  return out;
}

/// Measures one bad point, then a good one, which must not be affected.
std::string error_of(const std::string& how, MeasureOptions options) {
  Knobby knobby("right," + how, "1000");
  options.program = knobby.options().program;
  options.plugin_flags = knobby.options().plugin_flags;
  auto measurer = measurer_of(knobby, std::move(options));
  auto results = measure(*measurer, {point(how, "1000"), point("right", "1000")});
  EXPECT_TRUE(results[0].samples_ns.empty()) << "a time for a wrong kernel";
  EXPECT_EQ(results[1].error, "");
  EXPECT_GE(results[1].samples_ns.size(), 3U);
  return results[0].error;
}

std::string error_of(const std::string& how) {
  return error_of(how, Knobby("right", "1").options());
}

TEST(Measurer, RecordsCrashesOfKernels) {
  EXPECT_EQ(error_of("segv"), "crash: signal 11");
  EXPECT_EQ(error_of("abort"), "crash: signal 6");
  EXPECT_EQ(error_of("exit"), "crash: exit code 7");
  EXPECT_EQ(error_of("load_segv"), "crash: signal 11");
}

TEST(Measurer, RecordsCrashesOfCompiling) { EXPECT_EQ(error_of("build_segv"), "crash: signal 11"); }

TEST(Measurer, EndsKernelsThatRunForEver) {
  auto options = Knobby("right", "1").options();
  options.run_limit = std::chrono::milliseconds(1500);
  EXPECT_EQ(error_of("hang", options), "timeout");
}

TEST(Measurer, EndsCompilingThatRunsForEver) {
  auto options = Knobby("right", "1").options();
  options.build_limit = std::chrono::milliseconds(2000);
  EXPECT_EQ(error_of("build_hang", options), "timeout");
}

TEST(Measurer, RecordsRefusalsInTheirWords) {
  EXPECT_THAT(error_of("build_fails"), HasSubstr("build: "));
  EXPECT_THAT(error_of("build_fails"), HasSubstr("the point fails on purpose"));
  EXPECT_THAT(error_of("fails"), HasSubstr("the kernel fails on purpose"));
}

TEST(Measurer, GivesNoTimeToWrongResults) {
  EXPECT_THAT(error_of("wrong"), StartsWith("wrong: "));
  EXPECT_THAT(error_of("wrong"), HasSubstr("max error"));
  EXPECT_THAT(error_of("wrong_later"), StartsWith("wrong: "));
  EXPECT_THAT(error_of("leaves_one"), StartsWith("wrong: "));
  EXPECT_EQ(error_of("spoils_input"), "wrong: a run changes its input i0");
}

TEST(Measurer, SurvivesKernelsThatExhaustMemory) {
  auto options = Knobby("right", "1").options();
  options.run_limit = std::chrono::seconds(60);
  EXPECT_NE(error_of("memory", options), "");
}

TEST(Measurer, IgnoresLinesThatKernelsPrint) {
  Knobby knobby("prints", "1000");
  auto measurer = measurer_of(knobby, knobby.options());
  auto results = measure(*measurer, {point("prints", "1000")});
  EXPECT_EQ(results[0].error, "");
  EXPECT_GT(results[0].samples_ns.at(0), 100) << "the line of the kernel was taken for an answer";
}

TEST(Measurer, MeasuresAGivenArtifactAgain) {
  Knobby knobby("right", "20000,40000");
  auto builds = measurer_of(knobby, knobby.options());
  test::TempFolder files;
  std::vector<Trial> trials;
  for (const char* work : {"40000", "20000"}) {  // each is the best one when its file is copied
    measure(*builds, {point("right", work)});
    trials.push_back({0, point("right", work), files.file(cat(work, ".byoc"))});
    ASSERT_EQ(builds->champion(0).point, trials.back().point);
    std::filesystem::copy_file(builds->champion(0).artifact, trials.back().artifact);
  }
  auto measurer = measurer_of(knobby, knobby.options());
  for (int round = 0; round < 3; ++round) {  // as after a change of the machine's speed
    Status done = measurer->measure(trials, always, [&](const Measured& one) {
      EXPECT_EQ(one.error, "") << "round " << round;
      EXPECT_EQ(one.build_ns, 0) << "built";
    });
    EXPECT_TRUE(done.ok()) << done.to_string();
  }
  for (const Trial& trial : trials) EXPECT_TRUE(std::filesystem::exists(trial.artifact));
}

TEST(Measurer, KeepsTheFasterPointAsChampion) {
  Knobby knobby("right", "200000,20000,400000");
  auto measurer = measurer_of(knobby, knobby.options());
  auto results = measure(
      *measurer, {point("right", "200000"), point("right", "20000"), point("right", "400000")});
  EXPECT_TRUE(results[0].is_champion) << "the first one is the best so far";
  EXPECT_TRUE(results[1].is_champion);
  EXPECT_EQ(results[1].champion, point("right", "200000")) << "it won a duel against the first";
  EXPECT_GE(results[1].champion_ns.size(), 4U);
  EXPECT_FALSE(results[2].is_champion);
  EXPECT_EQ(results[2].samples_ns.size(), 3U) << "hopeless after the first step";
  EXPECT_EQ(measurer->champion(0).point, point("right", "20000"));
}

TEST(Measurer, MeasuresTheChampionOfAnEarlierSittingAgain) {
  Knobby knobby("right", "20000,200000");
  auto measurer = measurer_of(knobby, knobby.options());
  measurer->set_champion(0, point("right", "20000"), 1e12);  // every point is faster than that
  const auto results = measure(*measurer, {point("right", "200000")});
  EXPECT_EQ(results[0].error, "");
  EXPECT_FALSE(results[0].is_champion);
  EXPECT_EQ(measurer->champion(0).point, point("right", "20000"));
  EXPECT_LT(measurer->champion(0).best_ns, 1e9);
}

TEST(Measurer, DecidesOnChallengersThatWaitForOneChampion) {
  Knobby knobby("right", "400000,200000,20000,50000");
  auto options = knobby.options();
  options.builders = 3;  // the champion is built for several of them at the same time
  auto measurer = measurer_of(knobby, options);
  measurer->set_champion(0, point("right", "400000"), 1e12);
  measure(*measurer, {point("right", "200000"), point("right", "20000"), point("right", "50000")});
  EXPECT_EQ(measurer->champion(0).point, point("right", "20000"));
}

TEST(Measurer, DropsAChampionThatFailsNow) {
  Knobby knobby("right,segv", "1000");
  auto measurer = measurer_of(knobby, knobby.options());
  measurer->set_champion(0, point("segv", "1000"), 1e12);
  auto results = measure(*measurer, {point("right", "1000")});
  EXPECT_EQ(results[0].error, "");
  EXPECT_TRUE(results[0].is_champion);
}

TEST(Measurer, MeasuresNothingWithoutRightOutputs) {
  Knobby knobby("right", "1000");
  auto options = knobby.options();
  options.reference = "none";
  auto measurer = measurer_of(knobby, options);
  auto results = measure(*measurer, {point("right", "1000")});
  EXPECT_FALSE(results[0].is_tried);
  EXPECT_THAT(results[0].error, HasSubstr("none"));
}

TEST(Measurer, StopsOnRequest) {
  Knobby knobby("right,hang", "1000");
  auto measurer = measurer_of(knobby, knobby.options());
  measure(*measurer, {point("right", "1000")});
  int calls = 0;
  Status done = measurer->measure(
      std::vector<Trial>{{0, point("hang", "1000")}}, [&] { return ++calls < 5; },
      [](const Measured&) { FAIL(); });
  EXPECT_EQ(done.code(), Code::kCancelled);
  EXPECT_EQ(measure(*measurer, {point("right", "1000")})[0].error, "") << "it can go on";
}

TEST(Measurer, ReportsAProgramThatIsNoWorker) {
  Knobby knobby("right", "1000");
  auto options = knobby.options();
  options.program = "/no/such/program";
  auto measurer = measurer_of(knobby, options);
  Status done = measurer->measure(std::vector<Trial>{{0, point("right", "1000")}}, always,
                                  [](const Measured&) {});
  EXPECT_THAT(done.message(), HasSubstr("/no/such/program"));
}

TEST(Measurer, TimesTheReferenceLoop) {
  Knobby knobby("right", "1000");
  auto measurer = measurer_of(knobby, knobby.options());
  auto ns = measurer->reference_ns(always);
  ASSERT_TRUE(ns.ok());
  EXPECT_GT(*ns, 50);
  EXPECT_LT(*ns, 1e6);
}

TEST(IsBoundByWeights, ForProductsOfAVector) {
  Task task;
  task.space.flops = 2e6;  // m = 1, n = k = 1000
  task.space.bytes = 4e6 + 8e3;
  task.input.buffers = {Buffer::copy(std::vector<std::byte>(4'000'000))};
  EXPECT_TRUE(is_bound_by_weights(task));
  task.space.flops = 64e6;  // m = 32
  EXPECT_FALSE(is_bound_by_weights(task));
}

}  // namespace
}  // namespace byoc::tune
