// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels on copies of their tensors that end where a page that cannot be accessed begins, so
// that an access outside of a tensor ends the process or the run, and is never luck.
#include <functional>
#include <string>
#include <vector>

#include "byoc/runtime/artifact.h"
#include "runtime/guard/guarded_memory.h"

namespace byoc {

struct ContextState;
struct SessionState;

/// Moves the constants of the executable to the ends of pages that are read-only. Errors:
/// kResourceExhausted, slug "no-memory".
Status guard_constants(Executable& executable);

/// The copies of one Context. One step at a time uses them.
class GuardedSteps {
 public:
  GuardedSteps(const SessionState& session, ContextState& context)
      : session_(session), context_(context) {}
  /// Copies the tensors of a step, calls it, and copies its outputs back. Tensors that share memory
  /// share it in the copy. Outputs are NaN before the call, and inputs read-only. Errors: those of
  /// `call`; kInternal, slug "outside-write", when bytes next to a tensor or to the workspace have
  /// changed; kResourceExhausted, slug "no-memory".
  Status run(size_t step, const std::function<Status()>& call);

 private:
  struct Argument {
    size_t index;  // among those of the step
    std::byte* data;
    uint64_t bytes;
    std::byte* copy;
  };
  Status enter(size_t step);
  Status copy_in(size_t step, size_t first, size_t last, size_t slot);
  Status place_workspace(size_t step);
  Result<GuardedMemory*> memory(size_t slot, uint64_t bytes);
  Status check(size_t step) const;
  void leave(size_t step, bool is_right);
  void point(size_t step, const Argument& argument, std::byte* data);
  bool is_output(size_t step, size_t index) const;
  std::string name_of(size_t step, size_t index) const;

  const SessionState& session_;
  ContextState& context_;
  std::vector<Argument> arguments_;   // of the current step, by address; those with elements
  std::vector<GuardedMemory> slots_;  // the first one has the workspace
  std::vector<std::string> names_;    // per slot in use
};

}  // namespace byoc
