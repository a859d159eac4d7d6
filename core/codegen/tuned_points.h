// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "byoc/pass/pass.h"
#include "byoc/tune/history.h"

namespace byoc {

/// The knob, and the attribute of a function, that names the way to compute the function's anchor.
inline constexpr const char* kComputeKnob = "compute";

/// The choice for one function.
struct TunedChoice {
  tune::HistoryReport::Entry entry;
  std::string fallback_json;  ///< the point when the plugin refuses that of the record; "": none
  std::string own_json;       ///< the point that the plugin compiles without one
};

/// Chooses points for the functions of one compilation: by their attribute `compute`, and from the
/// histories of its context.
class TunedPoints {
 public:
  explicit TunedPoints(const PassContext& context) : context_(context) {}
  /// Returns true when choices are to be made from histories.
  bool is_active() const { return !context_.histories.empty() || context_.require_tuned; }
  /// Returns the choice for a function, nothing when the plugin has none there, and sets its point.
  /// `compute`: the only value of kComputeKnob that is used; "": any. `calls`: in one run of the
  /// model. Errors: those of the plugin, slug "knob-space", "not-tuned", "unknown-compute".
  Result<std::optional<TunedChoice>> choose(const Plugin& plugin, CompileFunction& input,
                                            const std::string& compute, size_t calls);
  /// Reports that a function gets the plugin's own point. Does nothing without a report.
  void report_own(const Plugin& plugin, const CompileFunction& input) const;
  /// Reports the choice of a function that was compiled.
  void report(tune::HistoryReport::Entry entry) const;
  /// Puts the fallback in the place of the point, which the plugin refused as `why` states. Errors:
  /// slug "not-tuned"; `why`, when the fallback itself was refused.
  Status drop(const Plugin& plugin, CompileFunction& input, TunedChoice& choice,
              const Status& why) const;

 private:
  Status check_tuned(const tune::HistoryReport::Entry& entry, std::string_view why) const;

  const PassContext& context_;
  std::string target_;  // as Record::target; empty: not computed yet
};

/// Returns the space that the plugin has for a function, nothing when it has no choice there.
Result<std::optional<tune::Space>> knob_space(const Plugin& plugin, const CompileFunction& input,
                                              const PassContext& context);
/// Returns the best choice of all histories. A task that one of them has is taken from the first
/// such one; a transfer only when none has the task.
tune::Choice best_choice(const PassContext& context, const tune::Query& query);
/// Returns the workers of a run; 0 in the context is all cores.
uint32_t threads_of_runs(const PassContext& context);

}  // namespace byoc
