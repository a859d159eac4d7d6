// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spans: times inside one step, as its kernel reports them (byoc_host::span).
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace byoc {

/// The label of spans that a kernel reports (byoc_host::span); spans that differ only in time
/// share one.
struct SpanLabel {
  size_t step = 0;                                           ///< index in the program
  int64_t node = -1;                                         ///< index in the function's graph
  std::string name;                                          ///< the name of the stretch
  std::vector<std::pair<std::string, std::string>> details;  ///< key, value
  std::string_view detail(std::string_view key) const;       ///< empty when there is none
};
/// One measured stretch of time.
struct SpanTime {
  uint32_t label = 0, thread = 0;     ///< thread: 0, 1, ... in order of appearance
  uint64_t begin_ns = 0, end_ns = 0;  ///< steady clock
};
/// The spans of a run.
struct SpanLog {
  std::vector<SpanLabel> labels;  ///< in order of appearance
  std::vector<SpanTime> times;    ///< in the order they were reported
  uint64_t refused = 0;           ///< ended before they began, or broken
  uint64_t dropped = 0;           ///< more than are kept
};

}  // namespace byoc
