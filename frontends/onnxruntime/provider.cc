// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/provider.h"

#include <algorithm>

#include "byoc/base/file.h"
#include "frontends/onnxruntime/program/context.h"

namespace byoc::ort {
namespace {

/// Writes a line to the session's log. The file and the function may not be null.
void log(const Calls& calls, const OrtLogger* logger, const std::string& text) {
  if (logger == nullptr) return;
  OrtStatus* status =
      calls.Logger_LogMessage(logger, kOrtInfo, text.c_str(), __FILE__, __LINE__, __func__);
  if (status != nullptr) calls.ReleaseStatus(status);
}

}  // namespace

Provider::Provider(const Calls& calls, const OrtLogger* logger, Settings settings)
    : OrtEp{}, calls_(calls), logger_(logger), settings_(std::move(settings)) {
  version = kOrtApiVersion;
  name = [](const OrtEp*) { return kProviderName; };
  get_capability = get_capability_of;
  compile = compile_of;
  release_infos = release_infos_of;
}

OrtStatus* Provider::get_capability_of(OrtEp* self, const OrtGraph* graph,
                                       OrtEpGraphSupportInfo* info) {
  auto& provider = *static_cast<Provider*>(self);
  return answer(provider.calls_, [&] { return provider.find(graph, info); });
}

Status Provider::find(const OrtGraph* ort_graph, OrtEpGraphSupportInfo* info) {
  BYOC_TRY(const Graph graph, read_graph(calls_, ort_graph));
  if (graph.is_nested || graph.nodes.empty()) return {};
  // ONNX Runtime calls again after it has inlined functions, with the groups as nodes.
  const bool is_again = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.domain == kProviderName; });
  // ONNX Runtime 1.23 names the groups of a body and of the graph around it alike, and fails.
  if (graph.hides_bodies && !by_output_.empty() && !is_again) {
    constexpr const char* kReason = "byoc runs nodes of a graph that a Scan of the model has";
    return report(graph, {std::vector<std::string>(graph.nodes.size(), kReason), {}, {}});
  }
  BYOC_TRY(const Capability capability, find_capability(graph, settings_));
  if (!is_again || !capability.groups.empty()) BYOC_TRY_STATUS(report(graph, capability));
  return offer(graph, capability, info);
}

Status Provider::offer(const Graph& graph, const Capability& capability,
                       OrtEpGraphSupportInfo* info) {
  const OrtNodeFusionOptions fusion{kOrtApiVersion, true};
  for (size_t k = 0; k < capability.groups.size(); ++k) {
    std::vector<const OrtNode*> nodes;
    for (uint32_t node : capability.groups[k].nodes) nodes.push_back(graph.nodes[node].handle);
    BYOC_ORT_TRY(calls_, AddNodesToFuse(info, nodes.data(), nodes.size(), &fusion));
    for (const std::string& output : capability.parts[k]->outputs())
      by_output_[output] = capability.parts[k];
  }
  // An input with a default value of its own is a constant of the model with EPContext nodes.
  const OrtNodeFusionOptions with_constants{kOrtApiVersion, false};
  for (const Node& node : graph.nodes) {
    if (!is_own_context(node)) continue;
    BYOC_ORT_TRY(calls_, AddNodesToFuse(info, &node.handle, 1, &with_constants));
    BYOC_TRY(const auto outputs, output_names(calls_, node.handle));
    for (const std::string& output : outputs) by_output_[output] = nullptr;
  }
  return {};
}

Status Provider::report(const Graph& graph, const Capability& capability) const {
  const auto taken = std::count(capability.reasons.begin(), capability.reasons.end(), "") +
                     std::ranges::count_if(graph.nodes, is_own_context);
  log(calls_, logger_,
      cat("byoc runs ", taken, " of ", graph.nodes.size(), " nodes, in ", capability.groups.size(),
          " groups; the option byoc.explain=FILE lists the others"));
  if (settings_.explain_file.empty()) return {};
  return write_file(settings_.explain_file,
                    explain_capability(calls_, graph, settings_, capability));
}

OrtStatus* Provider::compile_of(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused,
                                size_t count, OrtNodeComputeInfo** infos, OrtNode** contexts) {
  auto& provider = *static_cast<Provider*>(self);
  return answer(provider.calls_, [&]() -> Status {
    std::vector<std::unique_ptr<Compiled>> made;
    for (size_t k = 0; k < count; ++k) {
      BYOC_TRY(auto compiled, provider.compile_node(graphs[k], fused[k], &contexts[k]));
      made.push_back(std::move(compiled));
    }
    for (size_t k = 0; k < count; ++k) infos[k] = made[k].release();
    for (auto& [ignored, part] : provider.by_output_) {
      if (part != nullptr) part->close();
    }
    return {};
  });
}

Result<std::shared_ptr<Part>> Provider::part_of(const OrtGraph* graph, const OrtNode* fused) const {
  BYOC_TRY(const std::vector<std::string> outputs, output_names(calls_, fused));
  auto found = by_output_.end();
  for (const std::string& output : outputs) {
    if (found == by_output_.end()) found = by_output_.find(output);
  }
  if (found == by_output_.end()) {
    return failed("ONNX Runtime compiles a group that byoc has not offered").with_slug("ort-graph");
  }
  if (found->second == nullptr) return read_context(calls_, graph, settings_);
  return found->second;
}

// ONNX Runtime owns `context` from here on, also where an error follows.
Result<std::unique_ptr<Provider::Compiled>> Provider::compile_node(const OrtGraph* graph,
                                                                   const OrtNode* fused,
                                                                   OrtNode** context) {
  BYOC_TRY(const std::shared_ptr<Part> part, part_of(graph, fused));
  if (settings_.contexts.is_enabled) {
    BYOC_TRY(*context, write_context(calls_, graph, fused, *part, settings_));
  }
  auto out = std::make_unique<Compiled>();
  BYOC_TRY(out->node, FusedNode::make(calls_, fused, part));
  out->provider = this;
  out->version = kOrtApiVersion;
  out->create_state = Provider::create_state;
  out->compute = Provider::compute;
  out->release_state = Provider::release_state;
  return out;
}

void Provider::release_infos_of(OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
  for (size_t k = 0; k < count; ++k) delete static_cast<Compiled*>(infos[k]);
}

OrtStatus* Provider::create_state(OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) {
  *state = self;  // all of it is in the table
  return nullptr;
}

OrtStatus* Provider::compute(OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
  const auto& compiled = *static_cast<Compiled*>(self);
  const Calls& calls = compiled.provider->calls_;
  return answer(calls, [&] { return with_names_of_graph(compiled.node.run(calls, context)); });
}

}  // namespace byoc::ort
