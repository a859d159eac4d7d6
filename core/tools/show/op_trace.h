// SPDX-License-Identifier: Apache-2.0
#pragma once
// Follows the ops of a model through the pipeline: finds the function and plugin that compute each
// op in the end, and the pass that removed each of the others.
#include <optional>

#include "byoc/compile.h"
#include "core/tools/show/op_labels.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

/// Traces one run of the pipeline: add with_labels() and instrument() to it, then read the results.
/// Instruments and passes refer to the trace, which must outlive the run.
class OpTrace {
 public:
  struct Removal {
    Symbol pass;                      // "": the op was not removed
    uint32_t into = OpLabels::kNone;  // the equal op that remains, when it is known
  };

  OpTrace() = default;
  OpTrace(const OpTrace&) = delete;
  OpTrace& operator=(const OpTrace&) = delete;

  /// Adds a pass that labels the ops after calls of plain functions are inlined, so that the ops of
  /// two calls are two ops.
  std::vector<Pass> with_labels(std::vector<Pass> passes);
  Instrument instrument();

  const OpLabels& labels() const { return labels_; }
  /// Returns true once partition_graph has run.
  bool has_placement() const { return has_placement_; }
  /// Returns the ops that run, with their labels as names: after code generation, or after the last
  /// pass that placed ops when the pipeline failed after it.
  const Placement& placement() const { return placement_; }
  /// Returns the removals, indexed by label.
  const std::vector<Removal>& removals() const { return removals_; }

 private:
  struct Reader {
    uint32_t label = OpLabels::kNone;  // kNone: a result of the function
    uint32_t place = UINT32_MAX;       // of the operand, or in the results
  };
  void see(const Pass& pass, const IRModule& before, const IRModule& after);
  void note_removed(Symbol pass, const IRModule& before, const IRModule& after);
  uint32_t label_of(const Node& node) const;
  uint32_t label_of(const IRModule& module, const Node& node) const;
  std::vector<Reader> readers_of(const Function& function) const;
  void find_survivors(Symbol pass, const Function& before, const Function& after);
  void follow_declined(const IRModule& compiled, size_t first_module);

  OpLabels labels_;
  bool is_labelled_ = false, has_placement_ = false;
  std::optional<size_t> first_compiled_;  // the number of external modules before run_codegen
  Placement placement_;
  std::vector<Removal> removals_;
};

}  // namespace byoc::driver
