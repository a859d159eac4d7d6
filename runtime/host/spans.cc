// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/spans.h"

#include <algorithm>
#include <mutex>

#include "byoc/base/status.h"

namespace byoc {
namespace {

constexpr size_t kMostTimes = 1 << 20, kMostLabels = 1 << 16;
constexpr uint64_t kMostDetails = 64, kMostText = 4096;

/// The recorders in existence. One lock for all: it is only taken while a run is profiled.
struct SpanRegistry {
  std::mutex mutex;
  uint32_t last_id = 0;
  std::map<uint32_t, SpanRecorder*> recorders;
  uint64_t stray = 0;
};
SpanRegistry& span_registry() {
  static SpanRegistry& all = *new SpanRegistry;  // plugins' threads may outlive static objects
  return all;
}

bool is_text(byoc_str text) { return text.n <= kMostText && (text.p != nullptr || text.n == 0); }
std::string_view text_view(byoc_str text) {
  return text.n == 0 ? "" : std::string_view(text.p, text.n);
}

/// Returns the reason for which a span cannot be kept; empty when it can.
std::string defect_of(const RawSpan& span) {
  if (!is_text(span.name))
    return cat("a name of ", span.name.n, " bytes, which are not there or too many");
  std::string name = cat("\"", text_view(span.name), "\" ");
  if (span.end_ns < span.begin_ns)
    return cat(name, "ends ", span.begin_ns - span.end_ns, " ns before it begins");
  if (span.n % 2 != 0)
    return cat(name, "has ", span.n, " strings of details, keys and values come in pairs");
  if (span.n > kMostDetails)
    return cat(name, "has ", span.n, " strings of details, at most ", kMostDetails, " are kept");
  bool is_whole = span.n == 0 || (span.details != nullptr &&
                                  std::all_of(span.details, span.details + span.n, is_text));
  return is_whole ? "" : cat(name, "has a detail that cannot be read");
}

bool fits(const SpanLabel& label, size_t step, const RawSpan& span) {
  if (label.step != step || label.node != span.node || label.name != text_view(span.name) ||
      2 * label.details.size() != span.n)
    return false;
  for (size_t k = 0; 2 * k < span.n; ++k) {
    if (label.details[k].first != text_view(span.details[2 * k]) ||
        label.details[k].second != text_view(span.details[2 * k + 1]))
      return false;
  }
  return true;
}

std::string key_of(size_t step, const RawSpan& span) {
  std::string key = cat(step, " ", span.node, " ", span.name.n, " ", text_view(span.name));
  for (uint64_t k = 0; k < span.n; ++k)
    key += cat(" ", span.details[k].n, " ", text_view(span.details[k]));
  return key;
}

}  // namespace

std::string_view SpanLabel::detail(std::string_view key) const {
  for (const auto& [name, value] : details) {
    if (name == key) return value;
  }
  return {};
}

SpanRecorder::SpanRecorder(size_t steps) : steps_(steps) {
  SpanRegistry& all = span_registry();
  std::lock_guard lock(all.mutex);
  do ++all.last_id;
  while (all.last_id == 0 || all.recorders.contains(all.last_id));
  id_ = all.last_id;
  all.recorders[id_] = this;
}

SpanRecorder::~SpanRecorder() {
  std::lock_guard lock(span_registry().mutex);
  span_registry().recorders.erase(id_);
}

uint32_t SpanRecorder::label_of(size_t step, const RawSpan& span) {
  if (expected_ < log_.labels.size() && fits(log_.labels[expected_], step, span)) return expected_;
  auto [found, is_new] =
      labels_.try_emplace(key_of(step, span), static_cast<uint32_t>(log_.labels.size()));
  if (!is_new) return found->second;
  SpanLabel label{step, span.node, std::string(text_view(span.name)), {}};
  for (uint64_t k = 0; 2 * k < span.n; ++k)
    label.details.emplace_back(text_view(span.details[2 * k]), text_view(span.details[2 * k + 1]));
  log_.labels.push_back(std::move(label));
  return found->second;
}

uint32_t SpanRecorder::thread_number() {
  auto known = std::find(threads_.begin(), threads_.end(), std::this_thread::get_id());
  if (known == threads_.end()) known = threads_.insert(known, std::this_thread::get_id());
  return static_cast<uint32_t>(known - threads_.begin());
}

void SpanRecorder::record(size_t step, const RawSpan& span) {
  if (std::string defect = defect_of(span); !defect.empty()) {
    if (log_.refused++ == 0) refusal_ = std::move(defect);
  } else if (log_.times.size() >= kMostTimes || log_.labels.size() >= kMostLabels) {
    ++log_.dropped;
  } else {
    uint32_t label = label_of(step, span);
    log_.times.push_back({label, thread_number(), span.begin_ns, span.end_ns});
    expected_ = label + 1 < log_.labels.size() ? label + 1 : 0;
  }
}

void record_span(uint64_t call_id, const RawSpan& span) noexcept {
  SpanRegistry& all = span_registry();
  std::lock_guard lock(all.mutex);
  auto found = all.recorders.find(static_cast<uint32_t>(call_id >> 32));
  size_t step = call_id & UINT32_MAX;
  if (found == all.recorders.end() || step >= found->second->steps_) {
    ++all.stray;
    return;
  }
  try {
    found->second->record(step, span);
  } catch (...) {  // no memory for one more
    ++found->second->log_.dropped;
  }
}

uint64_t stray_spans() {
  std::lock_guard lock(span_registry().mutex);
  return span_registry().stray;
}

}  // namespace byoc
