// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/calls.h"

#include <algorithm>
#include <limits>

namespace byoc::llvm_plugin {

std::function<double(const te::Site&)> cost_of(double cycles) {
  return [ns = cycles / kCyclesPerNs](const te::Site&) { return ns; };
}

bool has_exact_sums(const te::Site& site) { return site.function->attrs.b(kExactSumsAttr, false); }
bool has_shared_weights(const te::Site& site) {
  return site.function->attrs.b(kSharedWeightsAttr, false);
}

bool has_constant_weight(const te::Site& site, size_t operand) {
  if (site.is_constant[operand]) return true;
  const Function& function = *site.function;
  const uint32_t weight = function.args(function.nodes[site.node])[operand].node;
  if (!std::holds_alternative<Param>(function.nodes[weight].kind)) return false;
  int64_t inputs = function.attrs.i(kInputsAttr, std::numeric_limits<int64_t>::max());
  for (uint32_t node = 0; node < weight; ++node)
    inputs -= std::holds_alternative<Param>(function.nodes[node].kind) ? 1 : 0;
  return inputs <= 0;
}

bool has_half_blocks(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return false;
  const Shape& weight = site.inputs[1]->shape;
  if (!is_static(weight) || !is_static(site.inputs[0]->shape)) return false;
  const Ints extents = static_extents(weight);
  return extents[0] > 1 && 2 * extents[5] == site.target->lanes(sizeof(float)) &&
         has_constant_weight(site);
}

int64_t panel_columns(const te::Target& target) {
  return std::max<int64_t>(2 * target.lanes(sizeof(float)), 8);
}

}  // namespace byoc::llvm_plugin
