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
  std::string shipped;             // the log of byoc that is used; "": none, or --tuning-log
  bool is_active = false;          // logs are used
};

/// Adds --tuning-log and --require-tuned.
void add_tuning_options(cli::Command& command, ModelOptions& options);
/// Loads the logs into `build`, whose report is that of `options`. Without --tuning-log it is the
/// one that comes with byoc for this processor (byoc/tune/shipped.h), when there is one and the
/// target is this machine. Does nothing for commands without the flags. Errors: those of
/// tune::History::load for --tuning-log; slug "usage" for --require-tuned without a log.
Status use_tuning_logs(const ModelOptions& options, BuildOptions& build);
/// Returns the line "tuning: 12 hits (...), ..." and the notes; "" without logs. The line names the
/// log of byoc, and is left out when that one has no record for the model.
std::string tuning_text(const ModelOptions& options);
/// Adds the member "tuning": the summary, the notes, and the choice for each function. Does nothing
/// without logs.
void add_tuning_json(const ModelOptions& options, nlohmann::ordered_json& to);

}  // namespace byoc::driver
