// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects the opinion of each plugin about an op from the remarks of one run of the pipeline.
#include "byoc/compile.h"
#include "core/tools/reasons/mismatch.h"
#include "core/tools/show/op_labels.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

struct Opinion {
  enum Kind {
    kRefused,    // by judge, or because no pattern matches
    kCovered,    // it takes the op alone, but another plugin's composite contains it
    kSlow,       // it runs the op, slowly
    kDeclined,   // judge accepted the op, compile declined it
    kTaken,      // it runs the op; the reason has the implementation
    kAccepted,   // it would run the op if no plugin came before it; the reason names that plugin
    kNotReached  // it was not called for the op; the reason names the plugin that has it
  };
  Kind kind = kRefused;
  Symbol plugin, reason;
  /// kRefused, of the op that was selected: the patterns with the op, and the tests that failed.
  std::vector<PatternMiss> patterns = {};
};

/// Returns the reason for which plugins other than `plugin` do not run an op.
std::string chosen_by_cost(Symbol plugin);

/// Holds the remarks by op. The report and the labels must outlive it.
class Opinions {
 public:
  Opinions(const Report& report, const OpLabels& labels, const OpRegistry& ops);
  /// Returns one opinion per plugin, in the order of `plugins`; none for a plugin that runs the op
  /// without a remark. `runs` is the op that computes it in the end, which passes may have changed.
  /// `by_cost`: plugins were chosen by cost, not in their order.
  /// Cost: O(remarks about the op * plugins).
  std::vector<Opinion> about(uint32_t label, const PlacedOp& placed, Symbol runs,
                             const std::vector<std::string>& plugins, bool by_cost) const;

 private:
  using Remark = Report::Remark;
  enum class Scope { kOther, kComposite, kOp };
  Scope scope_of(const Remark& remark, uint32_t label, Symbol runs) const;
  const Remark* how_it_runs(uint32_t label, Symbol plugin, Symbol runs) const;
  std::string why_not(uint32_t label, Symbol plugin, Symbol runs, Opinion::Kind& kind) const;

  const OpLabels& labels_;
  const OpRegistry& ops_;
  std::vector<std::vector<const Remark*>> by_label_;
};

}  // namespace byoc::driver
