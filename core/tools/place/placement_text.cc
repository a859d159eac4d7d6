// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/placement_text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "byoc/base/nearest.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

using namespace placement;

constexpr size_t kShownOps = 60, kShownNodes = 20;

std::string label_of(const Candidates& candidates, const Candidate& one) {
  const Plugin& plugin = *candidates.plugins[one.plugin];
  if (one.match == kNone) return plugin.id();
  return composite_name(plugin, plugin.patterns()[one.pattern]);
}

std::string cost_text(double ns) { return std::isfinite(ns) ? cli::format_time(ns) : "forbidden"; }

std::string name_of(const Function& function, uint32_t node) {
  const Symbol loc = function.nodes[node].loc;
  return loc.empty() ? cat("%", node) : loc.str();
}

// Returns the cheapest candidate that is not of the chosen plugin, kNone when there is none.
uint32_t best_other(const FunctionPlacement& placement, uint32_t node) {
  const Candidates& candidates = placement.candidates;
  const Candidate& chosen = candidates.all[placement.chosen[node]];
  uint32_t best = kNone;
  for (uint32_t index : candidates.of_node[node]) {
    const Candidate& one = candidates.all[index];
    if (one.plugin == chosen.plugin || one.match != kNone) continue;
    if (best == kNone || one.cost.ns < candidates.all[best].cost.ns) best = index;
  }
  return best;
}

std::string one_op(const ExplainedPlacement& explained, const FunctionPlacement& placement,
                   uint32_t node) {
  const Function& function = explained.module.function(placement.function);
  const Candidates& candidates = placement.candidates;
  const Candidate& chosen = candidates.all[placement.chosen[node]];
  std::string out =
      cat(op_label(explained.module, function.nodes[node]), " \"", name_of(function, node),
          "\" in @", placement.function, ": ", label_of(candidates, chosen), ", borders ",
          cost_text(border_ns(placement, node)), "\n");
  const std::vector<Alternative> others = alternatives(placement, node);
  const double least =  // without cuts, as alternatives() has them
      to_ns(cost_of(placement.problem, placement.solution.state));
  cli::Table table({"candidate", ">cost", ">borders", "source", ">whole function", "note"});
  for (const Alternative& other : others) {
    const Candidate& one = candidates.all[other.candidate];
    const double more = other.total_ns - least;
    table.add(
        {cat(other.candidate == placement.chosen[node] ? "* " : "  ", label_of(candidates, one)),
         cost_text(one.cost.ns), std::isfinite(other.total_ns) ? cost_text(other.border_ns) : "-",
         std::string(source_name(one.cost.source)),
         std::isfinite(other.total_ns) ? cat("+", cli::format_time(std::max(more, 0.0))) : "-",
         one.cost.note.empty() ? one.verdict.reason : one.cost.note});
  }
  out += table.text();
  for (const Refusal& refusal : candidates.refusals) {
    if (refusal.node == node)
      out += cat("  ", candidates.plugins[refusal.plugin]->id(), " refuses ", refusal.what, ": ",
                 refusal.reason, "\n");
  }
  return out;
}

std::string summary(const FunctionPlacement& placement) {
  const Solution& solution = placement.solution;
  std::string out = cat("@", placement.function, ": ", placement.node_of_state.size(), " ops, ",
                        placement.candidates.all.size(), " candidates, predicted ",
                        cost_text(to_ns(solution.cost)));
  out += solution.is_optimal() ? ", optimal under these costs"
                               : cat(", ", solution.heuristic_steps, " ops by heuristic, at least ",
                                     cost_text(to_ns(solution.bound)));
  std::map<std::string, size_t> ops;
  for (uint32_t index : placement.chosen) {
    if (index != kNone)
      ++ops[placement.candidates.plugins[placement.candidates.all[index].plugin]->id()];
  }
  for (const auto& [id, count] : ops) out += cat(", ", id, " ", count);
  return out + "\n";
}

std::string table_of(const ExplainedPlacement& explained, const FunctionPlacement& placement) {
  const Function& function = explained.module.function(placement.function);
  const Candidates& candidates = placement.candidates;
  cli::Table table({"op", "name", "run by", ">cost", "source", ">borders", "next best", ">cost"});
  size_t shown = 0, all = 0;
  for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
    if (placement.chosen[node] == kNone) continue;
    const Candidate& one = candidates.all[placement.chosen[node]];
    if (one.root != node || ++all > kShownOps) continue;
    ++shown;
    const uint32_t other = best_other(placement, node);
    table.add({op_label(explained.module, function.nodes[node]), name_of(function, node),
               label_of(candidates, one), cost_text(one.cost.ns),
               std::string(source_name(one.cost.source)), cost_text(border_ns(placement, node)),
               other == kNone ? "" : label_of(candidates, candidates.all[other]),
               other == kNone ? "" : cost_text(candidates.all[other].cost.ns)});
  }
  std::string out = table.text();
  if (all > shown) out += cat("... and ", all - shown, " more; all with --json\n");
  return out;
}

