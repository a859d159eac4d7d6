// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/batch/record_facts.h"

#include <unistd.h>

#include <ctime>
#include <thread>

#include "byoc/base/file.h"
#include "byoc/tune/shipped.h"
#include "core/codegen/tuned_points.h"

namespace byoc::tune {
namespace {

/// Returns the value of the first line "NAME : VALUE" of /proc/cpuinfo; "" without one.
std::string cpuinfo(const std::string& text, std::string_view name) {
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t colon = text.find(": ", at);
    if ((at == 0 || text[at - 1] == '\n') && colon < end)
      return text.substr(colon + 2, end - colon - 2);
  }
  return "";
}

std::string worker_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return cat(host, ":", getpid());
}

}  // namespace

std::string machine_fingerprint() {
  const auto file = read_file("/proc/cpuinfo");
  const std::string text = file.ok() ? *file : "";
  const std::string name = cpuinfo(text, "model name"), microcode = cpuinfo(text, "microcode");
  std::string out = name.empty() ? "unnamed processor" : name;
  if (!processor_kind().empty()) out += cat(", ", processor_kind());
  if (!microcode.empty()) out += cat(", microcode ", microcode);
  out += cat(", ", std::max(1U, std::thread::hardware_concurrency()), " processors, caches");
  for (int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    out += cat(" ", std::max(0L, sysconf(level)) >> 10, "K");
  return out;
}

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
  out.machine = machine_fingerprint();
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
