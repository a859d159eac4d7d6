// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/choose/plugin_computes.h"

#include <algorithm>

#include "core/codegen/tuned_points.h"

namespace byoc {
namespace {

std::string compute_in(const tune::Point& point) {
  const auto at = point.find(kComputeKnob);
  return at == point.end() ? "" : at->second;
}

}  // namespace

Result<PluginComputes> computes_of(const Plugin& plugin, const CompileFunction& input,
                                   const PassContext& context) {
  BYOC_TRY(std::optional<tune::Space> space, knob_space(plugin, input, context));
  PluginComputes out;
  if (!space) return out;
  auto knob = std::ranges::find(space->knobs, kComputeKnob, &tune::Knob::name);
  if (knob == space->knobs.end()) return out;
  out.names = knob->values;
  out.usual = compute_in(space->guesses.at(0));
  if (auto costs = space->cost_ns.find(kComputeKnob); costs != space->cost_ns.end())
    out.cost_ns = costs->second;
  if (auto bytes = space->constant_bytes.find(kComputeKnob); bytes != space->constant_bytes.end())
    out.constant_bytes = bytes->second;
  if (context.histories.empty()) return out;
  BYOC_TRY(const std::string target, tune::record_target(context.target_json));
  out.recorded = compute_in(
      best_choice(context, {plugin.id(), *space, target, threads_of_runs(context)}).point);
  return out;
}

}  // namespace byoc
