// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of a part on the tensors of ONNX Runtime.
#include "frontends/onnxruntime/program/part.h"

namespace byoc::ort {

/// A part in the place of a node of ONNX Runtime. Immutable; any number of threads may run it.
class FusedNode {
 public:
  /// Relates the inputs and outputs of the node, by name, to those of the part. Errors: slug
  /// "ort-graph" for a name that the part needs or does not have.
  static Result<FusedNode> make(const Calls& calls, const OrtNode* node,
                                std::shared_ptr<Part> part);

  /// Reads the inputs in place and writes the outputs into the memory of ONNX Runtime. Outputs
  /// whose dims are counted by the run are copied. Errors: those of byoc_run.
  Status run(const Calls& calls, OrtKernelContext* context) const;

 private:
  std::shared_ptr<Part> part_;
  std::vector<size_t> input_places_;    // of the node, per input of the part
  std::vector<int64_t> output_places_;  // likewise; -1: the node does not return it
};

}  // namespace byoc::ort
