// SPDX-License-Identifier: Apache-2.0
#pragma once
// The states of one Context: their memory, and the arguments of a run with the states among them.
#include <string_view>

#include "byoc/runtime/session.h"
#include "runtime/artifact/open_sizes.h"
#include "runtime/states/state_memory.h"

namespace byoc {

/// The step that a run ended at.
struct StoppedAt {
  size_t step = 0;
  bool may_have_written = false;  ///< false: it was not called, or refused its arguments
};

/// Connects the states of a program with their memory. One call at a time, which is checked.
class ContextStates {
 public:
  /// `writers`: those of writers_of_states, which outlive it, as the program does. `open`: null in
  /// a program of fixed sizes. `memory`: null for a new one. Errors: those of StateMemory.
  static Result<std::unique_ptr<ContextStates>> make(const Program& program,
                                                     std::span<const size_t> writers,
                                                     OpenViews* open,
                                                     std::shared_ptr<StateMemory> memory);

  /// Begins a run with these arguments, which are without the states. `end` follows when it
  /// succeeds. Errors: slug "input-count", "output-count", "state-in-use", "state-broken".
  Status begin(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs);
  std::span<const DLTensor> inputs() const { return inputs_; }  ///< of the run, with the states
  std::span<DLTensor> outputs() { return outputs_; }            ///< likewise
  /// Takes the new values when the run succeeded. Else values stay, but for those that a step that
  /// works in place may have written: they are broken.
  void end(bool succeeded, const StoppedAt& stopped);

  /// Copies a state out. Errors: slug "unknown-state", "state-in-use", "state-broken",
  /// "state-dtype", "state-shape".
  Status read(std::string_view name, const DLTensor& to);
  /// Sets a state. Errors: slug "unknown-state", "state-in-use", "state-dtype", "state-shape".
  Status write(std::string_view name, const DLTensor& from);
  Status reset();  ///< Sets all states to zeros. Errors: slug "state-in-use".

  const std::shared_ptr<StateMemory>& memory() const { return memory_; }
  const StateTraffic& traffic() const { return traffic_; }

 private:
  ContextStates(const Program& program, std::span<const size_t> writers)
      : program_(program), writers_(writers) {}
  void make_views(OpenViews* open);
  Result<size_t> find(std::string_view name) const;
  uint64_t row_bytes(size_t k) const;
  bool is_broken(size_t k, const StoppedAt& stopped) const;

  const Program& program_;
  std::span<const size_t> writers_;
  std::shared_ptr<StateMemory> memory_;
  std::vector<DLTensor> inputs_, outputs_;
  std::vector<std::vector<const TensorSpec*>> rows_;  // per state, with the sizes of the run
  StateTraffic traffic_;
};

}  // namespace byoc
