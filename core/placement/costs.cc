// SPDX-License-Identifier: Apache-2.0
#include "core/placement/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/extend/hooks.h"

namespace byoc::placement {
namespace {

// A candidate that its plugin calls slow costs this many times the analytic model.
constexpr double kSlow = 4;

}  // namespace

std::string_view source_name(CandidateCost::Source source) {
  switch (source) {
    case CandidateCost::kMeasured:
      return "measured";
    case CandidateCost::kPlugin:
      return "plugin's estimate";
    case CandidateCost::kAnalytic:
      return "estimated";
    case CandidateCost::kForbiddenByError:
      return "failed";
    case CandidateCost::kForbiddenByRule:
      return "forbidden";
  }
  return "";
}

Costs Costs::read(const std::string& folder, uint32_t threads) {
  Costs out;
  out.machine_here = machine_name();
  out.machine.threads = threads;
  if (folder.empty()) return out;
  Result<Machine> machine = read_calibration(folder, threads);
  if (machine.ok()) out.machine = *std::move(machine);
  else out.remarks.push_back(machine.status().to_string());
  out.store = measure::Store::read(folder);
  for (const std::string& remark : out.store.remarks()) out.remarks.push_back(remark);
  return out;
}

measure::Key Costs::key_of(const Plugin& plugin, const std::string& text) const {
  return {plugin.id(), version_and_options(plugin), machine_here, text, machine.threads, "", code};
}

double Costs::factor_of(const std::string& plugin) const {
  const auto at = factors.find(plugin);
  return at == factors.end() ? 1 : at->second;
}

CandidateCost Costs::estimate(const Plugin& plugin, const Verdict& verdict,
                              const Work& work) const {
  CandidateCost cost;
  // Samples are of this machine, but of no slow kernel.
  const bool is_sampled =
      verdict.accept != Verdict::kSlow && machine.has_times(plugin.id(), version_and_build(plugin));
  if (verdict.est_ns > 0 && !is_sampled)
    return {CandidateCost::kPlugin, static_cast<double>(verdict.est_ns), ""};
  double factor = verdict.accept == Verdict::kSlow ? kSlow : 1;
  if (!machine.is_calibrated()) factor *= unknown_factor;
  cost.ns = machine.predicted_ns(plugin.id(), work) * factor;
  if (work.op_class != OpClass::kFree) cost.ns += machine.call_ns;
  return cost;
}

CandidateCost Costs::of(const Plugin& plugin, const Verdict& verdict, const Work& work,
                        const std::string& text) const {
  CandidateCost cost;
  if (auto measured = store.size() > 0 ? store.find(key_of(plugin, text)) : std::nullopt) {
    if (!measured->error.empty()) {
      return {CandidateCost::kForbiddenByError, std::numeric_limits<double>::infinity(),
              measured->error};
    }
    cost = {CandidateCost::kMeasured, measured->ns, ""};
  } else {
    cost = estimate(plugin, verdict, work);
  }
  if (auto at = corrections.find({plugin.id(), text}); at != corrections.end())
    cost.ns = std::max(0.0, cost.ns + at->second);
  else cost.ns *= factor_of(plugin.id());
  if (const auto& own = extend::hooks().placement_cost) {
    const bool is_measured = cost.source == CandidateCost::kMeasured;
    cost.ns = own({plugin.id(), text, work.flops, work.bytes, cost.ns, is_measured});
    if (!(cost.ns >= 0)) cost.ns = std::numeric_limits<double>::infinity();
    if (!std::isfinite(cost.ns)) cost.note = "the library's cost is infinite";
  }
  return cost;
}

}  // namespace byoc::placement
