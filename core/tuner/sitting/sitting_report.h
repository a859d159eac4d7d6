// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sitting as text and as JSON.
#include <nlohmann/json_fwd.hpp>

#include "core/tuner/sitting/sitting.h"

namespace byoc::tune {

/// A part of the work of a sitting.
struct Share {
  uint64_t done, total;
};
/// Returns the larger of the shares of its trials and of its seconds.
Share share_done(const SittingReport& report, const SittingOptions& options);
/// Returns the current task with its best time, and trials per second.
std::string progress_text(const std::vector<Task>& tasks, const SittingReport& report);
/// Returns a table of the tasks, the sum over the model, and how the log is used.
std::string report_text(const std::vector<Task>& tasks, const SittingReport& report,
                        const SittingOptions& options);
nlohmann::ordered_json report_json(const std::vector<Task>& tasks, const SittingReport& report,
                                   const SittingOptions& options);

}  // namespace byoc::tune
