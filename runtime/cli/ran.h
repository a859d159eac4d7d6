// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run with what was measured of it, without what is printed.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/cli/memory.h"
#include "runtime/cli/run.h"
#include "runtime/cli/steady.h"
#include "runtime/session/profile.h"

namespace byoc::cli {

/// A run of a session, and what was measured of it.
struct Ran {
  std::vector<NamedInput> inputs;
  std::vector<Tensor> outputs;
  std::vector<std::string> files;   // empty without --output-dir
  std::vector<ProfileRow> profile;  // empty without --profile
  std::optional<MemoryUse> memory;  // with --profile
  std::vector<SpanRow> spans;       // the same
  std::vector<double> first_ns;     // the same: of each step in the first run
  SteadyProfile steady;             // the same
  double time_ns = 0;               // of the first run
  std::vector<double> steps_ns;     // of each run, with --steps
  StateTraffic states;              // of the runs after a warm-up, with --profile
};
/// Reads and makes inputs, and runs, with --profile many times. Writes the trace. Errors: those of
/// inputs, at `model`, and of running.
Result<Ran> run_once(const Session& session, const std::string& model, const RunFlags& flags,
                     const TensorReaders& readers);
/// Returns the members of byoc.run/1.
nlohmann::ordered_json run_json(const Session& session, const std::string& model, const Ran& ran);

}  // namespace byoc::cli
