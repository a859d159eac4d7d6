// SPDX-License-Identifier: Apache-2.0
#include "core/placement/plan.h"

#include <filesystem>

#include "byoc/base/buffer.h"
#include "byoc/base/file.h"
#include "core/region/annotations.h"

namespace byoc::placement {
namespace {

constexpr const char* kPlanFormat = "byoc-plan-1";

Status outdated(std::string what) {
  return not_found(cat("the plan is outdated: ", what))
      .with_slug("plan-outdated")
      .with_help("byoc place makes a new one");
}

std::string versions_text(const Plan& plan) {
  std::string out;
  for (const auto& [id, version] : plan.plugins)
    out += cat(out.empty() ? "" : ", ", id, " ", version);
  return out;
}

std::string pattern_of(const Candidates& candidates, const Candidate& one) {
  if (one.match == kNone) return "";
  const Plugin& plugin = *candidates.plugins[one.plugin];
  return composite_name(plugin, plugin.patterns()[one.pattern]);
}

uint32_t find_choice(const Candidates& candidates, const PlanChoice& choice) {
  if (choice.nodes.empty() || choice.nodes.back() >= candidates.of_node.size()) return kNone;
  for (uint32_t index : candidates.of_node[choice.nodes.back()]) {
    const Candidate& one = candidates.all[index];
    const auto nodes = candidates.nodes_of(one);
    if (candidates.plugins[one.plugin]->id() == choice.plugin &&
        std::equal(nodes.begin(), nodes.end(), choice.nodes.begin(), choice.nodes.end()) &&
        pattern_of(candidates, one) == choice.pattern)
      return index;
  }
  return kNone;
}

}  // namespace

Plan empty_plan(const IRModule& module, const std::vector<std::string>& plugins, const Costs& costs,
                const PassContext& context) {
  Plan plan;
  const std::string text = graph_text(module);
  plan.graph = content_key(std::as_bytes(std::span(text.data(), text.size()))).hex();
  plan.machine = costs.machine_here;
  for (const Rule& rule : costs.rules.all())
    plan.rules += cat(plan.rules.empty() ? "" : ",", rule.text);
  plan.threads = costs.machine.threads;
  plan.level = context.level;
  plan.code = costs.code;
  for (const auto* ids : {&plugins, &context.defaults}) {
    for (const std::string& id : *ids) {
      if (const Plugin* plugin = context.plugins->find(id))
        plan.plugins.emplace_back(id, version_and_options(*plugin));
    }
  }
  return plan;
}

void add_choices(const IRModule& module, const FunctionPlacement& placement, Plan& plan) {
  std::vector<PlanChoice> choices;
  const Candidates& candidates = placement.candidates;
  for (uint32_t node = 0; node < module.function(placement.function).nodes.size(); ++node) {
    if (placement.chosen[node] == kNone) continue;
    const Candidate& one = candidates.all[placement.chosen[node]];
    if (one.is_rest || one.root != node) continue;
    const auto nodes = candidates.nodes_of(one);
    choices.push_back({candidates.plugins[one.plugin]->id(),
                       pattern_of(candidates, one),
                       {nodes.begin(), nodes.end()}});
  }
  plan.functions.emplace_back(placement.function.str(), std::move(choices));
}

Status check_plan(const Plan& plan, const Plan& now) {
  auto differs = [](std::string_view what, const auto& a, const auto& b) {
    return outdated(cat("made for ", what, " \"", a, "\", now it is \"", b, "\""));
  };
  if (plan.graph != now.graph) return differs("the graph", plan.graph, now.graph);
  if (plan.machine != now.machine) return differs("the machine", plan.machine, now.machine);
  if (plan.threads != now.threads) return differs("threads", plan.threads, now.threads);
  if (plan.level != now.level) return differs("level", plan.level, now.level);
  if (plan.code != now.code) return differs("the options of code", plan.code, now.code);
  if (plan.rules != now.rules) return differs("the rules", plan.rules, now.rules);
  if (plan.plugins != now.plugins)
    return differs("the plugins", versions_text(plan), versions_text(now));
  return {};
}

Result<FunctionPlacement> planned_function(IRModule& module, Symbol name, const Plan& plan,
                                           const std::vector<std::string>& plugins,
                                           const Costs& costs, const PassContext& context) {
  FunctionPlacement out;
  out.function = name;
  BYOC_TRY(out.candidates, find_candidates(module, name, plugins, costs, context));
  const Function& function = module.function(name);
  out.chosen.assign(function.nodes.size(), kNone);
  auto planned = std::find_if(plan.functions.begin(), plan.functions.end(),
                              [&](const auto& item) { return item.first == name.text(); });
  if (planned == plan.functions.end()) return outdated(cat("it has no function @", name));
  for (const PlanChoice& choice : planned->second) {
    const uint32_t index = find_choice(out.candidates, choice);
    if (index == kNone)
      return outdated(cat(choice.plugin, " no longer takes what the plan gives it in @", name));
    for (uint32_t node : choice.nodes) {
      if (out.chosen[node] != kNone) return outdated(cat("two choices for a node of @", name));
      out.chosen[node] = index;
    }
  }
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (out.chosen[node] != kNone) continue;
    for (uint32_t index : out.candidates.of_node[node]) {
      if (out.candidates.all[index].is_rest) out.chosen[node] = index;
    }
    if (out.chosen[node] == kNone && !out.candidates.of_node[node].empty())
      return outdated(cat("it has no plugin for ", node_name(function, node)));
  }
  return out;
}

