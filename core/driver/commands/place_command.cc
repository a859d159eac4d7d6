// SPDX-License-Identifier: Apache-2.0
// byoc place: measures who runs each op fastest, and writes the choice as a plan.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/placed.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct PlaceFlags {
  ModelOptions model;
  std::vector<std::string> inputs;
  PlaceOptions with;
  bool estimates = false, no_check = false;
};

std::string table_text(const PlaceOutcome& outcome) {
  if (outcome.results.empty()) return "";
  cli::Table table({"choice", ">time of a run", ">of the plan's", ""});
  const double plan_ns = outcome.results[outcome.best].ns;
  for (size_t k = 0; k < outcome.results.size(); ++k) {
    const EntrantResult& result = outcome.results[k];
    const bool runs = result.error.empty();
    table.add({cat(k == outcome.best ? "* " : "  ", outcome.entrants[k].name),
               runs ? cli::format_time(result.ns) : "-",
               runs ? cli::format_fixed(result.ns / plan_ns, 3) : "", result.error});
  }
  return table.text();
}

/// Returns the fastest plugin alone and the order of priority, each with its ratio to the plan.
std::string rivals_text(const PlaceOutcome& outcome) {
  std::string out;
  const std::pair<Entrant::Kind, std::string_view> kinds[] = {
      {Entrant::kSingle, "fastest plugin alone"}, {Entrant::kOrder, "order of priority"}};
  for (const auto& [kind, label] : kinds) {
    const size_t k = best_of(outcome, kind);
    if (k == SIZE_MAX) continue;
    const double ratio = outcome.results[k].ns / outcome.results[outcome.best].ns;
    out += cat(label, ": ", outcome.entrants[k].name, ", ", cli::format_fixed(ratio, 3),
               " times the plan's time\n");
  }
  return out;
}

std::string certificate_text(const Certificate& certificate) {
  std::string out = cat("solver: ", certificate.ops, " ops, ", certificate.heuristic_steps,
                        " by heuristic, predicted ", cli::format_time(certificate.predicted_ns));
  if (certificate.gap() == 0) return out + ", optimal under these costs\n";
  return out + cat(", at least ", cli::format_time(certificate.bound_ns), ": a gap of ",
                   cli::format_fixed(100 * certificate.gap(), 1), " %\n");
}

std::string free_borders_text(const placement::FreeBorders& borders) {
  if (borders.most_gain() == 0) return "";
  return cat("with free borders at most ", cli::format_fixed(borders.most_gain(), 3),
             " times as fast as ", borders.alone, " alone: ", cli::format_time(borders.free_ns),
             " instead of ", cli::format_time(borders.alone_ns), " under these costs\n");
}

std::string summary(const PlaceOutcome& outcome) {
  std::string out = table_text(outcome) + rivals_text(outcome);
  out += certificate_text(outcome.certificate) + free_borders_text(outcome.free_borders);
  out += cat(outcome.candidates, " distinct candidates, ", outcome.measured, " measured now");
  if (outcome.failed > 0) out += cat(", ", outcome.failed, " failed");
  out += cat(", ", outcome.rounds, " rounds, ", outcome.moves_kept, " of ", outcome.moves_tried,
             " moves kept, ", cli::format_fixed(outcome.seconds, 1), " s\n");
  out += measure::text_of(outcome.observations);
  for (const auto& [id, agreement] : outcome.agreement)
    out += cat("estimates of ", id, ": rank correlation ", cli::format_fixed(agreement.rank, 2),
               " with the times of ", agreement.candidates, " candidates\n");
  return out;
}

Result<int> run_place(const PlaceFlags& options, const cli::CommonOptions& common) {
  Progress progress(common);
  auto show = [&](std::string_view what, uint64_t done, uint64_t total) {
    progress.show(what, done, total);
  };
  Result<PlacedModel> placed = place_file(options.model, options.inputs, options.with, show);
  progress.clear();
  BYOC_TRY_STATUS(placed.status());
  const PlaceOutcome& outcome = placed->outcome;
  for (const std::string& remark : outcome.remarks) cli::print_warning(remark, common);
  std::string text = assumed_text(placed->sizes) + summary(outcome);
  text += cat("the plan is \"", outcome.plan.origin, "\"; --compiler auto uses it: ", placed->plan,
              "\n");
  for (const std::string* file : {&options.with.plan_file, &options.with.module_file})
    text += file->empty() ? "" : cat("wrote ", *file, "\n");
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "place", json_of(*placed)));
  return cli::kDone;
}

}  // namespace

cli::Command place_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<PlaceFlags>();
  cli::Command command;
  command.name = "place";
  command.about = "measure which plugin runs each op fastest, and keep the choice as a plan";
  command.examples = {
      {"byoc place net.onnx", "afterwards: byoc compile net.onnx --compiler auto -o net.byoc"},
      {"byoc place net.onnx --compiler onednn,llvm --plan-file net.plan.json",
       "among these plugins, and a copy of the plan"},
      {"byoc place net.onnx --place '#Conv_3=onednn' --place 'relu!=example'", "with rules"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  command.options.push_back(
      {"--input", "NAME=FILE",
       "a value that whole programs are timed on, repeatable; others are random",
       &options->inputs});
  command.options.push_back(
      {"-o,--output", "FILE", "the annotated module, net.ir", &options->with.module_file});
  command.options.push_back(
      {"--plan-file", "FILE", "also write the plan there", &options->with.plan_file});
  command.options.push_back(
      {"--rounds", "N", "times of solving and correcting (default 5)", &options->with.rounds});
  command.options.push_back({"--improve", "S",
                             "seconds of moving ops from the fastest plan (default 30)",
                             &options->with.improve_s});
  command.options.push_back({"--min-time", "S",
                             "seconds of measured runs of each whole program (default 1)",
                             &options->with.min_time_s});
  command.options.push_back(
      {"--timeout", "SECONDS",
       "of measuring ops without progress; longer fails, for whole programs five times that "
       "(default 60)",
       &options->with.timeout_s});
  command.options.push_back(
      {"--estimates", "", "measure nothing: the plan follows from estimates", &options->estimates});
  command.options.push_back({"--no-check", "",
                             "do not compare candidates with the reference plugin",
                             &options->no_check});
  command.notes =
      "Distinct candidates are measured once per machine, plugin version and number of threads; "
      "the\n"
      "costs are kept and shared by all models. At the end whole programs take turns: the "
      "solver's\n"
      "choices, each plugin alone, and the order of priority. The fastest becomes the plan.";
  command.run = [options, &common] {
    options->with.measures = !options->estimates;
    options->with.checks = !options->no_check;
    return run_place(*options, common);
  };
  return command;
}

}  // namespace byoc::driver
