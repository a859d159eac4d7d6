// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point that is ready to be run on the inputs of its task.
#include "byoc/runtime/session.h"
#include "core/measure/sampler.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::tune {

class LoadedPoint {
 public:
  /// Loads the artifact and allocates its tensors. Errors: those of loading.
  static Result<std::unique_ptr<LoadedPoint>> load(const std::string& artifact,
                                                   const driver::ReplayCase& replay,
                                                   const std::shared_ptr<const PluginSet>& plugins);
  /// Runs on outputs filled with NaN, or integers that are not 0, and compares. Errors: those of
  /// running; kDataLoss "wrong: ..." for outputs that differ and for inputs that were changed.
  Status check();
  /// Returns a sampler that is calibrated; this object must outlive it.
  Result<measure::Sampler> sampler(measure::SamplerOptions options);

 private:
  explicit LoadedPoint(const driver::ReplayCase& replay) : replay_(replay) {}
  Status run() { return session_->run(*context_, in_, out_); }
  const driver::ReplayCase& replay_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<DLTensor> in_, out_;
};

}  // namespace byoc::tune
