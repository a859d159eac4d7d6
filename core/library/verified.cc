// SPDX-License-Identifier: Apache-2.0
#include "core/library/verified.h"

#include "byoc/base/json.h"
#include "byoc/verify.h"
#include "core/library/request.h"
#include "core/tools/model/tuning.h"
#include "core/tools/sizes/open_ranges.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

/// Returns true or false; null when no new process ran it.
Json confirmed(const BadRegion& bad) {
  if (bad.confirmation == Confirmation::kWrong) return true;
  return bad.confirmation == Confirmation::kRight ? Json(false) : Json();
}

Json bad_json(const BadRegion& bad) {
  Json smallest = Json::array();
  for (const PlacedOp& op : bad.smallest)
    smallest.push_back(
        {{"op", op.op.text()}, {"name", op.name.text()}, {"composite", op.composite.text()}});
  return {{"function", bad.function},   {"plugin", bad.plugin},
          {"index", bad.index},         {"output", to_json(bad.output)},
          {"in_piece", bad.in_piece},   {"nodes", bad.from_ops},
          {"runs", bad.runs},           {"smallest", smallest},
          {"confirmed", confirmed(bad)}};
}

/// Writes the smallest piece. A folder that cannot be written does not change the verdict.
void write_piece(const std::string& model, const std::string& folder, VerifiedModel& to) {
  if (folder.empty()) return;
  to.verification.bad->replay.model = model;
  Status status = write_replay(to.verification.bad->replay, folder);
  if (status.ok()) to.folder = folder;
  else to.why_not_written = status.message();
}

/// Loads a model whose open sizes nothing gives with a range for each, as compile does.
Result<IRModule> load_for_ranges(const ModelOptions& options, const VerifyRequest& request,
                                 AssumedSizes& sizes) {
  const bool gives_sizes = !options[option::kShape].empty() || !options[option::kBind].empty() ||
                           !request.inputs.empty() || is_data_set(request.against);
  if (!gives_sizes) {
    Result<RangedModel> ranged = load_ranged(options);
    if (ranged.ok()) return std::move(ranged->module);
  }
  return load_to_verify(options, request, sizes);  // which reports errors, or has numbers for sizes
}

}  // namespace

Result<IRModule> load_to_verify(ModelOptions options, const VerifyRequest& request,
                                AssumedSizes& sizes) {
  BYOC_TRY(std::string path, model_path(options.model));
  if (options[option::kShape].empty() && is_data_set(request.against) && path.ends_with(".onnx")) {
    BYOC_TRY(options[option::kShape], stored_shapes(path, request.against));
  } else if (!is_data_set(request.against)) {
    BYOC_TRY(sizes, set_open_sizes(options, request.inputs));
  }
  return load_model(options);
}

Result<VerifiedModel> verify_file(const ModelOptions& options, VerifyRequest request,
                                  const VerifyHooks& hooks) {
  VerifiedModel out;
  if (request.steps == 0) return cli::usage_error("--steps is at least 1");
  BYOC_TRY(IRModule module, load_for_ranges(options, request, out.sizes));
  if (hooks.sizes_known) hooks.sizes_known(out.sizes);
  BYOC_TRY(request.build, build_options(options));
  request.build.report = &out.report;
  out.plugins = request.build.plugins;
  if (request.against.empty()) {
    BYOC_TRY(request.against, reference_plugin(*out.plugins));
    request.is_default = true;
  }
  out.against = request.against;
  BYOC_TRY(out.verification, hooks.compare ? hooks.compare(std::move(module), request)
                                           : verify_model(std::move(module), request));
  if (out.verification.bad && hooks.folder)
    write_piece(options.model, hooks.folder(*out.verification.bad), out);
  return out;
}

Json json_of(const Verification& verification, const std::string& against) {
  Json json = {{"against", against},
               {"reference", verification.reference},
               {"passed", verification.passed()},
               {"regions", verification.regions},
               {"borders", verification.borders},
               {"equal_inputs", verification.on_equal_inputs},
               {"pieces", verification.pieces},
               {"wrong_regions", verification.wrong_regions}};
  if (!verification.sizes.empty()) {
    json["sizes"] = verification.sizes;
    json["regions_at"] = verification.regions_at;
    json["limited"] = verification.limited;
  }
  if (verification.state_runs > 0)
    json["states"] = {{"runs", verification.state_runs}, {"began_again", verification.began_again}};
  json["outputs"] = Json::array();
  for (const ComparedValue& value : verification.outputs) json["outputs"].push_back(to_json(value));
  json["bad_region"] = verification.bad ? bad_json(*verification.bad) : Json();
  return json;
}

Json json_of(const VerifiedModel& verified, const ModelOptions& options) {
  Json json = json_of(verified.verification, verified.against);
  json["replay_folder"] = verified.folder.empty() ? Json() : Json(verified.folder);
  json["interrupted"] = false;
  if (options.tuning) add_tuning_json(options, json);
  add_assumed_json(verified.sizes, json);
  return json;
}

}  // namespace driver

Result<ModelVerification> verify_model(const ModelRequest& request, const VerifyOptions& options) {
  const driver::ModelOptions model = driver::options_of(request);
  driver::VerifyRequest with;
  with.against = options.against;
  with.inputs = request.inputs;
  with.seed = options.seed;
  with.steps = options.steps;
  with.tolerance = options.tolerance;
  with.program = options.program;
  if (request.progress)
    with.doing = [&request](std::string_view what) { request.progress(what, 0, 0); };
  driver::VerifyHooks hooks;
  hooks.folder = [&options](const driver::BadRegion&) { return options.piece; };
  BYOC_TRY(driver::VerifiedModel verified, driver::verify_file(model, std::move(with), hooks));
  const driver::Verification& found = verified.verification;
  ModelVerification out;
  out.passed = found.passed();
  out.regions = found.regions;
  for (const driver::ComparedValue& value : found.outputs)
    out.outputs.push_back({value.name, value.difference.is_equal, driver::value_text(value)});
  if (found.bad) {
    out.function = found.bad->function;
    out.plugin = found.bad->plugin;
    for (const driver::PlacedOp& op : found.bad->smallest) out.nodes.push_back(op.name.str());
  }
  out.json = cli::json_text("verify", true, driver::json_of(verified, model));
  return out;
}

}  // namespace byoc
