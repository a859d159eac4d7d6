// SPDX-License-Identifier: Apache-2.0
// The strategies to compute an op, and selectors that choose one of them.
#include <algorithm>
#include <limits>

#include "byoc/translate/translate.h"

namespace byoc::te {
namespace {

Status nothing_to_choose(const Site& site) {
  return failed(cat("nothing to choose from for ", site.op->name)).with_slug("no-strategy");
}

std::string names_of(std::span<const Strategy> strategies) {
  std::string out;
  for (const Strategy& strategy : strategies) out += cat(out.empty() ? "" : ", ", strategy.name);
  return out;
}

}  // namespace

StrategyTable direct_strategies() {
  return [](const Site& site) {
    std::vector<Strategy> out;
    if (site.op->compute) out.push_back({.name = "direct", .compute = site.op->compute});
    return out;
  };
}

StrategySelector by_level() {
  return [](const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    if (strategies.empty()) return nothing_to_choose(site);
    auto best =
        std::max_element(strategies.begin(), strategies.end(),
                         [](const Strategy& a, const Strategy& b) { return a.level < b.level; });
    return static_cast<size_t>(best - strategies.begin());
  };
}

StrategySelector by_cost() {
  return [](const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    if (strategies.empty()) return nothing_to_choose(site);
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    size_t best = 0;
    double best_cost = 0;
    for (size_t k = 0; k < strategies.size(); ++k) {
      double cost = strategies[k].cost_ns ? strategies[k].cost_ns(site) : kUnknown;
      bool wins = k == 0 || cost < best_cost ||
                  (cost == best_cost && strategies[k].level > strategies[best].level);
      if (wins) best = k, best_cost = cost;
    }
    return best;
  };
}

StrategySelector only(std::function<bool(const Site&, const Strategy&)> allows,
                      StrategySelector inner) {
  return [allows = std::move(allows), inner = std::move(inner)](
             const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    std::vector<Strategy> allowed;
    std::vector<size_t> index;
    for (size_t k = 0; k < strategies.size(); ++k) {
      if (!allows(site, strategies[k])) continue;
      allowed.push_back(strategies[k]);
      index.push_back(k);
    }
    if (allowed.empty()) {
      return failed(cat("no compute of ", site.op->name, " is allowed; there are ",
                        names_of(strategies)))
          .with_slug("no-strategy");
    }
    BYOC_TRY(size_t choice, inner(site, allowed));
    if (choice >= index.size()) return nothing_to_choose(site);
    return index[choice];
  };
}

StrategySelector only_generic(StrategySelector inner) {
  auto is_generic = [](const Site&, const Strategy& s) { return s.has_generic_schedule; };
  return [is_generic, chosen = only(is_generic, std::move(inner))](
             const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    if (std::ranges::none_of(strategies, &Strategy::has_generic_schedule))
      return failed(cat("no compute of ", site.op->name, " has a generic schedule"))
          .with_slug("no-strategy");
    return chosen(site, strategies);
  };
}

StrategySelector prefer(std::string name, StrategySelector inner) {
  return [name = std::move(name), inner = std::move(inner)](
             const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    auto at = std::ranges::find(strategies, name, &Strategy::name);
    if (at == strategies.end()) return inner(site, strategies);
    return static_cast<size_t>(at - strategies.begin());
  };
}

StrategySelector from_history(StrategySelector inner) {
  return [inner = std::move(inner)](const Site& site, std::span<const Strategy> strategies) {
    return prefer(site.recorded, inner)(site, strategies);
  };
}

StrategySelector from_history(std::map<std::string, std::string> chosen, StrategySelector inner) {
  return [chosen = std::move(chosen), inner = std::move(inner)](
             const Site& site, std::span<const Strategy> strategies) -> Result<size_t> {
    auto at = chosen.find(site_key(site));
    if (at == chosen.end()) return inner(site, strategies);
    for (size_t k = 0; k < strategies.size(); ++k) {
      if (strategies[k].name == at->second) return k;
    }
    return failed(cat("the history chose \"", at->second, "\" for ", at->first,
                      ", which does not apply; those that apply: ", names_of(strategies)))
        .with_slug("no-strategy");
  };
}

std::string site_key(const Site& site) {
  std::string key = cat(site.op->name, "(");
  for (size_t k = 0; k < site.inputs.size(); ++k)
    key += cat(k ? ", " : "", site.is_constant[k] ? "const " : "", site.inputs[k]);
  return key + cat(")", *site.attrs);
}

}  // namespace byoc::te
