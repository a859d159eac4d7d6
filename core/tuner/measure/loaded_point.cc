// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/loaded_point.h"

#include <cstring>

#include "core/tools/model/compare.h"
#include "core/tools/replay/case_sizes.h"

namespace byoc::tune {
namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return a.size_bytes() == 0 || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

Result<std::unique_ptr<LoadedPoint>> LoadedPoint::load(
    const std::string& artifact, const driver::ReplayCase& replay,
    const std::shared_ptr<const PluginSet>& plugins) {
  std::unique_ptr<LoadedPoint> out(new LoadedPoint(replay));
  BYOC_TRY(Executable executable, load_artifact(artifact));
  BYOC_TRY(out->session_,
           Session::load(std::move(executable), plugins, {.threads = replay.threads}));
  BYOC_TRY(out->context_, out->session_->make_context());
  BYOC_TRY(out->inputs_, driver::inputs_for(replay, out->session_->program()));
  for (const Tensor& tensor : out->inputs_) out->in_.push_back(tensor.view());
  for (const driver::ReplayTensor& output : replay.outputs) {
    BYOC_TRY(Tensor made, Tensor::make(output.tensor.spec()));
    out->outputs_.push_back(std::move(made));
  }
  for (const Tensor& tensor : out->outputs_) out->out_.push_back(tensor.view());
  return out;
}

Status LoadedPoint::check() {
  for (Tensor& output : outputs_) {
    const int canary = is_float(output.spec().dtype) ? 0xFF : 0xA5;
    if (output.size_bytes() != 0) std::memset(output.data(), canary, output.size_bytes());
  }
  BYOC_TRY_STATUS(run());
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const driver::ReplayTensor& right = replay_.outputs[k];
    auto compared =
        driver::compare_value(right.name, outputs_[k], right.tensor, driver::limit_of(replay_, k));
    if (!compared.difference.is_equal)
      return data_loss(cat("wrong: ", right.name, " ", driver::value_text(compared)));
  }
  for (size_t k = 0; k < replay_.inputs.size(); ++k) {
    if (!is_same(inputs_[k], replay_.inputs[k].tensor))
      return data_loss(cat("wrong: a run changes its input ", replay_.inputs[k].name));
  }
  return {};
}

Result<measure::Sampler> LoadedPoint::sampler(measure::SamplerOptions options) {
  options.counts_thread_time = session_->threads() == 1;
  measure::Sampler out([this] { return run(); }, options);
  BYOC_TRY_STATUS(out.calibrate());
  return out;
}

}  // namespace byoc::tune
