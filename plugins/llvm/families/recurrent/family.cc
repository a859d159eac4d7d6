// SPDX-License-Identifier: Apache-2.0
// Recurrent nets of f32 with constant matrices: in panels, and with products of a large input by
// Strassen's scheme.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/strassen/plan.h"
#include "plugins/llvm/families/strassen/recurrent.h"

namespace byoc::llvm_plugin::recurrent {
namespace {

using te::Tensor;

// The largest part of the direct time for which a recurrent net has Strassen's products: the
// estimates are not exact, and 80 terms gain nothing at 0.99 (Zen 3).
constexpr double kLeastGain = 0.95;

bool has_recurrent_matrices(const te::Site& site) {
  const std::string& op = site.op->name;
  if (op != "lstm" && op != "gru" && op != "rnn") return false;
  if (site.inputs[0]->dtype != DType::kF32 || !is_static(site.inputs[2]->shape)) return false;
  return static_extents(site.inputs[2]->shape)[2] >= site.target->lanes(sizeof(float)) &&
         has_constant_weight(site, 1) && has_constant_weight(site, 2);
}

// Computes recurrent nets with their matrices in panels, which are made at compile.
te::Strategy recurrent_panels(const te::Site& site) {
  te::Strategy out{.name = "panels", .level = kPreferred};
  out.compute =
      with_open_sizes([direct = site.op->compute, lanes = site.target->lanes(sizeof(float)),
                       shares = strassen::shares_steps(*site.target)](
                          te::Builder& builder, std::span<const Tensor> in, Types types,
                          const Attrs& attrs) -> Result<std::vector<Tensor>> {
        Attrs more = attrs;
        more.set("panel_lanes", lanes);
        more.set("shares_steps", shares);
        return direct(builder, in, types, more);
      });
  return out;
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  if (!has_recurrent_matrices(site)) return;
  out.push_back(recurrent_panels(site));
  auto product = strassen::input_product_of(site, panel_columns(*site.target));
  if (has_exact_sums(site) || has_shared_weights(site) || !product ||
      !strassen::fits_caches(*product, *site.target))
    return;
  product->panel = strassen::panel_of(*product, *site.target);
  const double direct = strassen::direct_cycles_of(*product, *site.target);
  if (strassen::cycles_of(*product, *site.target) >= kLeastGain * direct) return;
  te::Strategy strategy{.name = strassen::kCompute, .level = kPreferred + 1};
  strategy.compute = strassen::recurrent_compute_of(site, *product);
  strategy.has_generic_schedule = false;
  out.push_back(std::move(strategy));
}

}  // namespace

extern const Family kFamily{.name = "recurrent", .add_computes = add_computes};

}  // namespace byoc::llvm_plugin::recurrent
