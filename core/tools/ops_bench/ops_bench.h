// SPDX-License-Identifier: Apache-2.0
#pragma once
// `byoc bench --ops`: each operator of the table by byoc and by ONNX Runtime, in turns.
#include "core/measure/statistic.h"
#include "core/measure/turns.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/runnable.h"
#include "core/tools/ops_bench/op_cases.h"

namespace byoc::driver {

struct OpsBenchOptions {
  std::string table, script;  // files; "": those of this installation
  std::string python = "python3";
  std::vector<std::string> ops;  // empty: all of the table
  std::vector<uint32_t> threads = {1};
  uint64_t seed = 0;
  double min_time_s = 0.2;  // of each side of a case
  uint32_t rounds = 5;
  double tolerance = -1;  // in place of the table's and the dtypes'
  bool no_check = false;
};

/// A case on a number of threads.
struct OpTime {
  const OpCase* one = nullptr;
  uint32_t threads = 1;
  measure::Samples ours, peers;
  std::vector<std::string> plugins;   // that ran it
  std::string refused, peer_refused;  // the reasons, or empty
  std::string compared_with;          // "onnxruntime", "json", or "": not compared
  std::string wrong;                  // the first output that differs, or empty
  bool has_ratio() const { return !ours.ns.empty() && !peers.ns.empty(); }
  /// Returns byoc's time over the peer's.
  double ratio() const { return measure::time_of(ours.ns) / measure::time_of(peers.ns); }
};

struct OpsBench {
  OpTable table;
  std::string peer_version, why_no_peer;  // one of them is empty
  std::vector<OpTime> times;              // in the order of the table
  Status end;                             // slug "interrupted" after Ctrl-C
  bool is_wrong() const;
};

/// Returns the geometric mean of the ratios on a number of threads; 0 without any.
double geometric_mean(const OpsBench& bench, uint32_t threads);

/// Measures the cases. A case that byoc or the peer refuses has the reason in its result.
/// `watch` returns false to end the work. Errors: slugs "ops-table", "usage" for an unknown
/// operator; files.
Result<OpsBench> bench_ops(const ModelOptions& model, const OpsBenchOptions& options,
                           const Warn& warn, const measure::Watch& watch);

}  // namespace byoc::driver
