// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags --tuning-log and --require-tuned: loads the logs, and shows which points were used.
#include <nlohmann/json_fwd.hpp>

#include "byoc/tune/history.h"
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// Gathers what compilations with the flags found.
struct TuningUse {
  tune::HistoryReport report;
  std::vector<std::string> notes;  // of logs with lines that were skipped
};

/// Adds --tuning-log and --require-tuned.
void add_tuning_options(cli::Command& command, ModelOptions& options);
/// Loads the logs into `build`, whose report is that of `options`. Errors: those of
/// tune::History::load; slug "usage" for --require-tuned without a log.
Status use_tuning_logs(const ModelOptions& options, BuildOptions& build);
/// Returns the line "tuning: 12 hits (...), ..." and the notes; "" without --tuning-log.
std::string tuning_text(const ModelOptions& options);
/// Adds the member "tuning": the summary, the notes, and the choice for each function. Does nothing
/// without --tuning-log.
void add_tuning_json(const ModelOptions& options, nlohmann::ordered_json& to);

}  // namespace byoc::driver
