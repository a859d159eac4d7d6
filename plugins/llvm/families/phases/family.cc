// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions as products of matrices, one for each class of phases of the stride.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/phases/compute.h"
#include "plugins/llvm/families/phases/merge.h"
#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::phases {
namespace {

constexpr double kPanelCycles = 4;  // to move a weight to its panel, where they are no constants

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  const std::optional<Geometry> geometry = geometry_of(site);
  if (!geometry) return;
  const DType dtype = site.outputs[0]->dtype;
  const size_t bytes = std::max(dtype_size(dtype), is_float(dtype) ? sizeof(float) : 1);
  const Plan plan = best_plan(*geometry, *site.target, bytes);
  double cycles = plan.cycles;
  if (!has_constant_weight(site)) {
    double weights = kPanelCycles;
    for (int64_t extent : static_extents(site.inputs[1]->shape))
      weights *= static_cast<double>(extent);
    cycles += weights;
  }
  for (te::Strategy& other : out) {
    if (other.name == "direct") other.cost_ns = cost_of(direct_cycles_of(*geometry, *site.target));
  }
  te::Strategy strategy{.name = "phases", .level = kPreferred};
  strategy.compute = compute_of(*geometry, plan);
  strategy.cost_ns = cost_of(cycles);
  out.push_back(std::move(strategy));
}

// Schedules what the loops leave: panels of weights that are no constants.
std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  std::optional<te::Dag> all = merged(dag);
  if (!all) return std::nullopt;
  const auto own = std::make_shared<te::Dag>(*std::move(all));
  topi::Template out = topi::default_template(*own, target);
  out.kind = "phases";
  out.choices = [own, choices = std::move(out.choices)] { return choices(); };
  out.at = [own, at = std::move(out.at)](const topi::Point& point) { return at(point); };
  return out;
}

}  // namespace

extern const Family kFamily{.name = "phases", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::phases
