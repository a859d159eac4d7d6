// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/json.h"
#include "frontends/onnxruntime/capability.h"

namespace byoc::ort {
namespace {

Json nodes_json(const Graph& graph, const Capability& capability) {
  std::vector<int64_t> group_of(graph.nodes.size(), -1);
  for (size_t k = 0; k < capability.groups.size(); ++k) {
    for (uint32_t node : capability.groups[k].nodes) group_of[node] = static_cast<int64_t>(k);
  }
  Json out = Json::array();
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& node = graph.nodes[k];
    Json row = {{"name", node.name}, {"op_type", node.op_type}, {"domain", node.domain}};
    const bool is_ours = group_of[k] >= 0 || node.domain == kProviderName || is_own_context(node);
    row["runs_on"] = is_ours ? "byoc" : "onnxruntime";
    if (group_of[k] >= 0) row["group"] = group_of[k];
    else row["reason"] = capability.reasons[k];
    out.push_back(std::move(row));
  }
  return out;
}

/// Returns what byoc explains of a group: null where each size gets a program of its own.
Json explanation_of(const Part& part) {
  if (!part.is_one_program()) return nullptr;
  Result<std::string> text = part.explain();
  if (!text.ok()) return text.status().to_string();
  Result<Json> json = parse_json(with_names_of_graph(*text));
  return json.ok() ? *json : Json(json.status().to_string());
}

Json groups_json(const Capability& capability) {
  Json out = Json::array();
  for (size_t k = 0; k < capability.groups.size(); ++k) {
    const Part& part = *capability.parts[k];
    Json sizes = Json::array();
    for (const Model::Size& size : part.model().sizes) sizes.push_back(size.name);
    out.push_back({{"nodes", capability.groups[k].nodes.size()},
                   {"inputs", part.inputs()},
                   {"outputs", part.outputs()},
                   {"sizes", sizes},
                   {"explain", explanation_of(part)}});
  }
  return out;
}

}  // namespace

std::string explain_capability(const Calls& calls, const Graph& graph, const Settings& settings,
                               const Capability& capability) {
  Json options = Json::object();
  for (const auto& [name, value] : settings.compiling) options[name] = value;
  Json out = {{"schema", "byoc.onnxruntime/1"},         {"byoc", byoc_version()},
              {"onnxruntime", calls.runtime_version},   {"options", options},
              {"nodes", nodes_json(graph, capability)}, {"groups", groups_json(capability)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace byoc::ort
