// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/product/packed.h"
#include "plugins/llvm/families/strassen/plan.h"
#include "plugins/llvm/families/strassen/schedule.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/points.h"

#include <algorithm>

namespace byoc::llvm_plugin::strassen {
namespace {

using namespace topi;

te::Strategy strategy_of(ComputeFn compute, double cycles, int level) {
  te::Strategy out{.name = kCompute, .level = level};
  out.compute = std::move(compute);
  out.cost_ns = cost_of(cycles);
  out.has_generic_schedule = false;
  return out;
}

// Appends products where they may cost less than direct sums. Of a matrix that is no constant the
// sums would be made in every run.
void add_product_of_call(const te::Site& site, Strategies& out) {
  std::optional<Product> product = product_of(site);
  if (!product || !fits_caches(*product, *site.target)) return;
  product->panel = panel_of(*product, *site.target);
  const double cycles = cycles_of(*product, *site.target);
  const double direct = direct_cycles_of(*product, *site.target);
  if (cycles >= direct) return;
  out.front().cost_ns = cost_of(direct);
  out.push_back(strategy_of(compute_of(*product), cycles,
                            has_constant_weight(site) ? kPreferred : kPossible));
}

// Appends products for a convolution of one pixel with constant weights.
void add_image(const te::Site& site, Strategies& out) {
  const std::optional<Pointwise> conv = pointwise_of(site);
  if (!conv || !has_constant_weight(site)) return;
  const std::optional<Product> plan = plan_of(*conv, *site.target);
  if (!plan) return;
  const double direct = direct_cycles_of(*conv, *site.target);
  for (te::Strategy& other : out) {
    if (other.name == "pointwise" || other.name == topi::kJoinedCompute)
      other.cost_ns = cost_of(direct);
  }
  out.push_back(
      strategy_of(compute_of(*conv, *plan), image_cycles_of(*plan, *site.target), kPreferred));
}

// Tiles the products of quarters of matrices. The knob "tile" is rows by the one block of columns.
std::optional<Template> schedules(const te::Dag& dag, const te::Target& target) {
  if (has_panels_alone(dag)) {
    auto at = [&dag](const Point&) { return schedule_panels(dag); };
    return Template{"strassen_panels", {}, [] { return complete({}, {Point()}); }, at};
  }
  const std::optional<Product> found = find_product(dag);
  if (!found) return std::nullopt;
  const Sums sums =
      product::packed_sums({found->rows(), found->n / 2}, 0, found->terms(), found->block, target);
  const Point first = {{"tile", text_of(best_plan(sums, target).tile)}};
  auto at = [&dag, target, rows = found->rows()](const Point& point) {
    return schedule_products(dag, tile_at(point, rows, 1).cells, target);
  };
  auto choices = [sums, target, first] {
    const Choices plans = plan_choices(sums, target);
    return complete({*std::ranges::find(plans.knobs, "tile", &Knob::name)}, {first});
  };
  const bool is_image = std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.op == "conv2d_nchwc" && stage.compute == kCompute;
  });
  return Template{is_image ? "conv2d_strassen" : "matmul_strassen", first, choices, at};
}

void add_computes(const FamilyCall& call, Strategies& out) {
  // Other sizes of the model, for which this pays or not, would have other weights.
  if (has_exact_sums(call.site) || has_shared_weights(call.site)) return;
  if (!call.is_open) add_product_of_call(call.site, out);  // quarters of rows need numbers
  add_image(call.site, out);
}

bool owns(std::string_view compute) { return compute == kCompute; }

}  // namespace

extern const Family kFamily{
    .name = "strassen", .add_computes = add_computes, .owns = owns, .schedules = schedules};

}  // namespace byoc::llvm_plugin::strassen
