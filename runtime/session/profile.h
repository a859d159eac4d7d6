// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of profiling, as rows for reports.
#include <string>
#include <vector>

#include "byoc/runtime/session.h"

namespace byoc {

/// One step of the program over the runs of one Context, times in nanoseconds.
struct ProfileRow {
  std::string symbol, runner;  // runner: plugin id, "native" after it, "host", or "copy"
  std::string implementation;  // the plugin's words
  std::vector<std::string> locs;
  uint64_t runs = 0, total_ns = 0, min_ns = 0;
  double flops = 0;           // per run; 0 when not known
  uint64_t copied_bytes = 0;  // by a copy between the host and a device, per run
  double mean_ns() const {
    return runs == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(runs);
  }
};

/// Returns the steps in order of execution; times are 0.
std::vector<ProfileRow> step_rows(const Session& session);
/// Returns the same rows with the times of that Context.
std::vector<ProfileRow> profile_rows(const Session& session, const Context& context);

/// The spans inside a kernel with one label, over the runs of one Context.
struct SpanRow {
  SpanLabel label;
  uint64_t calls = 0;  // over all runs
  double calls_per_run = 0;
  uint64_t total_ns = 0;
  double median_ns = 0, min_ns = 0;  // per call
  bool is_reorder() const { return label.detail("is_reorder") == "1"; }
  double run_ns() const { return median_ns * calls_per_run; }
};
/// Returns rows in the order in which the spans first appeared, which is that of execution.
std::vector<SpanRow> span_rows(const Session& session, const Context& context);

}  // namespace byoc
