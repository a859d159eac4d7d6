// SPDX-License-Identifier: Apache-2.0
#include "core/library/profiled.h"

#include "byoc/base/json.h"
#include "byoc/profile.h"
#include "core/library/request.h"
#include "core/measure/turns.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"
#include "runtime/cli/ran.h"
#include "runtime/limits/limits.h"

namespace byoc {

namespace driver {

Result<ReadyModel> ready_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                              bool allows_native, const ReadyHooks& hooks) {
  ReadyModel out;
  BYOC_TRY(const WorkLimits limits, limits_of(options));
  const LimitScope limited(limits);
  const SpillScope spill = spill_for_runs();
  BYOC_TRY(out.path, model_path(options.model));
  ModelOptions model = options;
  BYOC_TRY(out.sizes, set_open_sizes(model, inputs));
  if (hooks.sizes_known) hooks.sizes_known(out.sizes);
  BYOC_TRY(Runnable runnable, make_runnable(model, out.path, inputs, hooks.runnable));
  out.size = std::move(runnable.size);
  out.inputs = std::move(runnable.inputs.bindings);
  const AssumedSizes& assumed = runnable.inputs.assumed;
  if (hooks.sizes_known && !assumed.empty()) hooks.sizes_known(assumed);
  out.sizes.insert(out.sizes.end(), assumed.begin(), assumed.end());
  out.plugins = std::move(runnable.plugins);
  SessionOptions session_options{
      .threads = options[option::kThreads],
      .allow_native = allows_native,
      .cancel = options.cancel != nullptr ? options.cancel : installed_cancellation()};
  BYOC_TRY(out.session,
           Session::load(std::move(runnable.executable), out.plugins, session_options));
  BYOC_TRY_STATUS(out.session->check_externs());
  return out;
}

Json json_of(const ReadyModel& ready, const ModelOptions& options) {
  Json json = Json::object();
  add_tuning_json(options, json);
  add_assumed_json(ready.sizes, json);
  cli::add_size_json(ready.size, json);
  return json;
}

}  // namespace driver

namespace {

ModelProfile profile_of(const cli::Ran& ran) {
  ModelProfile out;
  for (size_t k = 0; k < ran.profile.size(); ++k) {
    const ProfileRow& row = ran.profile[k];
    out.steps.push_back(
        {row.symbol, row.runner, ran.steady.steps_ns[k], ran.first_ns[k], row.flops, row.locs});
  }
  out.time_ns = ran.steady.total_ns;
  out.first_ns = ran.time_ns;
  out.outside_ns = ran.steady.outside_ns;
  return out;
}

}  // namespace

Result<ModelProfile> profile_model(const ModelRequest& request, const ProfileOptions& options) {
  const driver::ModelOptions model = driver::options_of(request);
  std::vector<std::string> warnings;
  driver::ReadyHooks hooks;
  hooks.runnable.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto watch = driver::watch_of(request);
  watch("compiling", 0, 0);
  BYOC_TRY(const driver::ReadyModel ready,
           driver::ready_file(model, request.inputs, !options.no_native, hooks));
  for (const std::string& warning : ready.session->warnings()) warnings.push_back(warning);
  if (!watch("running", 0, 0)) return measure::interrupted();
  cli::RunFlags flags;
  flags.inputs = ready.inputs;
  flags.trace = options.trace;
  flags.profile = true;
  flags.seed = options.seed;
  BYOC_TRY(const cli::Ran ran,
           cli::run_once(*ready.session, ready.path, flags, driver::tensor_readers()));
  ModelProfile out = profile_of(ran);
  Json json = cli::run_json(*ready.session, ready.path, ran);
  json.update(driver::json_of(ready, model));
  out.json = cli::json_text("run", true, json);
  out.warnings = std::move(warnings);
  return out;
}

}  // namespace byoc
