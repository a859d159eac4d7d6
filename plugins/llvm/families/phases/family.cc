// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions as products of matrices, one for each class of phases of the stride.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/phases/compute.h"

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

}  // namespace

extern const Family kFamily{.name = "phases", .add_computes = add_computes};

}  // namespace byoc::llvm_plugin::phases
