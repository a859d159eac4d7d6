// SPDX-License-Identifier: Apache-2.0
#include "core/conform/checks/recorded_spans.h"

#include <algorithm>

#include "byoc/base/clock.h"
#include "byoc/base/status.h"

namespace byoc::conform {

RecordedSpans::RecordedSpans(byoc_call& call, bool is_requested)
    : is_requested_(is_requested), strays_before_(stray_spans()) {
  call.flags = is_requested ? BYOC_CALL_SPANS : 0;
  call.call_id = recorder_.call_id(0);
  begin_ns_ = now_ns();
}

std::string RecordedSpans::named(const SpanTime& time) const {
  return cat("\"", recorder_.log().labels[time.label].name, "\"");
}

std::vector<std::string> RecordedSpans::defects(int64_t nodes) const {
  const uint64_t end_ns = now_ns();
  if (!is_requested_) {
    if (!has_any() && stray_spans() == strays_before_) return {};
    return {"it records spans although the call has no SPANS"};
  }
  std::vector<std::string> found;
  if (stray_spans() != strays_before_) found.push_back("it records a span of another call_id");
  if (!recorder_.refusal().empty())
    found.push_back(cat("it records a span that cannot be kept: ", recorder_.refusal()));
  for (const SpanTime& time : recorder_.log().times) {
    std::string defect = defect_of(time, nodes, end_ns);
    if (!defect.empty()) found.push_back(std::move(defect));
  }
  if (std::string defect = crossing(); !defect.empty()) found.push_back(std::move(defect));
  return found;
}

std::string RecordedSpans::defect_of(const SpanTime& time, int64_t nodes, uint64_t end_ns) const {
  const SpanLabel& label = recorder_.log().labels[time.label];
  if (label.name.empty()) return "it records a span without a name";
  if (label.node < -1 || label.node >= nodes)
    return cat("the span ", named(time), " is of node ", label.node, ", the graph has ", nodes);
  if (time.begin_ns < begin_ns_)
    return cat("the span ", named(time), " begins ", begin_ns_ - time.begin_ns,
               " ns before the run does");
  if (time.end_ns > end_ns)
    return cat("the span ", named(time), " ends ", time.end_ns - end_ns, " ns after the run");
  return "";
}

/// Returns a message when two spans of a thread overlap and neither contains the other. The spans
/// are sorted by begin, the longer first, so that each must be inside of those that are open, or
/// after them.
std::string RecordedSpans::crossing() const {
  std::vector<SpanTime> times = recorder_.log().times;
  std::sort(times.begin(), times.end(), [](const SpanTime& a, const SpanTime& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  std::vector<SpanTime> open;
  for (const SpanTime& time : times) {
    while (!open.empty() &&
           (open.back().thread != time.thread || open.back().end_ns <= time.begin_ns))
      open.pop_back();
    if (!open.empty() && open.back().end_ns < time.end_ns)
      return cat("the spans ", named(open.back()), " and ", named(time),
                 " overlap, and neither lies inside of the other");
    open.push_back(time);
  }
  return "";
}

}  // namespace byoc::conform
