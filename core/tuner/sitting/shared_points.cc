// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/shared_points.h"

#include "byoc/base/check.h"
#include "core/measure/store/this_machine.h"

namespace byoc::tune {

Result<SharedPoints> SharedPoints::open(const std::string& folder, const std::vector<Task>& tasks,
                                        const BuildOptions& build, const RecordFacts& facts) {
  SharedPoints out(measure::Store::read(folder), tasks, facts);
  out.scope_ = {measure::machine_name(), facts.threads, {}, ""};
  BYOC_TRY(out.scope_.code, measure::code_options(build.target_json, build.exact_sums));
  for (const Task& task : tasks) {
    BYOC_TRY(const Plugin* plugin, build.plugins->get(task.plugin));
    out.scope_.builds[task.plugin] = measure::version_and_options(*plugin);
  }
  out.use = measure::use_of(out.store_, out.scope_);
  out.remarks = out.store_.remarks();
  return out;
}

measure::Key SharedPoints::key_of(size_t task) const {
  BYOC_CHECK(task < tasks_.size(), "task ", task, " of ", tasks_.size());
  const Task& one = tasks_[task];
  return {
      one.plugin, scope_.builds.at(one.plugin), scope_.machine, one.space.task, scope_.threads, "",
      scope_.code};
}

std::vector<SharedPoints::Shared> SharedPoints::missing_in(const KnownPoints& known) {
  std::vector<Shared> out;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    for (const auto& [text, observed] : store_.points_of(key_of(task))) {
      Result<Point> point = parse_point(text);
      if (!point.ok() || !contains(tasks_[task].space, *point)) {
        ++use.unusable["points outside of their space"];
        continue;
      }
      if (known.has(task, *point)) continue;
      Record record = record_of(tasks_[task], *point, facts_);
      record.error = observed.error;
      if (record.error.empty()) {
        record.samples_ns = observed.samples_ns;
        if (record.samples_ns.empty()) record.samples_ns = {observed.ns + observed.reorder_ns};
      }
      use.add_known(observed);
      out.push_back({task, std::move(record)});
    }
  }
  return out;
}

void SharedPoints::add(size_t task, const Record& record) {
  if (store_.path().empty() || record.machine != facts_.machine) return;
  measure::Key key = key_of(task);
  key.point = print(record.point);
  const double ns = record.is_ok() ? record.best_ns() : 0;
  const std::string error = record.is_ok() ? "" : record.error;
  if (!record.is_ok() && error.empty()) return;
  store_.put(key, {ns, error, 0, record.samples_ns, "tune"});
  const Status saved = store_.save();
  if (!saved.ok() && remarks.empty()) remarks.push_back(saved.to_string());
}

}  // namespace byoc::tune
