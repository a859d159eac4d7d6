#pragma once
#include <string>
#include <vector>

#include "byoc/runtime/session.h"

namespace byoc {

/// One step of the program over the runs of one Context, times in nanoseconds.
struct ProfileRow {
  std::string symbol, runner;  // runner: plugin id, "native" after it, or "host"
  std::string implementation;  // the plugin's words
  std::vector<std::string> locs;
  uint64_t runs = 0, total_ns = 0, min_ns = 0;
  double flops = 0;  // of one run; 0 when not known
  double mean_ns() const {
    return runs == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(runs);
  }
};

/// In order of execution; times are 0.
std::vector<ProfileRow> step_rows(const Session& session);
/// The same with the times of that Context.
std::vector<ProfileRow> profile_rows(const Session& session, const Context& context);

}  // namespace byoc
