// SPDX-License-Identifier: Apache-2.0
#include "core/tools/probe/known_probes.h"

#include <cstdlib>
#include <set>

#include "byoc/base/json.h"
#include "core/process/child.h"
#include "core/tools/probe/join.h"
#include "core/tuner/regions.h"

namespace byoc::driver {
namespace {

/// Returns the numbers of the probes that the names belong to.
std::set<size_t> probes_of(const std::vector<std::string>& names) {
  std::set<size_t> out;
  for (const std::string& name : names) {
    if (name.starts_with(kProbePrefix))
      out.insert(std::strtoul(name.c_str() + kProbePrefix.size(), nullptr, 10));
  }
  return out;
}

/// Returns the tasks of the probes from `first` on, which are compiled in one way.
Status add_tasks(std::span<const Probe> probes, size_t first, const BuildOptions& build,
                 std::vector<ProbeTask>& to) {
  std::vector<size_t> outputs;
  const Probe& one = probes[0];
  IRModule module =
      one.is_rest ? side_by_side(probes, outputs) : joined(probes, one.plugin, outputs);
  BYOC_TRY(std::vector<tune::OwnPoint> points,
           tune::own_points(std::move(module), options_of_probes(build, one), one.is_rest));
  std::vector<size_t> functions(probes.size(), 0);
  std::vector<ProbeTask> found(probes.size());
  for (const tune::OwnPoint& point : points) {
    for (size_t k : probes_of(one.is_rest ? point.locs : point.symbols)) {
      if (k >= probes.size()) continue;
      ++functions[k];
      found[k] = {point.text, point.point};
    }
  }
  for (size_t k = 0; k < probes.size(); ++k) {
    if (functions[k] == 1) to[first + k] = std::move(found[k]);
  }
  return {};
}

std::string tasks_json(const std::vector<Probe>& probes, const BuildOptions& build) {
  std::vector<ProbeTask> tasks(probes.size());
  for (size_t begin = 0, end = 0; begin < probes.size(); begin = end) {
    while (end < probes.size() && probes[end].is_rest == probes[begin].is_rest) ++end;
    const Status added =
        add_tasks(std::span(probes).subspan(begin, end - begin), begin, build, tasks);
    if (!added.ok()) return "";
  }
  Json out = Json::array();
  for (const ProbeTask& task : tasks) out.push_back({task.text, task.point});
  return out.dump();
}

}  // namespace

std::vector<ProbeTask> tasks_of(const std::vector<Probe>& probes, const BuildOptions& build,
                                const ProbePlan& plan) {
  std::vector<ProbeTask> out(probes.size());
  process::ChildLimits limits;
  limits.timeout_s = plan.timeout_s;
  const process::ChildResult child =
      process::run_in_child(limits, [&] { return tasks_json(probes, build); });
  const Result<Json> json = parse_json(child.finished ? child.result : "");
  if (!json.ok() || !json->is_array() || json->size() != probes.size()) return out;
  for (size_t k = 0; k < probes.size(); ++k) out[k] = {(*json)[k].at(0), (*json)[k].at(1)};
  return out;
}

std::optional<measure::Observation> find_task(const measure::Store& store, measure::Key candidate,
                                              const ProbeTask& task) {
  if (!task.is_one()) return std::nullopt;
  candidate.text = task.text, candidate.point = task.point;
  auto found = store.find(candidate);
  // A point that fails for the tuner may only be slow: it has other limits.
  if (!found || !found->error.empty()) return std::nullopt;
  return found;
}

void put_probe(measure::Store& store, const measure::Key& candidate, const ProbeTask& task,
               const ProbeResult& result) {
  measure::Observation one{result.ns, result.error, result.reorder_ns, {}, "place"};
  store.put(candidate, one);
  if (!task.is_one() || !result.error.empty() || result.samples_ns.empty()) return;
  measure::Key key = candidate;
  key.text = task.text, key.point = task.point;
  one.samples_ns = result.samples_ns;
  store.put(key, one);
}

}  // namespace byoc::driver
