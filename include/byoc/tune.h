// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the choices that plugins have for the functions of a model, and appends the times to a
// log, which the option tuning-log uses.
#include "byoc/model.h"

namespace byoc {

struct TuneOptions {
  std::string log;      ///< is read, then appended to; required
  std::string program;  ///< the command byoc, which has the workers; required
  /// The folder of what all tools have measured here, "none", or "": that in the cache folder.
  std::string observations;
  size_t trials = 128;  ///< points per task on average
  double budget_s = 0;  ///< seconds; 0: until the trials are done
  std::string tasks;    ///< a regular expression for kind, function or node; "": all
  uint64_t seed = 1;    ///< of the search and of the inputs
  uint32_t jobs = 0;    ///< processes that compile; 0: one less than cores
  double build_limit_s = 10, run_limit_s = 1;  ///< for compiling a point, for one run
  std::vector<std::string> starts;             ///< logs of other tuners whose points come first
};

struct TunedTask {
  std::string plugin, kind;            ///< "llvm", "conv2d/direct"
  std::vector<std::string> symbols;    ///< the functions that it is
  double untuned_ns = 0, best_ns = 0;  ///< infinity: no point could be measured
  size_t trials = 0;                   ///< distinct points in the log
  std::string defect;                  ///< the reason why it cannot be measured; "": it can
};

struct ModelTuning {
  std::vector<TunedTask> tasks;
  size_t measured = 0;               ///< points of this call
  bool is_interrupted = false;       ///< the cancellation ended it; the log has all measurements
  std::vector<std::string> remarks;  ///< what was out of the ordinary
  std::string json;                  ///< what `byoc tune --json` prints
};

/// Tunes a model. Each measurement is in the log before the next one begins. One call per process
/// at a time. Errors: slug "usage", "no-task"; those of the log, load_model, build_options.
Result<ModelTuning> tune_model(const ModelRequest& request, const TuneOptions& options);

}  // namespace byoc
