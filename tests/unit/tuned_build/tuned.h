// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plugin "a" with a knob "loop", a model for it, and records of its tasks.
#include <gtest/gtest.h>

#include "byoc/tune/history.h"
#include "byoc/tune/task.h"
#include "support/flow.h"

namespace byoc::test {

/// Plugin a takes relu and has a knob "loop"; json takes the rest.
inline std::shared_ptr<const PluginSet> tuned_plugins(
    std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> options = {{"ops", "relu"}, {"loops", "1,2,4"}};
  options.merge(more);
  return selective_plugins({{"a", options}});
}

/// Two regions of a, of 4 and 8 elements, with ops of json between and after them. The first one
/// is called twice.
inline IRModule tuned_model() {
  return parse(R"(fn main(%x: f32[4], %y: f32[8]) {
    %0 = relu(%x) loc("first")
    %1 = tanh(%0) loc("t1")
    %2 = relu(%1) loc("second")
    %3 = tanh(%y) loc("t2")
    %4 = relu(%3) loc("wide")
    %5 = sin(%2) loc("s1")
    %6 = sin(%4) loc("s2")
    return %5, %6
  })");
}

inline BuildOptions tuned_options(std::shared_ptr<const PluginSet> plugins) {
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = {"a"};
  return options;
}

inline std::vector<tune::Task> tasks_of(const IRModule& module, const BuildOptions& options) {
  Result<std::vector<tune::Task>> tasks = tune::extract_tasks(module, options);
  EXPECT_TRUE(tasks.ok()) << tasks.status().to_string();
  return tasks.ok() ? *std::move(tasks) : std::vector<tune::Task>();
}

/// A measurement of this machine for a task.
inline tune::Record record_for(const tune::Task& task, const std::string& loop, double ns) {
  tune::Record out;
  out.plugin = task.plugin, out.task = task.space.task, out.kind = task.space.kind;
  out.key = task.key;
  out.target = *tune::record_target("{}");
  out.flops = task.space.flops, out.bytes = task.space.bytes;
  out.point = {{"loop", loop}};
  out.samples_ns = {ns};
  return out;
}

/// The task whose functions work on so many elements.
inline const tune::Task& task_with_flops(const std::vector<tune::Task>& tasks, double flops) {
  for (const tune::Task& task : tasks) {
    if (task.space.flops == flops) return task;
  }
  ADD_FAILURE() << "no task has " << flops << " flops";
  return tasks.at(0);
}

}  // namespace byoc::test
