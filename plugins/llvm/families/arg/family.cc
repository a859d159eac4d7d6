// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plugins/llvm/families/arg/compute.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::arg {
namespace {

te::Strategy strategy_of(std::string name, ComputeFn compute, double cycles) {
  te::Strategy out{.name = std::move(name), .level = kPreferred};
  out.compute = std::move(compute);
  out.cost_ns = cost_of(cycles);
  return out;
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const std::optional<Lines> lines = lines_of(call.site);
  if (!lines) return;
  out.front().cost_ns = cost_of(direct_cycles_of(*lines));
  out.push_back(strategy_of("passes", passes(*lines), cycles_of(*lines, 0)));
  if (const int64_t block = block_of(*lines))
    out.push_back(strategy_of("blocks", blocks(*lines, block), cycles_of(*lines, block)));
}

// The default schedules, as a kind of their own, which has several computes.
std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  const bool is_arg = std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.op == "argmax" || stage.op == "argmin" || stage.op == "hardmax";
  });
  if (!is_arg) return std::nullopt;
  topi::Template out = topi::default_template(dag, target);
  out.kind = "arg";
  return out;
}

}  // namespace

extern const Family kFamily{.name = "arg", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::arg
