// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/known_points.h"

#include <algorithm>
#include <limits>

#include "core/codegen/tuned_points.h"

namespace byoc::tune {

Result<KnownPoints> KnownPoints::read(const std::string& log, const std::vector<Task>& tasks,
                                      const BuildOptions& build) {
  KnownPoints out;
  PassContext context;
  context.threads = build.threads;
  out.threads_ = threads_of_runs(context);
  BYOC_TRY(out.target_, record_target(build.target_json));
  std::map<ContentKey, size_t> index;
  std::map<std::string, size_t> kinds;  // a task of the kind
  std::map<std::string, std::string> versions;
  for (const Task& task : tasks) {
    BYOC_TRY(const Plugin* plugin, build.plugins->get(task.plugin));
    index.emplace(task.key, out.versions_.size());
    kinds.emplace(cat(task.plugin, " ", task.space.kind), out.versions_.size());
    versions[task.plugin] = plugin->version();
    out.versions_.push_back(plugin->version());
  }
  out.points_.resize(tasks.size());
  auto add = [&](Record record) {
    auto version = versions.find(record.plugin);
    const bool fits = record.target == out.target_ && record.threads == out.threads_ &&
                      version != versions.end() && version->second == record.plugin_version;
    if (!fits) return;
    auto found = index.find(record.key);
    const bool is_ours = found != index.end() && tasks[found->second].space.task == record.task;
    if (is_ours && !contains(tasks[found->second].space, record.point)) return;
    auto kind = kinds.find(cat(record.plugin, " ", record.kind));
    if (is_ours) out.add(found->second, record);
    if (is_ours) out.seeds_.push_back({found->second, std::move(record)});
    else if (kind != kinds.end()) out.seeds_.push_back({kind->second, std::move(record)});
  };
  BYOC_TRY_STATUS(read_log(log, add).status());
  return out;
}

void KnownPoints::add(size_t task, const Record& record) {
  const double ns = record.is_ok() ? record.best_ns() : std::numeric_limits<double>::infinity();
  auto [at, is_new] = points_[task].try_emplace(record.point, ns);
  at->second = std::min(at->second, ns);
}

double KnownPoints::ns(size_t task, const Point& point) const {
  auto found = points_[task].find(point);
  return found == points_[task].end() ? std::numeric_limits<double>::infinity() : found->second;
}

std::optional<KnownPoints::Best> KnownPoints::best(size_t task) const {
  const auto& points = points_[task];
  auto found = std::min_element(points.begin(), points.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; });
  if (found == points.end() || !(found->second < std::numeric_limits<double>::infinity()))
    return std::nullopt;
  return Best{found->first, found->second};
}

size_t KnownPoints::errors(size_t task) const {
  return static_cast<size_t>(std::count_if(
      points_[task].begin(), points_[task].end(),
      [](const auto& point) { return !(point.second < std::numeric_limits<double>::infinity()); }));
}

size_t KnownPoints::size() const {
  size_t out = 0;
  for (const auto& points : points_) out += points.size();
  return out;
}

}  // namespace byoc::tune
