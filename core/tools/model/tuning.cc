// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/tuning.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/tune/shipped.h"

namespace byoc::driver {
namespace {

constexpr std::string_view kNone = "none";  // instead of a file

Status use_given(const ModelOptions& options, BuildOptions& build) {
  TuningUse& use = *options.tuning;
  const std::vector<std::string>& logs = options[option::kTuningLog];
  const bool is_none = std::ranges::count(logs, kNone) > 0;
  if (is_none && logs.size() > 1) return cli::usage_error("--tuning-log none excludes other logs");
  if (is_none) return {};
  BYOC_TRY(build.history, tune::History::load(logs, &use.notes));
  use.is_active = true;
  return {};
}

/// Uses the log for this machine's processor. Code for another target never depends on the machine
/// that compiles it.
void use_shipped(const ModelOptions& options, BuildOptions& build) {
  if (options[option::kTarget] != "native") return;
  const std::optional<std::string> path = tune::shipped_log();
  if (!path) return;
  TuningUse& use = *options.tuning;
  // A point for another shape may be worse than the plugin's own choice.
  auto history = tune::History::load({&*path, 1}, &use.notes, {.has_transfers = false});
  if (!history.ok()) {
    use.notes.push_back(cat(*path, " is not used: ", history.status().message()));
    return;
  }
  build.history = *std::move(history);
  use.shipped = *path;
  use.is_active = true;
}

bool has_hits(const tune::HistoryReport& report) {
  const auto entries = report.entries();
  return std::ranges::any_of(entries, [](const tune::HistoryReport::Entry& entry) {
    return entry.choice.origin != tune::Origin::kMiss;
  });
}

}  // namespace

void add_tuning_options(cli::Command& command, ModelOptions& options) {
  options.tuning = std::make_shared<TuningUse>();
  add_options_of(command, options, {OptionPart::kTuning});
}

Status use_tuning_logs(const ModelOptions& options, BuildOptions& build) {
  if (!options.tuning) return {};
  TuningUse& use = *options.tuning;
  use.notes.clear();
  use.shipped.clear();
  use.is_active = false;
  if (options[option::kTuningLog].empty()) use_shipped(options, build);
  else BYOC_TRY_STATUS(use_given(options, build));
  const bool is_required = options[option::kRequireTuned];
  if (is_required && !use.is_active)
    return cli::usage_error("--require-tuned needs the log: --tuning-log FILE");
  build.require_tuned = is_required;
  if (use.is_active) build.history_report = &use.report;
  return {};
}

std::string tuning_text(const ModelOptions& options) {
  const TuningUse& use = *options.tuning;
  std::string out;
  for (const std::string& note : use.notes) out += cat("tuning: ", note, "\n");
  for (const tune::HistoryReport::Entry& entry : use.report.entries()) {
    if (!entry.note.empty()) out += cat("tuning: @", entry.symbol, ": ", entry.note, "\n");
  }
  if (!use.is_active || (!use.shipped.empty() && !has_hits(use.report))) return out;
  const std::string log = use.shipped.empty() ? "" : cat(use.shipped, ", shipped with byoc: ");
  return cat(out, "tuning: ", log, use.report.summary(), "\n");
}

void add_tuning_json(const ModelOptions& options, Json& to) {
  const TuningUse& use = *options.tuning;
  if (!use.is_active) return;
  Json functions = Json::array();
  for (const tune::HistoryReport::Entry& entry : use.report.entries()) {
    Json point = Json::object();
    for (const auto& [name, value] : entry.choice.point) point[name] = value;
    functions.push_back({{"symbol", entry.symbol},
                         {"plugin", entry.plugin},
                         {"kind", entry.kind},
                         {"origin", name_of(entry.choice.origin)},
                         {"point", point},
                         {"best_ns", entry.choice.best_ns},
                         {"weight_ns", entry.weight},
                         {"log", entry.choice.log},
                         {"note", entry.note}});
  }
  to["tuning"] = {
      {"summary", use.report.summary()}, {"notes", use.notes}, {"functions", functions}};
  if (!use.shipped.empty()) to["tuning"]["shipped_log"] = use.shipped;
}

}  // namespace byoc::driver
