// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc bench`.
#include <nlohmann/json_fwd.hpp>

#include "byoc/bench.h"
#include "core/tools/measure/observed.h"
#include "core/tools/measure/report.h"
#include "core/tools/measure/subject.h"

namespace byoc::driver {

/// Calls while a model is benched; all may be empty.
struct BenchHooks {
  Warn warn;
  measure::Watch watch;             // returns false to end the work
  std::function<void()> measuring;  // before the first measured run
};

/// Parses "1,2" as 1, 2. Errors: slug "usage".
Result<std::vector<uint32_t>> parse_threads(const std::string& text);

struct BenchedModel {
  BenchReport report;
  Observed observed;
  /// Not ok: outputs are wrong, slug "bench-mismatch", or `watch` ended the measurements, slug
  /// "interrupted". The report has what was done until then.
  Status end;
  bool is_wrong() const { return end.slug() == "bench-mismatch"; }
  bool has_samples() const { return !report.all[0].timed->samples.ns.empty(); }
};

/// Benches the model of `options`, whose number of threads is that of `with`.
Result<BenchedModel> bench_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                                const BenchOptions& with, const BenchHooks& hooks);
/// Returns the members of byoc.bench/1.
nlohmann::ordered_json json_of(const BenchedModel& benched, const ModelOptions& options);

}  // namespace byoc::driver
