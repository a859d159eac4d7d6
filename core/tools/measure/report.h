// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `byoc bench` found, for people and as JSON.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/tools/measure/measure.h"
#include "core/tools/model/compare.h"
#include "runtime/cli/output.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

/// One configuration that was measured.
struct Benched {
  uint32_t threads = 1;
  std::optional<double> compile_ns;  // of what was not compiled already
  double load_ns = 0;
  std::unique_ptr<TimedSession> timed;
  std::vector<ComparedValue> outputs;  // empty when nothing was compared
};

struct BenchReport {
  std::string model, region;  // region empty: all of the model
  std::vector<NamedTensor> input_types;
  std::vector<cli::NamedInput> inputs;
  std::string reference;     // the plugin the outputs were compared with; empty: none
  std::string why_no_check;  // when there is none
  TimingPlan plan;
  std::vector<Benched> all;
};

/// Flops of one run; nothing when some step is run by the host, of which nothing is known.
std::optional<double> flops_of(const Session& session);
std::string bench_text(const BenchReport& report, bool all_regions);
nlohmann::ordered_json bench_json(const BenchReport& report);

}  // namespace byoc::driver
