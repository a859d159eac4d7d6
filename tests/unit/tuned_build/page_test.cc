// SPDX-License-Identifier: Apache-2.0
// The examples of docs/tuning.md, which quotes these lines.
#include <gmock/gmock.h>

#include "support/temp_folder.h"
#include "tuned.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;

/// Prints a task as the page does.
std::vector<std::string> printed_tasks(const IRModule& model, const BuildOptions& options) {
  std::vector<std::string> out;
  Result<std::vector<tune::Task>> tasks = tune::extract_tasks(model, options);
  if (!tasks.ok()) return {tasks.status().to_string()};
  for (const tune::Task& task : *tasks) {
    out.push_back(cat(task.count, " calls of ", task.space.kind, " by ", task.plugin, ", ",
                      size_of(task.space), " points"));
  }
  return out;
}

Status log_time(const std::string& path, const tune::Task& task, const tune::Point& point,
                std::vector<double> samples_ns) {
  tune::Record record;
  record.plugin = task.plugin, record.kind = task.space.kind;
  record.task = task.space.task, record.key = task.key;
  BYOC_TRY(record.target, tune::record_target("{}"));  // this machine
  record.flops = task.space.flops, record.bytes = task.space.bytes;
  record.point = point, record.samples_ns = std::move(samples_ns);
  BYOC_TRY(tune::LogWriter log, tune::LogWriter::open(path));
  return log.append(record);
}

Result<Executable> build_tuned(const IRModule& model, BuildOptions options, const std::string& log,
                               std::string& summary) {
  BYOC_TRY(auto history, tune::History::load(std::vector{log}));
  tune::HistoryReport report;
  options.history_report = &report;
  tune::ApplyHistoryBest scope(history);  // or options.history = history
  BYOC_TRY(Executable executable, build(model, options));
  summary = report.summary();
  return executable;
}

TEST(TuningPage, HasExamplesThatRun) {
  const IRModule model = tuned_model();
  const BuildOptions options = tuned_options(tuned_plugins());
  EXPECT_THAT(printed_tasks(model, options),
              testing::UnorderedElementsAre("2 calls of relu by a, 3 points",
                                            "1 calls of relu by a, 3 points"));
  TempFolder folder;
  for (const tune::Task& task : tasks_of(model, options))
    ASSERT_TRUE(log_time(folder.file("t.jsonl"), task, {{"loop", "4"}}, {1200, 1150}).ok());
  std::string summary;
  Result<Executable> executable = build_tuned(model, options, folder.file("t.jsonl"), summary);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_EQ(summary, "2 hits (100.0 % of the weight)");
  for (const ExternalModule& module : executable->modules) {
    if (module.plugin != "a") continue;
    EXPECT_EQ(module.functions[0].implementation, "loop 4");
  }
}

}  // namespace
}  // namespace byoc::test
