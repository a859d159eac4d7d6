// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/ends.h"

#include <algorithm>

namespace byoc::conform {
namespace {

/// A slot, and the first words of the activities that are bounded as it is.
struct Slot {
  std::string_view name;
  std::vector<std::string_view> activities;
};

const std::vector<Slot>& slots() {
  static const auto& all = *new std::vector<Slot>{
      {"open",
       {"loading ", "the entry", "reading its table", "open", "patterns", "close", "shutdown"}},
      {"judge", {"judge", "partitioning the example"}},
      {"partition", {"partition, "}},
      {"knobs", {"knobs"}},
      {"compile", {"compile"}},
      {"load", {"load, ", "save", "kernel", "info"}},
      {"run", {"run"}},
  };
  return all;
}

std::string_view slot_of(std::string_view what) {
  for (const Slot& slot : slots()) {
    for (std::string_view begin : slot.activities) {
      if (what.starts_with(begin)) return slot.name;
    }
  }
  return "";
}

}  // namespace

std::vector<std::string_view> timed_slots() {
  std::vector<std::string_view> out;
  for (const Slot& slot : slots()) out.push_back(slot.name);
  return out;
}

process::ChildLimits limits_of(const Options& options) {
  process::ChildLimits out{.timeout_s = options.timeout_s, .progress = options.progress};
  for (const Slot& slot : slots()) {
    const auto limit = options.timeouts_s.find(std::string(slot.name));
    if (limit == options.timeouts_s.end()) continue;
    for (std::string_view begin : slot.activities)
      out.timeouts_s.emplace_back(begin, limit->second);
  }
  return out;
}

std::string cure_of(const process::ChildResult& child) {
  using process::End;
  const std::string_view slot = slot_of(child.what);
  if (child.end.kind == End::kTimedOut) {
    constexpr uint32_t kTimes = 6;
    return cat("end the call; one that needs longer gets it by --timeout ", slot,
               slot.empty() ? "" : "=", kTimes * child.limit_s);
  }
  if (!child.fault.empty()) return "";
  if (child.end.kind == End::kSignal)
    return "find the line in a debugger: gdb -ex 'set follow-fork-mode child' -ex run --args byoc "
           "check-plugin FILE --group N";
  return "return an error; a plugin never ends the process";
}

}  // namespace byoc::conform
