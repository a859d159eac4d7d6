// SPDX-License-Identifier: Apache-2.0
#pragma once
// The spans that a plugin records during one run, checked against the ABI's rules for spans.
#include <string>
#include <vector>

#include "byoc/plugin/abi.h"
#include "runtime/host/spans.h"

namespace byoc::conform {

/// Records spans from its construction on. Construct it just before a run, on the same thread.
class RecordedSpans {
 public:
  /// Sets the id and the flags of `call`; the flags request spans when `is_requested`.
  explicit RecordedSpans(byoc_call& call, bool is_requested);
  /// Returns the defects of the spans. Call it after the run. `nodes` is the number of nodes of the
  /// function's graph.
  std::vector<std::string> defects(int64_t nodes) const;
  bool has_any() const { return !recorder_.log().times.empty() || recorder_.log().refused > 0; }

 private:
  std::string defect_of(const SpanTime& time, int64_t nodes, uint64_t end_ns) const;
  std::string crossing() const;
  std::string named(const SpanTime& time) const;
  SpanRecorder recorder_{1};
  bool is_requested_;
  uint64_t strays_before_, begin_ns_;
};

}  // namespace byoc::conform
