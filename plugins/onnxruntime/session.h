// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sessions of ONNX Runtime, made of models and run on the tensors of the caller.
#include <memory>
#include <span>

#include "byoc/plugin/sdk/plugin.h"
#include "library.h"
#include "model.h"

namespace byoc::ort_plugin {

struct SessionOptions {
  uint32_t threads = 1;    // of a run
  bool is_trial = false;   // made to find out whether it can be; runs are slow
  bool is_strict = false;  // operators are computed as they are written, none joined
};

/// Runs a model. Re-entrant; a run allocates handles of tensors, and what ONNX Runtime needs
/// between operators.
class SessionKernel : public sdk::Kernel {
 public:
  /// weights: the bytes of model.weights, which live as long as the kernel. Throws sdk::Error with
  /// ONNX Runtime's reason when it refuses the model.
  SessionKernel(std::shared_ptr<const Library> library, const Model& model,
                std::vector<sdk::Held> weights, const SessionOptions& options);
  SessionKernel(const SessionKernel&) = delete;
  SessionKernel& operator=(const SessionKernel&) = delete;
  ~SessionKernel() override;

  sdk::KernelInfo info() const override;
  void run(const sdk::Call& call) const override;

 private:
  std::shared_ptr<const Library> library_;
  std::vector<Value> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<sdk::Held> weights_;
  ort::OrtSession* session_ = nullptr;
};

}  // namespace byoc::ort_plugin
