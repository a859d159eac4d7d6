#pragma once
// What a plugin tells of the inside of one run, against what it promises of spans.
#include <string>
#include <vector>

#include "byoc/plugin/abi.h"
#include "runtime/host/spans.h"

namespace byoc::conform {

/// From construction on, around one run, on the thread that runs.
class ToldSpans {
 public:
  /// Of a call that asks for spans, or of one that does not.
  explicit ToldSpans(byoc_call& call, bool asks);
  /// After the run: what is wrong with them. `nodes`: how many the function's graph has.
  std::vector<std::string> defects(int64_t nodes) const;
  bool told_any() const { return !recorder_.log().times.empty() || recorder_.log().refused > 0; }

 private:
  std::string defect_of(const SpanTime& time, int64_t nodes, uint64_t end_ns) const;
  std::string crossing() const;
  std::string named(const SpanTime& time) const;
  SpanRecorder recorder_{1};
  bool asks_;
  uint64_t strays_before_, begin_ns_;
};

}  // namespace byoc::conform
