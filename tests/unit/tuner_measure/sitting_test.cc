// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/sitting.h"

#include <cmath>
#include <set>

#include "byoc/base/json.h"
#include "byoc/tune/history.h"
#include "core/tuner/sitting/log_report.h"
#include "core/tuner/sitting/sitting_report.h"
#include "knobby.h"

namespace byoc::tune {
namespace {

using test::Knobby;
using test::point;
using ::testing::HasSubstr;

SittingOptions options_of(const Knobby& knobby, const std::string& log, size_t trials) {
  SittingOptions out;
  out.log = log;
  out.trials_per_task = trials;
  out.measure = knobby.options();
  return out;
}

SittingReport tune_all(const Knobby& knobby, const SittingOptions& options) {
  auto report =
      tune(knobby.tasks(), knobby.build(), options, [](const SittingReport&) { return true; });
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  return *std::move(report);
}

std::vector<Record> records_of(const std::string& log) {
  std::vector<Record> out;
  EXPECT_TRUE(read_log(log, [&](Record record) { out.push_back(std::move(record)); }).ok());
  return out;
}

std::set<Point> points_of(const std::string& log) {
  std::set<Point> out;
  for (const Record& record : records_of(log)) out.insert(record.point);
  return out;
}

TEST(Sitting, FindsTheFastestPointAndTheHistoryGivesIt) {
  test::TempFolder folder;
  const std::string log = folder.file("t.jsonl");
  Knobby knobby("right,segv,wrong", "100000,10000,50000,200000");
  SittingReport report = tune_all(knobby, options_of(knobby, log, 100));
  EXPECT_EQ(report.end, SittingEnd::kDone);
  EXPECT_EQ(report.measured, 12U) << "the whole space";
  const TaskReport& task = report.tasks[0];
  EXPECT_EQ(task.best, point("right", "10000"));
  EXPECT_EQ(task.errors, 8U);
  EXPECT_EQ(task.trials, 12U);
  EXPECT_GT(task.untuned_ns, task.best_ns);  // by how much depends on other work of the machine

  auto history = History::load({&log, 1});
  ASSERT_TRUE(history.ok()) << history.status().to_string();
  const Record first = records_of(log).at(0);
  const Task& of = knobby.tasks()[0];
  const Choice choice = (*history)->find({of.plugin, of.space, first.target, 1});
  EXPECT_EQ(choice.origin, Origin::kExact);
  EXPECT_EQ(choice.point, point("right", "10000"));
}

TEST(Sitting, RecordsEverythingAboutATrial) {
  test::TempFolder folder;
  const std::string log = folder.file("t.jsonl");
  Knobby knobby("right,segv", "1000");
  tune_all(knobby, options_of(knobby, log, 100));
  size_t failed = 0;
  for (const Record& record : records_of(log)) {
    EXPECT_EQ(record.key, knobby.tasks()[0].key);
    EXPECT_EQ(record.task, knobby.tasks()[0].space.task);
    EXPECT_EQ(record.plugin_version, "1.0.0");
    EXPECT_GT(record.ref_ns, 0);
    EXPECT_GT(record.time, 1'700'000'000);
    EXPECT_NE(record.worker, "");
    failed += record.error == "crash: signal 11";
  }
  EXPECT_EQ(failed, 1U);
}

TEST(Sitting, ContinuesFromItsLog) {
  test::TempFolder folder;
  const std::string log = folder.file("t.jsonl");
  Knobby knobby("right,segv", "1000,2000,3000,4000,5000,6000,7000,8000");
  SittingReport first = tune_all(knobby, options_of(knobby, log, 5));
  EXPECT_EQ(first.measured, 5U);
  const std::set<Point> before = points_of(log);
  SittingReport second = tune_all(knobby, options_of(knobby, log, 12));
  EXPECT_EQ(second.measured, 7U) << "the records count as trials";
  EXPECT_EQ(points_of(log).size(), before.size() + 7) << "no point was measured twice";
  EXPECT_EQ(second.tasks[0].trials, 12U);
  SittingReport third = tune_all(knobby, options_of(knobby, log, 12));
  EXPECT_EQ(third.measured, 0U);
  EXPECT_LE(third.tasks[0].best_ns, first.tasks[0].best_ns);
  EXPECT_FALSE(third.tasks[0].best.empty());
}

TEST(Sitting, ProposesTheSamePointsForTheSameSeed) {
  test::TempFolder folder;
  // All points fail, so that all measurements are equal.
  Knobby knobby("build_fails", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24");
  auto order = [&](const std::string& log, uint64_t seed) {
    SittingOptions options = options_of(knobby, folder.file(log), 12);
    options.seed = seed;
    tune_all(knobby, options);
    std::vector<Point> out;
    for (const Record& record : records_of(options.log)) out.push_back(record.point);
    return out;
  };
  EXPECT_EQ(order("a", 3), order("b", 3));
}

TEST(Sitting, EndsWhenItsTimeIsOver) {
  test::TempFolder folder;
  Knobby knobby("hang", "1,2,3,4,5,6,7,8");
  SittingOptions options = options_of(knobby, folder.file("t.jsonl"), 8);
  options.budget_s = 2;
  options.measure.run_limit = std::chrono::seconds(300);
  SittingReport report = tune_all(knobby, options);
  EXPECT_EQ(report.end, SittingEnd::kBudget);
  EXPECT_LT(report.seconds, 300) << "one run took all of its own time";
}

TEST(Sitting, KeepsWhatIsMeasuredWhenItIsInterrupted) {
  test::TempFolder folder;
  const std::string log = folder.file("t.jsonl");
  Knobby knobby("right", "1000,2000,3000,4000,5000,6000,7000,8000");
  auto report = tune(knobby.tasks(), knobby.build(), options_of(knobby, log, 8),
                     [](const SittingReport& now) { return now.measured < 3; });
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->end, SittingEnd::kInterrupted);
  EXPECT_GE(points_of(log).size(), 3U);
  EXPECT_EQ(report->tasks[0].trials, points_of(log).size());
}

TEST(Sitting, ReportsATaskThatCannotBeMeasured) {
  test::TempFolder folder;
  Knobby knobby("right", "1000");
  SittingOptions options = options_of(knobby, folder.file("t.jsonl"), 4);
  options.measure.reference = "none";
  SittingReport report = tune_all(knobby, options);
  EXPECT_THAT(report.tasks[0].defect, HasSubstr("none"));
  EXPECT_TRUE(records_of(options.log).empty()) << "no fault of the points";
}

TEST(Sitting, ReportsALogThatCannotBeWritten) {
  Knobby knobby("right", "1000");
  auto report =
      tune(knobby.tasks(), knobby.build(), options_of(knobby, "/no/such/folder/t.jsonl", 4),
           [](const SittingReport&) { return true; });
  EXPECT_THAT(report.status().to_string(), HasSubstr("/no/such/folder"));
}

TEST(SittingReport, HasATableAndTheUseOfTheLog) {
  Knobby knobby("right,segv", "1000,2000");
  SittingReport report;
  report.tasks.push_back({2000, 1000, point("right", "1000"), 4, 2, 4, ""});
  report.measured = report.total = 4;
  report.seconds = 0.5;
  const SittingOptions options = options_of(knobby, "t.jsonl", 4);
  const std::string text = report_text(knobby.tasks(), report, options);
  EXPECT_THAT(text, HasSubstr("2.00x"));
  EXPECT_THAT(text, HasSubstr("4 trials in 0.5 s, 8.0 per second"));
  EXPECT_THAT(text, HasSubstr("--tuning-log t.jsonl"));
  EXPECT_EQ(report_json(knobby.tasks(), report, options)["tasks"][0]["untuned_ns"], 2000);
  EXPECT_THAT(progress_text(knobby.tasks(), report), HasSubstr("4/4 trials, 8.0 per second"));
}

TEST(SittingReport, IsDoneWhenItsTrialsOrItsSecondsAre) {
  SittingReport report;
  report.measured = 30, report.total = 40, report.seconds = 5;
  SittingOptions options;
  EXPECT_EQ(share_done(report, options).done, 30U);
  EXPECT_EQ(share_done(report, options).total, 40U);
  options.budget_s = 6;  // five sixths are more than three quarters
  EXPECT_EQ(share_done(report, options).done, 5000U);
  options.budget_s = 10;
  EXPECT_EQ(share_done(report, options).done, 30U);
}

TEST(SittingReport, HasNoTimesOfTasksWithoutThem) {
  Knobby knobby("right", "1000");
  SittingReport report;
  report.tasks.resize(1);
  const SittingOptions options = options_of(knobby, "t.jsonl", 4);
  EXPECT_THAT(report_text(knobby.tasks(), report, options), HasSubstr(" -"));
  EXPECT_TRUE(report_json(knobby.tasks(), report, options)["tasks"][0]["best_ns"].is_null());
}

}  // namespace
}  // namespace byoc::tune
