// SPDX-License-Identifier: Apache-2.0
#include "core/tools/probe/time_step.h"

#include "core/measure/sampler.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/one_step.h"
#include "core/tools/model/compare.h"
#include "runtime/session/profile.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kSeed = 11;
constexpr double kProfile_s = 0.002;  // of runs with spans

/// Returns the time of the kernel's changes of layout, as it reports them. A kernel that does
/// nothing else has none: moving is its work.
Result<double> reorder_ns(measure::TimedSession& timed) {
  BYOC_TRY_STATUS(timed.profile_steps({.min_time_s = kProfile_s},
                                      [](std::string_view, uint64_t, uint64_t) { return true; }));
  double out = 0;
  bool has_work = false;
  for (const SpanRow& row : span_rows(timed.session(), timed.context())) {
    if (row.is_reorder()) out += row.min_ns * row.calls_per_run;
    else has_work = true;
  }
  return has_work ? out : 0;
}

/// Samples a kernel of a device, from the runs of a program that copies to it and back. The host
/// waits for each step, so that a sample has the start of the kernel and its work.
Result<StepTime> time_on_device(measure::TimedSession& timed, double min_time_s,
                                const std::function<void()>& beat) {
  auto watch = [&](std::string_view, uint64_t, uint64_t) {
    beat();
    return true;
  };
  BYOC_TRY_STATUS(timed.profile_steps({.min_time_s = min_time_s}, watch));
  StepTime out;
  const std::vector<Step>& steps = timed.session().program().steps;
  for (size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].module != Step::kDeviceCopy) out.samples_ns = timed.steps[k].ns;
  }
  return out;
}

}  // namespace

Result<std::vector<Tensor>> values_for(const std::vector<NamedTensor>& types) {
  std::vector<Tensor> out;
  for (size_t k = 0; k < types.size(); ++k) {
    BYOC_TRY(Tensor tensor, Tensor::make(types[k].type));
    const DType dtype = types[k].type.dtype;
    const bool is_float = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
                          dtype == DType::kBF16;
    if (is_float) fill_random(tensor, kSeed + k);
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<StepTime> time_step(const Executable& executable, size_t step, const BuildOptions& build,
                           double min_time_s, const std::function<void()>& beat) {
  Executable alone = one_step(executable, step);
  const bool is_on_device = !alone.program.devices.empty();
  const bool is_cold = !is_on_device && is_bound_by_weights(alone, alone.program.steps[0]);
  BYOC_TRY(std::vector<Tensor> inputs, values_for(alone.program.inputs));
  BYOC_TRY(auto session,
           Session::load(std::move(alone), build.plugins, {.threads = build.threads}));
  const bool is_single = session->threads() == 1;
  BYOC_TRY(auto timed, measure::TimedSession::make(std::move(session), inputs));
  if (is_on_device) return time_on_device(*timed, min_time_s, beat);
  measure::Sampler sampler([&] { return timed->run(); },
                           {.counts_thread_time = is_single, .is_cold = is_cold, .beat = beat});
  BYOC_TRY_STATUS(sampler.calibrate());
  StepTime out;
  BYOC_TRY(out.samples_ns,
           sample_until_clear(sampler, std::numeric_limits<double>::infinity(), min_time_s * 1e9));
  BYOC_TRY(out.reorder_ns, reorder_ns(*timed));
  return out;
}

}  // namespace byoc::driver
