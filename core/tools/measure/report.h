// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of `byoc bench`, as text and as JSON.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/tools/measure/measure.h"
#include "core/tools/model/compare.h"
#include "runtime/cli/output.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

/// A configuration and its measurements.
struct Benched {
  uint32_t threads = 1;
  std::optional<double> compile_ns;  // empty for an artifact, which is compiled already
  double load_ns = 0;
  std::unique_ptr<TimedSession> timed;
  std::vector<ComparedValue> outputs;  // empty when nothing was compared
};

struct BenchReport {
  std::string model, region;  // region empty: all of the model
  std::vector<NamedTensor> input_types;
  std::vector<cli::NamedInput> inputs;
  std::string reference;     // the plugin whose outputs were compared; empty: none
  std::string why_no_check;  // the reason why `reference` is empty
  TimingPlan plan;
  std::vector<Benched> all;
};

/// Returns the flops of one run; nothing when the host runs a step, whose flops are not known.
std::optional<double> flops_of(const Session& session);
std::string bench_text(const BenchReport& report, bool all_regions);
nlohmann::ordered_json bench_json(const BenchReport& report);

}  // namespace byoc::driver
