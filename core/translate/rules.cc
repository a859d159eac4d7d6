// SPDX-License-Identifier: Apache-2.0
// Rules in text about the computes of calls, such as "conv2d=direct".
#include <algorithm>

#include "byoc/base/nearest.h"
#include "byoc/translate/policies.h"

namespace byoc::te {
namespace {

constexpr std::string_view kByLevel = "by-level", kByCost = "by-cost", kGeneric = "only-generic";

struct Rules {
  std::map<std::string, std::string> of_node, of_op;  // -> compute
  std::string everywhere;                             // a compute; "": none
  bool by_cost = false, only_generic = false;
};

Status bad_rule(std::string message) { return invalid(std::move(message)).with_slug("usage"); }

// Returns true when `op` is the op `name` or a blocked form of it: conv2d_nchwc, matmul_packed.
bool is_form_of(std::string_view op, std::string_view name) {
  if (!op.starts_with(name)) return false;
  op.remove_prefix(name.size());
  return op.empty() || op == "_nchwc" || op == "_packed";
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
  if (word == kGeneric) {
    rules.only_generic = true;
    return {};
  }
  if (word == kByLevel || word == kByCost) {
    if (!base.empty() && base != word)
      return bad_rule(cat("the rules ", base, " and ", word, " exclude each other"));
    base = word;
    rules.by_cost = word == kByCost;
    return {};
  }
  if (word.empty() || word.starts_with("by-") || word.starts_with("only-")) {
    const std::vector<std::string> known = {std::string(kByLevel), std::string(kByCost),
                                            std::string(kGeneric)};
    return bad_rule(cat("\"", word, "\" is no rule for computes", did_you_mean(word, known)))
        .with_help("by-level, by-cost, only-generic, COMPUTE, OP=COMPUTE or NODE=COMPUTE");
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
    auto at = std::ranges::find(strategies, rule->second, &Strategy::name);
    if (at != strategies.end()) return static_cast<size_t>(at - strategies.begin());
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
    auto at = std::ranges::find(strategies, *name, &Strategy::name);
    if (at != strategies.end()) return static_cast<size_t>(at - strategies.begin());
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
    if (!seen.computes.contains(compute)) return unknown("compute", compute, seen.computes);
  }
  if (!rules.everywhere.empty() && !seen.computes.contains(rules.everywhere))
    return unknown("compute", rules.everywhere, seen.computes);
  return {};
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
  Policies out;
  out.selector = [rules, usual](const Site& site, std::span<const Strategy> strategies) {
    return choose(rules, usual, site, strategies);
  };
  out.check = [rules](const SeenCalls& seen) { return check(rules, seen); };
  return out;
}

}  // namespace byoc::te
