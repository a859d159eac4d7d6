// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs code that may crash, hang or end the process in child processes, and reports what it did.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace byoc {

/// Records the step that begins now, such as "while it was loaded".
using TrialStep = std::function<void(std::string_view step)>;
/// The code to try. Returns an objection to its subject; empty: none. It runs in a child process
/// whose streams are /dev/null.
using TrialWork = std::function<std::string(const TrialStep& step)>;

struct TrialResult {
  enum Kind : uint8_t {
    kNotTried,   // no child could be started
    kSound,      // the work returned ""
    kObjection,  // the work returned `reason`
    kUnsound     // the child crashed, hung or ended; `reason` has how, and the step
  };
  Kind kind = kNotTried;
  std::string reason;
};

/// The most seconds of a trial in which this process could run as well, and the child did not wait
/// for a processor.
inline constexpr uint32_t kTrialSeconds = 5;

/// Returns true when this process has one thread. A child that is forked from one of several
/// threads may wait for ever for a lock that another thread holds.
bool may_try();
/// Runs each work in a child process of its own, several at a time. Requires may_try.
std::vector<TrialResult> try_in_children(std::span<const TrialWork> works);

}  // namespace byoc
