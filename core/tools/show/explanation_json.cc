// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/explanation_json.h"

#include "byoc/base/json.h"

namespace byoc::driver {
namespace {

Json run_json(const RunOp& run) {
  return {{"op", run.op.text()}, {"plugin", run.plugin.text()}, {"function", run.function.text()}};
}

Json op_json(const ExplainedOp& op) {
  Json opinions = Json::array(), runs = Json::array();
  for (const RunOp& run : op.runs) runs.push_back(run_json(run));
  for (const Opinion& o : op.opinions) {
    Json& opinion = opinions.emplace_back(Json{{"plugin", o.plugin.text()},
                                               {"verdict", verdict_text(o.kind)},
                                               {"reason", o.reason.text()}});
    for (const PatternMiss& miss : o.patterns)
      opinion["patterns"].push_back({{"pattern", miss.pattern}, {"test", miss.test}});
  }
  return {{"op", op.placed.op.text()},
          {"name", op.placed.name.text()},
          {"plugin", op.placed.plugin.text()},
          {"function", op.placed.function.text()},
          {"composite", op.placed.composite.text()},
          {"flops", op.placed.flops},
          {"runs", runs},
          {"opinions", opinions},
          {"by_priority", op.by_priority.text()}};
}

Json removed_json(const RemovedOp& op) {
  return {{"op", op.op.text()},     {"name", op.name.text()}, {"how", op.how.text()},
          {"pass", op.pass.text()}, {"into", op.into.text()}, {"reason", op.reason}};
}

Json unjoined_json(const UnjoinedRegions& regions) {
  Json through = Json::array();
  for (const UnjoinedRegions::Between& op : regions.through)
    through.push_back({{"op", op.op.text()}, {"name", op.name.text()}, {"reason", op.reason}});
  return {{"plugin", regions.pair.plugin.text()},
          {"first", regions.pair.first.text()},
          {"second", regions.pair.second.text()},
          {"why", why_text(regions.pair.why)},
          {"reason", regions.reason},
          {"through", through}};
}

}  // namespace

ModelFacts facts_of(const IRModule& module) {
  const Function* entry = module.find(module.entry);
  return {entry && entry->attrs.has("opset") ? entry->attrs.i("opset") : 0, constant_bytes(module)};
}

std::string_view verdict_text(Opinion::Kind kind) {
  switch (kind) {
    case Opinion::kRefused:
      return "refused";
    case Opinion::kCovered:
      return "covered";
    case Opinion::kSlow:
      return "slow";
    case Opinion::kDeclined:
      return "declined in compile";
    case Opinion::kTaken:
      return "taken";
    case Opinion::kAccepted:
      return "accepted, came second";
    case Opinion::kNotReached:
      break;
  }
  return "not reached";
}

Json explanation_json(const Explanation& explanation, const ModelOptions& options,
                      const ModelFacts& facts, const std::string& only_op) {
  Json json = {{"model", options.model},
               {"opset", facts.opset > 0 ? Json(facts.opset) : Json()},
               {"target", options[option::kTarget]},
               {"threads", options[option::kThreads]},
               {"options", given_json(options.values)},
               {"weight_bytes", facts.weight_bytes},
               {"flops", total_flops(explanation.placement)}};
  Json placed = placement_json(explanation.placement);
  for (const auto& [name, value] : placed.items()) json[name] = value;
  json["order"] = explanation.plugins;
  json["choices"] = explanation.choices;
  json["uncompiled"] = explanation.uncompiled;
  for (const char* list : {"unjoined", "ops", "removed", "added"}) json[list] = Json::array();
  for (const UnjoinedRegions& regions : explanation.unjoined)
    json["unjoined"].push_back(unjoined_json(regions));
  auto is_wanted = [&, selected = Symbol(only_op)](Symbol name) {
    return only_op.empty() || name == selected;
  };
  for (const ExplainedOp& op : explanation.ops) {
    if (is_wanted(op.placed.name)) json["ops"].push_back(op_json(op));
  }
  for (const RemovedOp& op : explanation.removed) {
    if (is_wanted(op.name)) json["removed"].push_back(removed_json(op));
  }
  for (const RunOp& run : explanation.added) json["added"].push_back(run_json(run));
  return json;
}

}  // namespace byoc::driver
