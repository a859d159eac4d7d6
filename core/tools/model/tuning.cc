// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/tuning.h"

#include "byoc/base/json.h"

namespace byoc::driver {

void add_tuning_options(cli::Command& command, ModelOptions& options) {
  options.tuning = std::make_shared<TuningUse>();
  command.options.push_back({"--tuning-log", "FILE",
                             "use the best points that `byoc tune` logged there; may be repeated",
                             &options.tuning_logs});
  command.options.push_back({"--require-tuned", "",
                             "a function without a record in the logs is an error",
                             &options.require_tuned});
}

Status use_tuning_logs(const ModelOptions& options, BuildOptions& build) {
  if (options.tuning_logs.empty()) {
    if (!options.require_tuned) return {};
    return cli::usage_error("--require-tuned needs the log: --tuning-log FILE");
  }
  TuningUse& use = *options.tuning;
  use.notes.clear();
  BYOC_TRY(build.history, tune::History::load(options.tuning_logs, &use.notes));
  build.require_tuned = options.require_tuned;
  build.history_report = &use.report;
  return {};
}

std::string tuning_text(const ModelOptions& options) {
  if (options.tuning_logs.empty()) return "";
  std::string out;
  for (const std::string& note : options.tuning->notes) out += cat("tuning: ", note, "\n");
  for (const tune::HistoryReport::Entry& entry : options.tuning->report.entries()) {
    if (!entry.note.empty()) out += cat("tuning: @", entry.symbol, ": ", entry.note, "\n");
  }
  return cat(out, "tuning: ", options.tuning->report.summary(), "\n");
}

void add_tuning_json(const ModelOptions& options, Json& to) {
  if (options.tuning_logs.empty()) return;
  Json functions = Json::array();
  for (const tune::HistoryReport::Entry& entry : options.tuning->report.entries()) {
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
  to["tuning"] = {{"summary", options.tuning->report.summary()},
                  {"notes", options.tuning->notes},
                  {"functions", functions}};
}

}  // namespace byoc::driver
