// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sketch/derivation.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::sketch {
namespace {

using topi::extent_of;

constexpr size_t kMostDerivations = 32;
constexpr int64_t kFewResults = 4;  // per thread: its terms are divided among threads instead
constexpr std::pair<Rule, std::string_view> kNames[] = {{Rule::kTiles, "tiles"},
                                                        {Rule::kLanes, "lanes"},
                                                        {Rule::kParts, "parts"},
                                                        {Rule::kLoops, "loops"}};

std::string_view name_of(Rule rule) {
  const auto found = std::ranges::find(kNames, rule, &std::pair<Rule, std::string_view>::first);
  BYOC_CHECK(found != std::end(kNames), "rule ", static_cast<int>(rule), " has no name");
  return found->second;
}

const te::Compute* reduction_of(const te::Stage& stage) {
  auto* compute = std::get_if<te::Compute>(&stage.kind);
  return compute != nullptr && !compute->reduce.empty() ? compute : nullptr;
}

bool has_reuse(const te::Compute& reduction) {
  const std::optional<TileAxes> axes = tile_axes(reduction);
  if (!axes || !axes->rows) return false;
  const auto loads = topi::loads_of(reduction);
  return std::ranges::any_of(loads, [&](const te::Load* load) {
    return topi::stride_of(*load, reduction.axes[*axes->rows].var) == 0;
  });
}

bool may_sum_in_lanes(const te::Compute& own, int64_t lanes) {
  return lanes >= 2 && extent_of(own.reduce.back()) >= lanes &&
         topi::may_load_lanes(topi::loads_of(own), own.reduce.back().var);
}

std::vector<Rule> rules_of(const te::Stage& stage, const te::Target& target) {
  BYOC_CHECK(reduction_of(stage) != nullptr, "stage ", stage.name, " has no terms");
  const te::Compute& own = *reduction_of(stage);
  const int64_t lanes = target.lanes(dtype_size(stage.outputs[0].dtype()));
  std::vector<Rule> out;
  if (own.values.size() == 1) {
    if (lanes >= 2 && tile_axes(own)) out.push_back(Rule::kTiles);
    if (may_sum_in_lanes(own, lanes)) {
      const bool is_first = !out.empty() && !has_reuse(own);
      out.insert(is_first ? out.begin() : out.end(), Rule::kLanes);
    }
    const int64_t results = topi::elements_of(stage.outputs[0]), threads = target.threads;
    const bool is_long = extent_of(own.reduce.front()) >= 2 * threads;
    if (threads > 1 && results < kFewResults * threads && is_long) out.push_back(Rule::kParts);
  }
  out.push_back(Rule::kLoops);
  return out;
}

}  // namespace

bool has_sketches(const te::Dag& dag) {
  bool has_loops = false;
  for (const te::Stage& stage : dag.stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute == nullptr) continue;
    for (const auto* axes : {&compute->axes, &compute->reduce}) {
      for (const te::Axis& axis : *axes) {
        if (extent_of(axis) < 1) return false;
        has_loops = true;
      }
    }
  }
  return has_loops;
}

std::vector<Reduction> main_reductions(const te::Dag& dag, const te::Target& target) {
  if (!has_sketches(dag)) return {};
  std::vector<std::pair<int64_t, size_t>> order;  // the heaviest first
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Compute* own = reduction_of(dag.stages[s]);
    if (own != nullptr) order.emplace_back(-topi::points_of(dag.stages[s], *own), s);
  }
  std::ranges::sort(order);
  std::vector<std::pair<size_t, std::vector<Rule>>> kept;
  size_t count = 1;
  for (const auto& [work, s] : order) {
    std::vector<Rule> rules = rules_of(dag.stages[s], target);
    if (count * rules.size() > kMostDerivations) break;
    count *= rules.size();
    kept.emplace_back(s, std::move(rules));
  }
  std::ranges::sort(kept);
  std::vector<Reduction> out;
  BYOC_CHECK(count <= kMostDerivations, count, " derivations of ", kMostDerivations);
  for (auto& [s, rules] : kept) out.push_back({dag.stages[s].name, std::move(rules)});
  return out;
}

std::vector<std::string> derivations_of(const std::vector<Reduction>& reductions) {
  if (reductions.empty()) return {std::string(name_of(Rule::kLoops))};
  std::vector<std::string> out = {""};
  for (const Reduction& reduction : reductions) {
    std::vector<std::string> longer;
    for (const std::string& name : out) {
      for (Rule rule : reduction.rules)
        longer.push_back(cat(name, name.empty() ? "" : "-", name_of(rule)));
    }
    out = std::move(longer);
  }
  return out;
}

std::vector<Rule> rules_in(std::string_view derivation, const std::vector<Reduction>& reductions) {
  std::vector<Rule> out;
  for (const Reduction& reduction : reductions) {
    const std::string_view word = derivation.substr(0, derivation.find('-'));
    derivation.remove_prefix(std::min(word.size() + 1, derivation.size()));
    auto applies = [&](Rule rule) { return name_of(rule) == word; };
    auto found = std::ranges::find_if(reduction.rules, applies);
    out.push_back(found == reduction.rules.end() ? Rule::kLoops : *found);
  }
  return out;
}

std::optional<TileAxes> tile_axes(const te::Compute& own) {
  const auto loads = topi::loads_of(own);
  TileAxes out;
  out.lanes = own.axes.size();
  while (out.lanes > 0 && extent_of(own.axes[out.lanes - 1]) == 1) --out.lanes;
  if (out.lanes-- == 0) return std::nullopt;
  const te::Var& inner = own.axes[out.lanes].var;
  if (!topi::may_load_lanes(loads, inner)) return std::nullopt;
  auto find = [&](auto&& fits) {
    std::optional<size_t> found;
    for (size_t k = 0; k < own.axes.size(); ++k) {
      const bool is_free = k != out.lanes && k != out.rows && extent_of(own.axes[k]) > 1;
      if (is_free && fits(own.axes[k].var)) found = k;
    }
    return found;
  };
  auto shares = [&](int64_t step) {
    return [&, step](const te::Var& axis) { return topi::is_reused(loads, inner, step, axis); };
  };
  out.rows = find(shares(1));
  if (!out.rows) out.rows = find(shares(0));
  if (!out.rows) out.rows = find([](const te::Var&) { return true; });  // sums that do not wait
  out.blocks = find(shares(0));
  return out;
}

}  // namespace byoc::llvm_plugin::sketch
