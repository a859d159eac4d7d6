// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc tune`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/tune.h"
#include "core/tools/model/model_options.h"
#include "core/tuner/sitting/sitting.h"

namespace byoc::driver {

struct TunedModel {
  std::vector<tune::Task> tasks;
  tune::SittingOptions sitting;
  tune::SittingReport report;
};

/// Additions to TuneOptions for tune_file.
struct TuneExtras {
  std::optional<tune::SlurmOptions> slurm;  // machines of a cluster measure
  bool shows_errors = false;                // prints of plugins go to standard error
};

/// Called about ten times per second; returns false to end the sitting.
using TuneWatch = std::function<bool(const std::vector<tune::Task>&, const tune::SittingOptions&,
                                     const tune::SittingReport&)>;

/// Tunes the model of `options`. Errors: as byoc::tune_model.
Result<TunedModel> tune_file(const ModelOptions& options, const TuneOptions& with,
                             const TuneExtras& extras, const TuneWatch& watch);
/// Returns the members of byoc.tune/1.
nlohmann::ordered_json json_of(const TunedModel& tuned);

}  // namespace byoc::driver
