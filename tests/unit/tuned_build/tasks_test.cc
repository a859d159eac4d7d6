// SPDX-License-Identifier: Apache-2.0
// The tasks of a module.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuned.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tune::History;
using tune::Task;

/// add of an input and a constant, by plugin a.
IRModule with_constant(const std::string& name, const std::string& type,
                       const std::string& values) {
  return parse(cat("fn main(%", name, ": ", type, ") {\n  %c = const(", values, ") : ", type,
                   "\n  %0 = add(%", name, ", %c) loc(\"", name, "\")\n  return %0\n}"));
}

std::shared_ptr<const PluginSet> adders() {
  return selective_plugins({{"a", {{"ops", "add"}, {"loops", "1,2,4"}}}});
}

std::vector<ContentKey> keys_of(const std::vector<Task>& tasks) {
  std::vector<ContentKey> out;
  for (const Task& task : tasks) out.push_back(task.key);
  return out;
}

TEST(Tasks, AreCountedOncePerCall) {
  const auto tasks = tasks_of(tuned_model(), tuned_options(tuned_plugins()));
  ASSERT_THAT(tasks, SizeIs(2));
  const Task &small = task_with_flops(tasks, 4), &wide = task_with_flops(tasks, 8);
  EXPECT_EQ(small.count, 2u);
  EXPECT_EQ(wide.count, 1u);
  EXPECT_THAT(small.symbols, SizeIs(2));
  EXPECT_THAT(small.locs, ElementsAre("first", "second"));
  EXPECT_THAT(wide.locs, ElementsAre("wide"));
  EXPECT_EQ(small.plugin, "a");
  EXPECT_EQ(small.key, tune::key_of("a", small.space));
  EXPECT_EQ(small.input.n_in, 1u);
  EXPECT_TRUE(small.input.point_json.empty());
  EXPECT_EQ(size_of(small.space), 3);
}

TEST(Tasks, AreInOrderOfWeight) {
  BuildOptions options = tuned_options(tuned_plugins());
  auto tasks = tasks_of(tuned_model(), options);
  EXPECT_EQ(tasks[0].weight, 2 * tune::estimated_ns(tasks[0].space)) << "4 elements, twice";
  EXPECT_GE(tasks[0].weight, tasks[1].weight);
  options.history = History::of({record_for(task_with_flops(tasks, 8), "2", 5000),
                                 record_for(task_with_flops(tasks, 4), "2", 1000)});
  tasks = tasks_of(tuned_model(), options);
  EXPECT_EQ(tasks[0].space.flops, 8);
  EXPECT_EQ(tasks[0].weight, 5000);
  EXPECT_EQ(tasks[1].weight, 2000);
}

TEST(Tasks, OfEqualRegionsAreOne) {
  std::string text = "fn main(%x: f32[4]) {\n";
  for (int k = 0; k < 20; ++k) {
    text += cat("  %r", k, " = relu(", k == 0 ? "%x" : cat("%t", k - 1), ")\n  %t", k, " = tanh(%r",
                k, ")\n");
  }
  const auto tasks = tasks_of(parse(text + "  return %t19\n}"), tuned_options(tuned_plugins()));
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].count, 20u);
  EXPECT_THAT(tasks[0].symbols, SizeIs(20));
}

TEST(Tasks, HaveKeysWithoutNamesAndWeights) {
  const BuildOptions options = tuned_options(adders());
  const auto keys = keys_of(tasks_of(with_constant("x", "f32[2]", "[1,2]"), options));
  EXPECT_THAT(keys, SizeIs(1));
  EXPECT_EQ(keys_of(tasks_of(with_constant("x", "f32[2]", "[3,4]"), options)), keys);
  EXPECT_EQ(keys_of(tasks_of(with_constant("other", "f32[2]", "[3,4]"), options)), keys);
  EXPECT_NE(keys_of(tasks_of(with_constant("x", "f32[3]", "[1,2,3]"), options)), keys);
}

TEST(Tasks, OfFunctionsThatDifferInConstantsAreOne) {
  const auto tasks = tasks_of(parse(R"(fn main(%x: f32[2]) {
    %c = const([1,2]) : f32[2]
    %d = const([3,4]) : f32[2]
    %0 = add(%x, %c)
    %1 = tanh(%0)
    %2 = add(%1, %d)
    %3 = tanh(%2)
    return %3
  })"),
                              tuned_options(adders()));
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].count, 2u);
  EXPECT_THAT(tasks[0].symbols, SizeIs(2));
  EXPECT_THAT(tasks[0].input.constants, SizeIs(1)) << "the first function, with its weights";
}

TEST(Tasks, OfAPartitionedOrFusedModuleAreThoseOfTheModule) {
  const BuildOptions options = tuned_options(tuned_plugins());
  const auto keys = keys_of(tasks_of(tuned_model(), options));
  Result<IRModule> partitioned = partition_for(tuned_model(), options);
  ASSERT_TRUE(partitioned.ok());
  EXPECT_EQ(keys_of(tasks_of(*partitioned, options)), keys);
  const PassContext context = context_of(*partitioned, options.plugins, {"a"});
  const IRModule fused = run(*partitioned, "inline_functions,fuse_ops", context);
  EXPECT_EQ(keys_of(tasks_of(fused, options)), keys);
}

TEST(Tasks, AreWhatTheBuildLooksUp) {
  BuildOptions options = tuned_options(tuned_plugins());
  std::vector<tune::Record> records;
  for (const Task& task : tasks_of(tuned_model(), options))
    records.push_back(record_for(task, "2", 10));
  tune::HistoryReport report;
  options.history = History::of(records);
  options.history_report = &report;
  ASSERT_TRUE(build(tuned_model(), options).ok());
  for (const auto& entry : report.entries())
    EXPECT_EQ(entry.choice.origin, tune::Origin::kExact) << entry.symbol;
  EXPECT_THAT(report.entries(), SizeIs(2));
}

TEST(Tasks, OfPluginsWithoutKnobsAreNone) {
  auto plugins = selective_plugins({{"a", {{"ops", "relu"}}}});
  EXPECT_THAT(tasks_of(tuned_model(), tuned_options(plugins)), IsEmpty());
}

TEST(Tasks, NeedBoundsOfSizes) {
  const IRModule module = parse("fn main(%x: f32[N]) {\n  %0 = relu(%x)\n  return %0\n}");
  const Status status = tune::extract_tasks(module, tuned_options(tuned_plugins())).status();
  EXPECT_EQ(status.slug(), "symbolic-shape");
}

TEST(Tasks, ReportErrorsOfKnobs) {
  const auto failing = tuned_options(tuned_plugins({{"knobs", "fail"}}));
  const Status status = tune::extract_tasks(tuned_model(), failing).status();
  EXPECT_THAT(status.to_string(), HasSubstr("knobs fails by its options"));
}

}  // namespace
}  // namespace byoc::test
