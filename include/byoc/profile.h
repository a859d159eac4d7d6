// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a model with a clock around each step.
#include "byoc/model.h"

namespace byoc {

struct ProfileOptions {
  uint64_t seed = 0;       ///< of random inputs
  std::string trace;       ///< the first run goes there, for chrome://tracing or Perfetto; "": none
  bool no_native = false;  ///< native code in an artifact is refused
};

struct ProfiledStep {
  std::string function, run_by;
  double time_ns = 0;              ///< of later runs
  double first_ns = 0;             ///< of the first run
  double flops = 0;                ///< of a run
  std::vector<std::string> nodes;  ///< of the model
};

struct ModelProfile {
  std::vector<ProfiledStep> steps;    ///< in the order of the program
  double time_ns = 0, first_ns = 0;   ///< of later runs; of the first one
  double outside_ns = 0;              ///< of `time_ns`, the part that is in no step
  std::vector<std::string> warnings;  ///< of importing, loading, plans and plugins
  std::string json;                   ///< what `byoc run --profile --json` prints
};

/// Compiles the model, or loads an artifact, and runs it for about a second. Errors: those of
/// load_model, build_options, compiling and running.
Result<ModelProfile> profile_model(const ModelRequest& request, const ProfileOptions& options = {});

}  // namespace byoc
