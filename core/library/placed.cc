// SPDX-License-Identifier: Apache-2.0
#include "core/library/placed.h"

#include "byoc/base/json.h"
#include "byoc/text/text.h"
#include "core/library/request.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

constexpr uint32_t kProgramTimes = 5;  // the time limit for whole programs
constexpr uint32_t kMostSeconds = 86400;

Json choices_json(const PlaceOutcome& outcome) {
  Json out = Json::array();
  for (size_t k = 0; k < outcome.results.size(); ++k) {
    out.push_back({{"name", outcome.entrants[k].name},
                   {"kind", kind_name(outcome.entrants[k].kind)},
                   {"compilers", outcome.entrants[k].compilers},
                   {"ns", outcome.results[k].ns},
                   {"error", outcome.results[k].error},
                   {"best", k == outcome.best}});
  }
  return out;
}

Json certificate_json(const Certificate& certificate) {
  return {{"ops", certificate.ops},
          {"heuristic_steps", certificate.heuristic_steps},
          {"predicted_ns", certificate.predicted_ns},
          {"bound_ns", certificate.bound_ns},
          {"gap", certificate.gap()}};
}

Json free_borders_json(const placement::FreeBorders& borders) {
  return {{"ns", borders.free_ns},
          {"alone", borders.alone},
          {"alone_ns", borders.alone_ns},
          {"most_gain", borders.most_gain()}};
}

Result<PlaceRequest> request_of(const ModelOptions& model, const std::vector<std::string>& inputs,
                                const PlaceOptions& with) {
  PlaceRequest out;
  BYOC_TRY(out.build, build_options(model));
  out.contest.inputs = inputs;
  out.measures = with.measures;
  out.rounds = with.rounds;
  out.improve_s = with.improve_s;
  out.contest.min_time_s = with.min_time_s;
  out.probes.check = with.checks;
  if (with.timeout_s == 0 || with.timeout_s > kMostSeconds)
    return cli::usage_error(cat("--timeout is 1 to ", kMostSeconds, ", got ", with.timeout_s));
  out.probes.timeout_s = with.timeout_s;
  out.contest.timeout_s = kProgramTimes * with.timeout_s;
  return out;
}

}  // namespace

Result<PlacedModel> place_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                               const PlaceOptions& with, const OnProgress& progress) {
  PlacedModel out;
  ModelOptions model = options;
  model.places = true;
  BYOC_TRY(out.sizes, set_open_sizes(model, inputs));
  BYOC_TRY(IRModule module, load_model(model));
  BYOC_TRY(PlaceRequest request, request_of(model, inputs, with));
  request.progress = progress;
  BYOC_TRY_STATUS(prepare_place(module, request));
  BYOC_TRY(out.outcome, place_model(std::move(module), request));
  out.plan = placement::plan_path(request.folder, out.outcome.plan);
  if (!with.plan_file.empty())
    BYOC_TRY_STATUS(placement::write_plan(out.outcome.plan, with.plan_file));
  if (!with.module_file.empty())
    BYOC_TRY_STATUS(write_module(out.outcome.annotated, with.module_file));
  return out;
}

Json json_of(const PlacedModel& placed) {
  const PlaceOutcome& outcome = placed.outcome;
  Json agreement = Json::array();
  for (const auto& [id, row] : outcome.agreement) {
    agreement.push_back(
        {{"plugin", id}, {"candidates", row.candidates}, {"rank_correlation", row.rank}});
  }
  Json json = {{"plan", placed.plan},
               {"origin", outcome.plan.origin},
               {"measured_ns", outcome.plan.measured_ns},
               {"seconds", outcome.seconds},
               {"candidates", outcome.candidates},
               {"measured", outcome.measured},
               {"observations", measure::json_of(outcome.observations)},
               {"failed", outcome.failed},
               {"rounds", outcome.rounds},
               {"moves_tried", outcome.moves_tried},
               {"moves_kept", outcome.moves_kept},
               {"solver", certificate_json(outcome.certificate)},
               {"free_borders", free_borders_json(outcome.free_borders)},
               {"agreement", agreement},
               {"choices", choices_json(outcome)}};
  add_assumed_json(placed.sizes, json);
  return json;
}

}  // namespace driver

Result<ModelPlacement> place_model(const ModelRequest& request, const PlaceOptions& options) {
  BYOC_TRY(
      driver::PlacedModel placed,
      driver::place_file(driver::options_of(request), request.inputs, options, request.progress));
  const driver::PlaceOutcome& outcome = placed.outcome;
  ModelPlacement out;
  out.plan = placed.plan;
  out.origin = outcome.plan.origin;
  for (size_t k = 0; k < outcome.results.size(); ++k) {
    out.programs.push_back({outcome.entrants[k].name, outcome.results[k].ns,
                            outcome.results[k].error, k == outcome.best});
  }
  out.candidates = outcome.candidates;
  out.measured = outcome.measured;
  out.remarks = outcome.remarks;
  out.json = cli::json_text("place", true, driver::json_of(placed));
  return out;
}

}  // namespace byoc