// Lists the copies between the host and devices.
std::string copies_text(const ExplainedPlacement& explained, const FunctionPlacement& placement) {
  const std::vector<CopiedValue> copies = copies_of(placement, placement.solution.state);
  if (copies.empty()) return "";
  const Function& function = explained.module.function(placement.function);
  cli::Table table({"copy", "of", ">size", ">cost"});
  for (size_t k = 0; k < copies.size() && k < kShownOps; ++k) {
    const Link& link = placement.candidates.links[copies[k].device - 1];
    const Node& node = function.nodes[copies[k].value.node];
    const auto* param = std::get_if<Param>(&node.kind);
    table.add({cat(copies[k].goes_in ? "to " : "from ", link.plugin),
               param != nullptr ? param->name.str() : name_of(function, copies[k].value.node),
               cli::format_mib(static_cast<uint64_t>(copies[k].bytes)),
               cat(cost_text(copies[k].ns), link.is_measured ? "" : " (assumed)")});
  }
  std::string out = table.text();
  if (copies.size() > kShownOps) out += cat("... and ", copies.size() - kShownOps, " more\n");
  return out;
}

}  // namespace

Result<std::string> placement_text(const ExplainedPlacement& explained, const std::string& op) {
  std::string out;
  std::vector<std::string> names;
  size_t found = 0;
  for (const std::string& remark : explained.remarks) out += remark + "\n";
  for (const FunctionPlacement& placement : explained.functions) {
    const Function& function = explained.module.function(placement.function);
    if (op.empty()) {
      out +=
          summary(placement) + table_of(explained, placement) + copies_text(explained, placement);
      continue;
    }
    for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
      if (placement.chosen[node] == kNone) continue;
      names.push_back(name_of(function, node));
      if (names.back() == op && ++found <= kShownNodes) out += one_op(explained, placement, node);
    }
  }
  if (!op.empty() && found == 0)
    return not_found(cat("no op is named \"", op, "\"", did_you_mean(op, names)))
        .with_slug("unknown-node");
  return out;
}

Json placement_json(const ExplainedPlacement& explained) {
  Json functions = Json::array();
  auto number = [](double ns) { return std::isfinite(ns) ? Json(ns) : Json(nullptr); };
  for (const FunctionPlacement& placement : explained.functions) {
    const Function& function = explained.module.function(placement.function);
    const Candidates& candidates = placement.candidates;
    Json ops = Json::array();
    for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
      if (placement.chosen[node] == kNone) continue;
      Json list = Json::array();
      for (uint32_t index : candidates.of_node[node]) {
        const Candidate& one = candidates.all[index];
        list.push_back({{"plugin", candidates.plugins[one.plugin]->id()},
                        {"name", label_of(candidates, one)},
                        {"ns", number(one.cost.ns)},
                        {"source", source_name(one.cost.source)},
                        {"note", one.cost.note},
                        {"chosen", index == placement.chosen[node]}});
      }
      ops.push_back({{"op", op_label(explained.module, function.nodes[node])},
                     {"name", name_of(function, node)},
                     {"candidates", list}});
    }
    Json copies = Json::array();
    for (const CopiedValue& copy : copies_of(placement, placement.solution.state)) {
      copies.push_back({{"plugin", candidates.links[copy.device - 1].plugin},
                        {"to_device", copy.goes_in},
                        {"name", name_of(function, copy.value.node)},
                        {"bytes", copy.bytes},
                        {"ns", copy.ns}});
    }
    functions.push_back({{"function", placement.function.str()},
                         {"predicted_ns", number(to_ns(placement.solution.cost))},
                         {"bound_ns", number(to_ns(placement.solution.bound))},
                         {"heuristic_steps", placement.solution.heuristic_steps},
                         {"copies", copies},
                         {"ops", ops}});
  }
  return {{"remarks", explained.remarks}, {"functions", functions}};
}

Result<std::string> plan_difference(const ExplainedPlacement& now, const Plan& before) {
  std::string out;
  size_t differ = 0;
  for (const FunctionPlacement& placement : now.functions) {
    const Function& function = now.module.function(placement.function);
    std::map<uint32_t, std::string> old;
    for (const auto& [name, choices] : before.functions) {
      if (name != placement.function.text()) continue;
      for (const PlanChoice& choice : choices) {
        for (uint32_t node : choice.nodes)
          old[node] = choice.pattern.empty() ? choice.plugin : choice.pattern;
      }
    }
    cli::Table table({"op", "name", "before", "now"});
    for (uint32_t node = 0; node < placement.chosen.size(); ++node) {
      if (placement.chosen[node] == kNone) continue;
      const Candidate& one = placement.candidates.all[placement.chosen[node]];
      const std::string is = one.is_rest ? "" : label_of(placement.candidates, one);
      const std::string was = old.contains(node) ? old[node] : "";
      if (is == was) continue;
      ++differ;
      const std::string rest = "(default codegen)";
      table.add({op_label(now.module, function.nodes[node]), name_of(function, node),
                 was.empty() ? rest : was, is.empty() ? rest : is});
    }
    out += table.text();
  }
  return differ == 0 ? std::string("the plans are equal\n") : out;
}

}  // namespace byoc::driver
