// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/batch/record_facts.h"

#include <unistd.h>

#include <ctime>

#include "core/codegen/tuned_points.h"
#include "core/measure/store/this_machine.h"

namespace byoc::tune {
namespace {

std::string worker_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return cat(host, ":", getpid());
}

}  // namespace

Result<RecordFacts> RecordFacts::of(const std::vector<Task>& tasks, const BuildOptions& build) {
  RecordFacts out;
  PassContext context;
  context.threads = build.threads;
  out.threads = threads_of_runs(context);
  BYOC_TRY(out.target, record_target(build.target_json));
  for (const Task& task : tasks) {
    BYOC_TRY(const Plugin* plugin, build.plugins->get(task.plugin));
    out.versions[task.plugin] = plugin->version();
  }
  out.worker = worker_name();
  out.machine = measure::machine_fingerprint();
  return out;
}

Record record_of(const Task& task, const Point& point, const RecordFacts& facts) {
  Record out;
  out.key = task.key;
  out.task = task.space.task;
  out.plugin = task.plugin;
  if (auto at = facts.versions.find(task.plugin); at != facts.versions.end())
    out.plugin_version = at->second;
  out.kind = task.space.kind;
  out.target = facts.target;
  out.threads = facts.threads;
  out.flops = task.space.flops;
  out.bytes = task.space.bytes;
  out.point = point;
  out.time = std::time(nullptr);
  out.worker = facts.worker;
  out.machine = facts.machine;
  return out;
}

}  // namespace byoc::tune
