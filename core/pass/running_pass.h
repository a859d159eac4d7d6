// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass that a thread runs, for reports of defects.
#include <optional>

#include "byoc/pass/pass.h"

namespace byoc {

/// A pass and the module that it began with.
struct RunningPass {
  const Pass* pass = nullptr;
  const PassContext* context = nullptr;
  /// Constants of more than 64 elements are replaced by their first element, unless BYOC_BUG is
  /// "weights": this copy keeps no weights in memory that the pass releases.
  IRModule before;
  bool has_weights = false;
};

/// Makes a pass the running one of this thread, for as long as it exists, when the process reports
/// defects; does nothing else. Passes that run inside of others are not noted.
class RunningPassScope {
 public:
  RunningPassScope(const Pass& pass, const PassContext& context, const IRModule& before);
  RunningPassScope(const RunningPassScope&) = delete;
  RunningPassScope& operator=(const RunningPassScope&) = delete;
  ~RunningPassScope();

 private:
  std::optional<RunningPass> running_;
};

/// Returns the running pass of this thread, else that of another thread, else null. The pass of
/// another thread may end at any time: call it in a process that is about to end.
const RunningPass* running_pass();

/// Breaks byoc in the pass that BYOC_PLANT names: a check, a signal, an exception; or the module
/// that the pass has made.
void plant_defect(const Pass& pass);
void plant_broken_module(const Pass& pass, IRModule& module);

}  // namespace byoc