Json to_json(const Plan& plan) {
  Json plugins = Json::array(), functions = Json::array();
  for (const auto& [id, version] : plan.plugins)
    plugins.push_back({{"id", id}, {"version", version}});
  for (const auto& [name, choices] : plan.functions) {
    Json list = Json::array();
    for (const PlanChoice& choice : choices) {
      Json row = {{"plugin", choice.plugin}, {"nodes", choice.nodes}};
      if (!choice.pattern.empty()) row["pattern"] = choice.pattern;
      list.push_back(std::move(row));
    }
    functions.push_back({{"function", name}, {"choices", std::move(list)}});
  }
  Json out = {
      {"format", kPlanFormat},         {"graph", plan.graph},   {"machine", plan.machine},
      {"threads", plan.threads},       {"level", plan.level},   {"rules", plan.rules},
      {"plugins", std::move(plugins)}, {"origin", plan.origin}, {"measured_ns", plan.measured_ns}};
  if (!plan.code.empty()) out["code"] = plan.code;
  if (plan.order) out["order"] = *plan.order;
  else out["functions"] = std::move(functions);
  return out;
}

Result<Plan> plan_from_json(const Json& json) {
  Plan plan;
  try {
    if (json.at("format") != kPlanFormat)
      return invalid(cat("\"format\" is not ", kPlanFormat)).with_slug("plan");
    plan.graph = json.at("graph"), plan.machine = json.at("machine");
    plan.threads = json.at("threads"), plan.level = json.at("level");
    plan.rules = json.at("rules"), plan.origin = json.at("origin");
    plan.measured_ns = json.at("measured_ns"), plan.code = json.value("code", "");
    for (const Json& row : json.at("plugins"))
      plan.plugins.emplace_back(row.at("id"), row.at("version"));
    if (json.contains("order")) {
      plan.order = json.at("order").get<std::vector<std::string>>();
      return plan;
    }
    for (const Json& function : json.at("functions")) {
      std::vector<PlanChoice> choices;
      for (const Json& row : function.at("choices"))
        choices.push_back({row.at("plugin"), row.value("pattern", ""), row.at("nodes")});
      plan.functions.emplace_back(function.at("function"), std::move(choices));
    }
  } catch (const Json::exception& e) {
    return invalid(cat("a member is missing or of another kind: ", e.what())).with_slug("plan");
  }
  return plan;
}

Status write_plan(const Plan& plan, const std::string& path) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  return write_file(path, to_json(plan).dump(1) + "\n");
}

Result<Plan> read_plan(const std::string& path) {
  BYOC_TRY(std::string text, read_file(path));
  Result<Json> json = parse_json(text);
  Result<Plan> plan = json.ok() ? plan_from_json(*json) : Result<Plan>(std::move(json.status()));
  if (plan.ok()) return plan;
  return std::move(plan.status()).with_help("byoc place writes plans").at(path);
}

std::string plan_path(const std::string& folder, const Plan& plan) {
  constexpr size_t kDigits = 16;
  const std::span code(plan.code.data(), plan.code.size());
  return cat(folder, "/plans/", plan.graph, "-", plan.threads, "-", plan.level,
             code.empty() ? "" : "-" + content_key(std::as_bytes(code)).hex().substr(0, kDigits),
             ".json");
}

}  // namespace byoc::placement
