// SPDX-License-Identifier: Apache-2.0
#include "core/placement/rules.h"

#include <algorithm>
#include <set>

#include "byoc/base/nearest.h"
#include "byoc/op/placement_attr.h"
#include "core/region/judge.h"

namespace byoc::placement {
namespace {

Status rule_error(std::string_view rule, std::string_view why) {
  return invalid(cat("rule \"", rule, "\": ", why))
      .with_slug("placement-rule")
      .with_help("relu=llvm, #Conv_3=onednn, @main!=json, *!=example");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Result<Rule> parse_rule(std::string_view text) {
  Rule rule;
  rule.text = text;
  const size_t equals = text.rfind('=');
  if (equals == text.npos) return rule_error(text, "expected WHAT=PLUGIN or WHAT!=PLUGIN");
  rule.is_ban = equals > 0 && text[equals - 1] == '!';
  rule.plugin = trimmed(text.substr(equals + 1));
  std::string_view what = trimmed(text.substr(0, equals - (rule.is_ban ? 1 : 0)));
  if (rule.plugin.empty()) return rule_error(text, "no plugin after the sign");
  if (what.empty()) return rule_error(text, "no op before the sign");
  if (what == "*") return rule;
  rule.what = what.front() == '#' ? Rule::kNode : what.front() == '@' ? Rule::kFunction : Rule::kOp;
  if (rule.what != Rule::kOp) what.remove_prefix(1);
  if (what.size() >= 2 && what.front() == '"' && what.back() == '"')
    what = what.substr(1, what.size() - 2);
  if (what.empty()) return rule_error(text, "no name after the sign # or @");
  rule.name = what;
  return rule;
}

bool fits(const Rule& rule, std::string_view op, std::string_view node, std::string_view function) {
  switch (rule.what) {
    case Rule::kAll:
      return true;
    case Rule::kFunction:
      return rule.name == function;
    case Rule::kOp:
      return rule.name == op;
    case Rule::kNode:
      return rule.name == node;
    case Rule::kAttribute:
      return true;
  }
  return false;
}

}  // namespace

Result<Rules> Rules::parse(std::string_view text) {
  Rules out;
  bool quoted = false;
  size_t begin = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size() && text[k] == '"') quoted = !quoted;
    const bool ends = k == text.size() || text[k] == '\n' || (text[k] == ',' && !quoted);
    if (!ends) continue;
    const std::string_view one = trimmed(text.substr(begin, k - begin));
    begin = k + 1;
    quoted = false;
    if (one.empty()) continue;
    BYOC_TRY(Rule rule, parse_rule(one));
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

Result<Rules> Rules::parse_attribute(std::string_view text) {
  Rules out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string_view one = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    Rule rule;
    rule.what = Rule::kAttribute;
    rule.text = cat(kPlacementAttribute, "=\"", text, "\"");
    rule.is_ban = one.starts_with('!');
    rule.plugin = trimmed(one.substr(rule.is_ban ? 1 : 0));
    if (rule.plugin.empty())
      return invalid(cat("the attribute ", rule.text, " names no plugin"))
          .with_slug("placement-rule")
          .with_help("llvm pins the op, !llvm,!json bans two plugins");
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

std::vector<std::string> unused_rules(const IRModule& module, const Rules& rules) {
  if (rules.empty()) return {};
  std::set<std::string> ops, nodes, functions;
  for (const auto& [name, function] : module.functions) {
    functions.insert(name.str());
    for (const Node& node : function.nodes) {
      if (!std::holds_alternative<Call>(node.kind) && !std::holds_alternative<Invoke>(node.kind))
        continue;
      ops.insert(op_label(module, node));
      nodes.insert(node.loc.str());
    }
  }
  std::vector<std::string> out;
  for (const Rule& rule : rules.all()) {
    if (rule.what == Rule::kAll || rule.what == Rule::kAttribute) continue;
    const bool is_op = rule.what == Rule::kOp, is_node = rule.what == Rule::kNode;
    const std::set<std::string>& known = is_op ? ops : is_node ? nodes : functions;
    if (known.contains(rule.name)) continue;
    out.push_back(cat("the rule ", rule.text, " has no effect: the model has no ",
                      is_op     ? "op"
                      : is_node ? "node"
                                : "function",
                      " \"", rule.name, "\"",
                      did_you_mean(rule.name, std::vector(known.begin(), known.end())),
                      "; byoc explain MODEL --json lists the names"));
  }
  return out;
}

const std::string& Rules::forbids(std::string_view plugin, std::string_view op,
                                  std::string_view node, std::string_view function) const {
  static const std::string allowed;
  const Rule* pin = nullptr;
  for (const Rule& rule : rules_) {
    if (!fits(rule, op, node, function)) continue;
    if (rule.is_ban && rule.plugin == plugin) return rule.text;
    if (!rule.is_ban && (pin == nullptr || rule.what >= pin->what)) pin = &rule;
  }
  return pin != nullptr && pin->plugin != plugin ? pin->text : allowed;
}

}  // namespace byoc::placement
