// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/known_points.h"

#include <algorithm>
#include <limits>

#include "byoc/base/check.h"

namespace byoc::tune {

Result<KnownPoints> KnownPoints::read(const std::string& log, const std::vector<Task>& tasks,
                                      const RecordFacts& facts) {
  KnownPoints out;
  std::map<ContentKey, size_t> index;
  std::map<std::string, size_t> kinds;  // a task of the kind
  for (size_t k = 0; k < tasks.size(); ++k) {
    index.emplace(tasks[k].key, k);
    kinds.emplace(cat(tasks[k].plugin, " ", tasks[k].space.kind), k);
  }
  out.points_.resize(tasks.size());
  out.duels_.resize(tasks.size());
  auto add = [&](Record record) {
    auto version = facts.versions.find(record.plugin);
    const bool fits = record.target == facts.target && record.threads == facts.threads &&
                      version != facts.versions.end() && version->second == record.plugin_version;
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
  BYOC_CHECK(task < points_.size() && points_.size() == duels_.size(), "task ", task, " of ",
             points_.size());
  const double ns = record.is_ok() ? record.best_ns() : std::numeric_limits<double>::infinity();
  auto [at, is_new] = points_[task].try_emplace(record.point, ns);
  at->second = std::min(at->second, ns);
  if (!record.lost_to.empty()) duels_[task].add(record.point, record.lost_to);
}

void KnownPoints::add_seed(size_t task, Record record) {
  add(task, record);
  seeds_.push_back({task, std::move(record)});
}

double KnownPoints::ns(size_t task, const Point& point) const {
  BYOC_CHECK(task < points_.size(), "task ", task, " of ", points_.size());
  auto found = points_[task].find(point);
  return found == points_[task].end() ? std::numeric_limits<double>::infinity() : found->second;
}

std::optional<KnownPoints::Best> KnownPoints::best(size_t task) const {
  BYOC_CHECK(task < points_.size(), "task ", task, " of ", points_.size());
  const auto& points = points_[task];
  auto found = std::min_element(points.begin(), points.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; });
  if (found == points.end() || !(found->second < std::numeric_limits<double>::infinity()))
    return std::nullopt;
  const Point chosen = duels_[task].choose(found->first, [&](const Point& point) {
    return ns(task, point) < std::numeric_limits<double>::infinity();
  });
  return Best{chosen, ns(task, chosen)};
}

size_t KnownPoints::errors(size_t task) const {
  BYOC_CHECK(task < points_.size(), "task ", task, " of ", points_.size());
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
