// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/knobs.h"

#include <algorithm>
#include <memory>

#include "byoc/ir/dim.h"
#include "byoc/te/key.h"
#include "byoc/translate/translate.h"
#include "plugins/llvm/constants/hoist.h"
#include "plugins/llvm/constants/least_sizes.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/open/translate_open.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "plugins/llvm/split.h"
#include "plugins/llvm/topi/code_size.h"

namespace byoc::llvm_plugin {
namespace {

constexpr const char* kCompute = "compute";

/// A function with one compute of its ops.
struct Variant {
  std::string compute;
  te::Dag dag;
  topi::Template schedules;  // of `dag`
};
using Variants = std::vector<std::unique_ptr<Variant>>;  // the usual one first

/// The computes of each call that has several, by the call's key; the usual one first.
using Computes = std::map<std::string, std::vector<std::string>>;

/// The estimated ns of one run by compute, where the strategies have estimates.
using Costs = std::map<std::string, double>;

// Returns a selector that also fills `out` and `costs`, which outlive it.
te::StrategySelector recording(Computes& out, Costs& costs) {
  return [&out, &costs, usual = te::by_level()](
             const te::Site& site, std::span<const te::Strategy> all) -> Result<size_t> {
    BYOC_TRY(size_t choice, usual(site, all));
    if (all.size() < 2) return choice;
    for (const te::Strategy& strategy : all) {
      if (strategy.cost_ns) costs[strategy.name] += strategy.cost_ns(site);
    }
    std::vector<std::string> names = {all[choice].name};
    for (size_t k = 0; k < all.size(); ++k) {
      if (k != choice) names.push_back(all[k].name);
    }
    out[te::site_key(site)] = std::move(names);
    return choice;
  };
}

std::unique_ptr<Variant> variant_of(std::string compute, te::Dag dag, const te::Target& target) {
  auto out = std::make_unique<Variant>(Variant{std::move(compute), std::move(dag), {}});
  out->schedules = sketch::template_of(out->dag, target);
  return out;
}

// The kind "stem" has the direct sums of a network's first convolution.
bool is_conv(const std::string& kind) { return kind.starts_with("conv2d") || kind == "stem"; }

// The kind of pools that are usually computed axis by axis, and tap by tap otherwise.
constexpr const char* kPoolByAxis = "pool_by_axis";

// Returns true for the kinds that may have several computes.
bool has_computes(const std::string& kind) {
  return is_conv(kind) || kind == "matmul_packed" || kind == "matmul_strassen" || kind == "arg" ||
         kind == "running" || kind == kPoolByAxis;
}

// Returns true when a function may have another compute whose schedules are of that kind.
bool may_join(const std::string& usual, const std::string& kind) {
  return kind == usual || (has_computes(kind) && has_computes(usual)) || usual == kPoolByAxis;
}

// Returns the function with the usual computes, and with each other compute that some of
// its calls have.
Result<Variants> variants_of(const IRModule& module, const te::Target& target, Costs& costs) {
  Computes computes;
  BYOC_TRY(te::Dag dag, translate(module, target, recording(computes, costs)));
  const std::string usual = computes.empty() ? "direct" : computes.begin()->second[0];
  Variants out;
  out.push_back(variant_of(usual, std::move(dag), target));
  std::map<std::string, std::map<std::string, std::string>> others;  // compute -> key -> compute
  for (const auto& [key, names] : computes) {
    for (const std::string& name : names) {
      if (name != usual) others[name][key] = name;
    }
  }
  for (const auto& [name, chosen] : others) {
    BYOC_TRY(te::Dag other, translate(module, target, te::from_history(chosen, te::by_level())));
    auto variant = variant_of(name, std::move(other), target);
    if (may_join(out[0]->schedules.kind, variant->schedules.kind))
      out.push_back(std::move(variant));
  }
  return out;
}

// Returns the kind of points: as the templates have it; when there are several, "conv2d_computes",
// "pool_computes" or "matmul_computes".
std::string kind_of(const Variants& variants) {
  const std::string& first = variants[0]->schedules.kind;
  const bool is_one = std::ranges::all_of(
      variants, [&](const auto& variant) { return variant->schedules.kind == first; });
  if (is_one) return first;
  if (first == kPoolByAxis) return "pool_computes";
  return is_conv(first) ? "conv2d_computes" : "matmul_computes";
}

// Returns true when points name the compute: those of convolutions do, those of products where
// there are several.
bool names_compute(const Variants& variants) {
  const std::string& kind = variants[0]->schedules.kind;
  return kind.starts_with("conv2d") || (has_computes(kind) && variants.size() > 1);
}

// Returns true when the knob has that value.
bool has_compute(const Variants& variants, const std::string& compute) {
  return names_compute(variants) &&
         std::ranges::any_of(variants, [&](const auto& v) { return v->compute == compute; });
}

// Returns the bytes of the constants that a run reads: those that the rest of the kernel keeps, and
// those that are made at compile.
double constant_bytes_of(const te::Dag& dag, size_t inputs) {
  const std::optional<Hoisted> hoisted = hoist_constants(dag, inputs);
  const te::Dag& run = hoisted ? hoisted->rest : dag;
  te::Dag constants;
  constants.inputs.assign(run.inputs.begin() + static_cast<ptrdiff_t>(inputs), run.inputs.end());
  return topi::bytes_of(constants);
}

// Adds a guess for each point in `firsts` whose compute has none: joined choices have few guesses.
void add_missing_guesses(topi::Choices& choices, const std::vector<topi::Point>& firsts) {
  for (const topi::Point& first : firsts) {
    const std::string& compute = first.at(kCompute);
    const bool is_there = std::ranges::any_of(
        choices.guesses, [&](const topi::Point& guess) { return guess.at(kCompute) == compute; });
    if (is_there) continue;
    topi::Point guess = choices.guesses.at(0);
    for (const auto& [name, value] : first) guess[name] = value;
    choices.guesses.push_back(std::move(guess));
  }
}

topi::Choices choices_of(const Variants& variants) {
  topi::Choices out;
  std::vector<topi::Point> firsts;  // of each compute
  for (const auto& variant : variants) {
    topi::Choices own = variant->schedules.choices();
    if (names_compute(variants)) {
      own.knobs.push_back({kCompute, {variant->compute}});
      for (topi::Point& guess : own.guesses) guess[kCompute] = variant->compute;
      firsts.push_back(own.guesses.at(0));
    }
    out = out.knobs.empty() ? std::move(own) : topi::joined(out, own);
  }
  add_missing_guesses(out, firsts);
  return out;
}

// Returns the variant of a point, and in `own` the knobs of its template.
const Variant& variant_at(const Variants& variants, const topi::Point& point, topi::Point& own) {
  const auto compute = point.find(kCompute);
  auto chosen = std::ranges::find_if(variants, [&](const auto& variant) {
    return compute == point.end() || variant->compute == compute->second;
  });
  for (const auto& [name, value] : (*chosen)->schedules.first) own[name] = point.at(name);
  return **chosen;
}

// Sets the task and the work of a function without open sizes.
Status set_work(FunctionSpace& to, const IRModule& module, const te::Target& target) {
  BYOC_TRY(te::Dag direct, te::translate_to_te(module, module.function(module.entry), target,
                                               te::by_level(), te::direct_strategies()));
  to.task = te::canonical_text(direct);
  to.flops = topi::flops_of(direct);
  to.bytes = topi::bytes_of(direct);
  return {};
}

// Returns the sizes of each dim of the parameters and results, as "0,1;;1" for [B*T, 8, T].
std::string open_dims_of(const Function& function) {
  std::map<Symbol, size_t> numbers;
  std::string out;
  auto add = [&](TypeId type) {
    for (Dim dim : type->shape) {
      for (Dim size : is_open(dim) ? sizes_in(dim) : std::vector<Dim>())
        out += cat(numbers.emplace(size.name(), numbers.size()).first->second, ",");
      out += ";";
    }
    out += "\n";
  };
  for (uint32_t k = 0; k < function.num_params(); ++k) add(function.nodes[k].types[0]);
  for (TypeId type : function.result_types()) add(type);
  return out;
}

// Points are those of the schedules at the numbers of the sizes, which the open function repeats.
// Exact sizes have spaces of another kind: their points are for loops without a rest.
Result<std::optional<FunctionSpace>> open_space_of(const IRModule& module,
                                                   const te::Target& target) {
  BYOC_TRY(const OpenDag dag, translate_open(module, target));
  const topi::Template schedules = sketch::template_of(dag.nominal, target);
  FunctionSpace out;
  out.kind = cat("open_", schedules.kind);
  out.choices = schedules.choices();
  if (topi::size_of(out.choices) < 2) return std::optional<FunctionSpace>();
  BYOC_TRY(const IRModule nominal, nominal_module(module));
  BYOC_TRY_STATUS(set_work(out, nominal, target));
  out.task = cat("open sizes\n", open_dims_of(module.function(module.entry)), out.task);
  return std::optional(std::move(out));
}

}  // namespace

Result<KernelLoops> open_kernel(const IRModule& module, const te::Target& target,
                                const topi::Point* point) {
  BYOC_TRY(OpenDag dag, translate_open(module, target));
  if (point != nullptr) {
    const topi::Template schedules = sketch::template_of(dag.nominal, target);
    BYOC_TRY_STATUS(topi::check_point(schedules.choices(), *point));
  }
  const size_t inputs = inputs_of(module, dag.open);
  BYOC_TRY(KernelLoops open, lower_open(dag.open, dag.nominal, inputs, target, point));
  if (dag.one_image) {
    return with_least_sizes(std::move(open), dag.one_image->dag, inputs, dag.one_image->holds,
                            target);
  }
  Result<std::optional<LeastDag>> least = translate_least(module, target);
  const bool has_least = least.ok() && *least && has_one_row((*least)->dag, inputs, target);
  if (!has_least) return open;  // the open code serves all sizes
  return with_least_sizes(std::move(open), (*least)->dag, inputs, (*least)->holds, target);
}

Result<std::optional<FunctionSpace>> space_of(const IRModule& module, const te::Target& target) {
  if (has_open_sizes(module)) return open_space_of(module, target);
  BYOC_TRY(std::optional<Split> split, split_function(module, target));
  if (split) return std::optional<FunctionSpace>();
  FunctionSpace out;
  BYOC_TRY(Variants variants, variants_of(module, target, out.compute_ns));
  out.kind = kind_of(variants);
  out.choices = choices_of(variants);
  std::erase_if(out.compute_ns,
                [&](const auto& cost) { return !has_compute(variants, cost.first); });
  if (names_compute(variants)) {
    for (const auto& variant : variants)
      out.constant_bytes[variant->compute] =
          constant_bytes_of(variant->dag, inputs_of(module, variant->dag));
  }
  if (topi::size_of(out.choices) < 2) return std::optional<FunctionSpace>();
  BYOC_TRY_STATUS(set_work(out, module, target));
  return std::optional(std::move(out));
}

size_t inputs_of(const IRModule& module, const te::Dag& dag) {
  const auto all = static_cast<int64_t>(dag.inputs.size());
  return static_cast<size_t>(module.function(module.entry).attrs.i(kInputsAttr, all));
}

Result<KernelLoops> kernel_at(const IRModule& module, const te::Target& target,
                              const topi::Point& point) {
  if (has_open_sizes(module)) return open_kernel(module, target, &point);
  BYOC_TRY(std::optional<Split> split, split_function(module, target));
  if (split)
    return invalid("a point for a function that is compiled as several kernels, which has no knobs")
        .with_slug("bad-point");
  Costs costs;
  BYOC_TRY(Variants variants, variants_of(module, target, costs));
  BYOC_TRY_STATUS(topi::check_point(choices_of(variants), point));
  topi::Point own;
  const te::Dag& dag = variant_at(variants, point, own).dag;
  return lower_with_constants(dag, inputs_of(module, dag), target, &own);
}

Result<te::LoopFunction> loops_at(const IRModule& module, const te::Target& target,
                                  const topi::Point& point) {
  BYOC_TRY(KernelLoops out, kernel_at(module, target, point));
  return std::move(out.loops);
}

}  // namespace byoc::llvm_plugin
