// SPDX-License-Identifier: Apache-2.0
#pragma once
// byoc in a session of ONNX Runtime.
#include <map>

#include "frontends/onnxruntime/capability.h"
#include "frontends/onnxruntime/program/run.h"

namespace byoc::ort {

/// The provider's table and what its functions work on. ONNX Runtime calls them one at a time,
/// except for runs of compiled nodes.
class Provider : public OrtEp {
 public:
  Provider(const Calls& calls, const OrtLogger* logger, Settings settings);

 private:
  /// A node of ONNX Runtime that runs a group.
  struct Compiled : OrtNodeComputeInfo {
    const Provider* provider = nullptr;
    FusedNode node;
  };

  static OrtStatus* get_capability_of(OrtEp* self, const OrtGraph* graph,
                                      OrtEpGraphSupportInfo* info);
  static OrtStatus* compile_of(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused,
                               size_t count, OrtNodeComputeInfo** infos, OrtNode** contexts);
  static void release_infos_of(OrtEp* self, OrtNodeComputeInfo** infos, size_t count);
  static OrtStatus* create_state(OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state);
  static OrtStatus* compute(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context);
  static void release_state(OrtNodeComputeInfo*, void*) {}

  Status find(const OrtGraph* graph, OrtEpGraphSupportInfo* info);
  Status offer(const Graph& graph, const Capability& capability, OrtEpGraphSupportInfo* info);
  Status report(const Graph& graph, const Capability& capability) const;
  Result<std::unique_ptr<Compiled>> compile_node(const OrtGraph* graph, const OrtNode* fused,
                                                 OrtNode** context);
  Result<std::shared_ptr<Part>> part_of(const OrtGraph* graph, const OrtNode* fused) const;

  const Calls& calls_;
  const OrtLogger* logger_;
  Settings settings_;
  std::map<std::string, std::shared_ptr<Part>> by_output_;  // names of values of the graph;
                                                            // null: of an EPContext node
};

/// Runs the body of a function that ONNX Runtime calls. No exception leaves it.
template <class Body>
OrtStatus* answer(const Calls& calls, Body&& body) noexcept {
  try {
    return status_of(calls, body());
  } catch (const std::exception& e) {
    return calls.CreateStatus(kOrtEpFail, e.what());
  } catch (...) {
    return calls.CreateStatus(kOrtEpFail, "byoc's execution provider: an unknown exception");
  }
}

}  // namespace byoc::ort
