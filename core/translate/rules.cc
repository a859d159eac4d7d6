// SPDX-License-Identifier: Apache-2.0
// Rules in text about the computes of calls, such as "conv2d=direct".
#include <algorithm>
#include <optional>

#include "byoc/base/nearest.h"
#include "byoc/translate/policies.h"

namespace byoc::te {
namespace {

constexpr std::string_view kByLevel = "by-level", kByCost = "by-cost", kGeneric = "only-generic",
                           kNotDirect = "not-direct", kDirect = "direct";

struct Rules {
  std::map<std::string, std::string> of_node, of_op;  // -> compute
  std::string everywhere;                             // a compute; "": none
  bool by_cost = false, only_generic = false, not_direct = false;
};

Status bad_rule(std::string message) { return invalid(std::move(message)).with_slug("usage"); }

// Returns true when `op` is the op `name` or a blocked form of it: conv2d_nchwc, matmul_packed.
bool is_form_of(std::string_view op, std::string_view name) {
  if (!op.starts_with(name)) return false;
  op.remove_prefix(name.size());
  return op.empty() || op == "_nchwc" || op == "_packed";
}

// Returns true when `compute` is `name` or one of its kinds: winograd_4x4 is a winograd.
bool is_kind_of(std::string_view compute, std::string_view name) {
  if (!compute.starts_with(name)) return false;
  compute.remove_prefix(name.size());
  return compute.empty() || compute.starts_with("_");
}

// Returns the compute of that name, else the cheapest of its kinds.
Result<std::optional<size_t>> find_compute(const Site& site, std::span<const Strategy> strategies,
                                           const std::string& name) {
  auto at = std::ranges::find(strategies, name, &Strategy::name);
  if (at != strategies.end()) return std::optional(static_cast<size_t>(at - strategies.begin()));
  auto is_kind = [&](const Strategy& s) { return is_kind_of(s.name, name); };
  if (std::ranges::none_of(strategies, is_kind)) return std::optional<size_t>();
  auto allows = [&](const Site&, const Strategy& s) { return is_kind(s); };
  BYOC_TRY(size_t choice, only(allows, by_cost())(site, strategies));
  return std::optional(choice);
}

bool has_compute(const SeenCalls& seen, const std::string& name) {
  return std::ranges::any_of(seen.computes,
                             [&](const std::string& compute) { return is_kind_of(compute, name); });
}

std::string list_of(const std::set<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string out;
  size_t k = 0;
  for (const std::string& name : names) {
    if (k++ == kShown) return cat(out, " and ", names.size() - kShown, " more");
    out += cat(k == 1 ? "" : ", ", name);
  }
  return out;
}

Status add_pair(const std::string& rule, size_t equals, const OpRegistry& ops, Rules& rules) {
  const std::string key = rule.substr(0, equals), compute = rule.substr(equals + 1);
  if (key.empty() || compute.empty())
    return bad_rule(cat("\"", rule, "\" is no rule for computes, expected OP=COMPUTE"));
  auto& place = ops.find(key) == nullptr ? rules.of_node : rules.of_op;
  if (place.emplace(key, compute).second) return {};
  return bad_rule(cat("two computes for \"", key, "\": ", place[key], " and ", compute));
}

Status add_word(const std::string& word, std::string& base, Rules& rules) {
  if (word == kGeneric || word == kNotDirect) {
    (word == kGeneric ? rules.only_generic : rules.not_direct) = true;
    if (!rules.only_generic || !rules.not_direct) return {};
    return bad_rule(cat("the rules ", kGeneric, " and ", kNotDirect, " exclude each other"));
  }
  if (word == kByLevel || word == kByCost) {
    if (!base.empty() && base != word)
      return bad_rule(cat("the rules ", base, " and ", word, " exclude each other"));
    base = word;
    rules.by_cost = word == kByCost;
    return {};
  }
  if (word.empty() || word.starts_with("by-") || word.starts_with("only-") ||
      word.starts_with("not-")) {
    const std::vector<std::string> known = {std::string(kByLevel), std::string(kByCost),
                                            std::string(kGeneric), std::string(kNotDirect)};
    return bad_rule(cat("\"", word, "\" is no rule for computes", did_you_mean(word, known)))
        .with_help(
            "by-level, by-cost, only-generic, not-direct, COMPUTE, OP=COMPUTE or NODE=COMPUTE");
  }
  if (!rules.everywhere.empty() && rules.everywhere != word)
    return bad_rule(cat("two computes for all calls: ", rules.everywhere, " and ", word));
  rules.everywhere = word;
  return {};
}

const std::string* compute_of_op(const Rules& rules, std::string_view op) {
  for (const auto& [name, compute] : rules.of_op) {
    if (is_form_of(op, name)) return &compute;
  }
  return nullptr;
}

Result<size_t> choose(const Rules& rules, const StrategySelector& otherwise, const Site& site,
                      std::span<const Strategy> strategies) {
  const std::string node = site.function->nodes[site.node].loc.str();
  if (auto rule = rules.of_node.find(node); rule != rules.of_node.end()) {
    BYOC_TRY(std::optional<size_t> at, find_compute(site, strategies, rule->second));
    if (at) return *at;
    std::set<std::string> known;
    for (const Strategy& strategy : strategies) known.insert(strategy.name);
    return failed(cat(site.op->name, " \"", node, "\" has no compute \"", rule->second, "\""))
        .with_slug("unknown-compute")
        .with_help(cat("it has ", list_of(known)));
  }
  const std::string* compute = compute_of_op(rules, site.op->name);
  const std::string* names[] = {compute, &rules.everywhere};
  for (const std::string* name : names) {
    if (name == nullptr) continue;
    BYOC_TRY(std::optional<size_t> at, find_compute(site, strategies, *name));
    if (at) return *at;
  }
  return otherwise(site, strategies);
}

Status unknown(std::string_view kind, const std::string& name, const std::set<std::string>& known) {
  return not_found(cat("no call with a choice of computes has the ", kind, " \"", name, "\"",
                       did_you_mean(name, std::vector(known.begin(), known.end()))))
      .with_slug("unknown-compute")
      .with_help(known.empty() ? "no op of this model has a choice of computes"
                               : cat("there are: ", list_of(known)));
}

Status check(const Rules& rules, const SeenCalls& seen) {
  for (const auto& [node, compute] : rules.of_node) {
    if (!seen.nodes.contains(node)) return unknown("op or name", node, seen.nodes);
  }
  for (const auto& [name, compute] : rules.of_op) {
    auto is_one = [&](const std::string& op) { return is_form_of(op, name); };
    if (std::ranges::none_of(seen.ops, is_one)) return unknown("op", name, seen.ops);
    if (!has_compute(seen, compute)) return unknown("compute", compute, seen.computes);
  }
  if (!rules.everywhere.empty() && !has_compute(seen, rules.everywhere))
    return unknown("compute", rules.everywhere, seen.computes);
  return {};
}

// Chooses another compute than the definition where a call has one.
StrategySelector not_direct(StrategySelector inner) {
  auto is_other = [](const Site&, const Strategy& s) { return s.name != kDirect; };
  return [is_other, inner, chosen = only(is_other, inner)](const Site& site,
                                                           std::span<const Strategy> strategies) {
    const bool has_other =
        std::ranges::any_of(strategies, [](const Strategy& s) { return s.name != kDirect; });
    return has_other ? chosen(site, strategies) : inner(site, strategies);
  };
}

}  // namespace

Result<Policies> parse_rules(std::span<const std::string> texts, const OpRegistry& ops) {
  Rules rules;
  std::string base;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos) BYOC_TRY_STATUS(add_word(text, base, rules));
    else BYOC_TRY_STATUS(add_pair(text, equals, ops, rules));
  }
  StrategySelector usual = from_history(rules.by_cost ? by_cost() : by_level());
  if (rules.only_generic) usual = only_generic(std::move(usual));
  if (rules.not_direct) usual = not_direct(std::move(usual));
  Policies out;
  out.selector = [rules, usual](const Site& site, std::span<const Strategy> strategies) {
    return choose(rules, usual, site, strategies);
  };
  out.check = [rules](const SeenCalls& seen) { return check(rules, seen); };
  return out;
}

}  // namespace byoc::te
