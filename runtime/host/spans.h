// SPDX-License-Identifier: Apache-2.0
#pragma once
// The target of byoc_host::span: one recorder per Context that is profiled, found by the call's id.
#include <map>
#include <thread>

#include "byoc/host/spans.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// The arguments of byoc_host::span, as they come from a plugin, unchecked.
struct RawSpan {
  int64_t node;
  byoc_str name;
  uint64_t begin_ns, end_ns;
  const byoc_str* details;  // n strings, keys and values in turn
  uint64_t n;
};

/// Records a span; any thread may call it. Never fails: refused spans are counted in the log.
void record_span(uint64_t call_id, const RawSpan& span) noexcept;
/// Returns the number of spans in this process so far whose call has no recorder.
uint64_t stray_spans();

class SpanRecorder {
 public:
  explicit SpanRecorder(size_t steps);
  ~SpanRecorder();
  SpanRecorder(const SpanRecorder&) = delete;
  /// Returns an id that is never 0 and belongs to this recorder alone.
  uint64_t call_id(size_t step) const { return uint64_t{id_} << 32 | step; }
  const SpanLog& log() const { return log_; }
  /// Returns the reason of the first refusal: `"load" ends 1 ns before it begins`.
  /// Empty without one.
  const std::string& refusal() const { return refusal_; }

 private:
  friend void record_span(uint64_t call_id, const RawSpan& span) noexcept;
  void record(size_t step, const RawSpan& span);
  uint32_t label_of(size_t step, const RawSpan& span);
  uint32_t thread_number();

  size_t steps_;
  uint32_t id_;
  SpanLog log_;
  std::string refusal_;
  uint32_t expected_ = 0;  // label: runs record the same spans in order
  std::map<std::string, uint32_t, std::less<>> labels_;
  std::vector<std::thread::id> threads_;
};

}  // namespace byoc
