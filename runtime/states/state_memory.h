// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of the states of a program.
#include <atomic>
#include <memory>
#include <span>

#include "byoc/runtime/artifact.h"
#include "runtime/arena/context_memory.h"

namespace byoc {

/// The values of all states. Contexts of several sizes of one model may share it; one run or one
/// access at a time uses it, which begin() checks.
class StateMemory {
 public:
  /// Makes values of zeros. Errors: slug "no-memory", "allocator".
  static Result<std::shared_ptr<StateMemory>> make(const Program& program);

  /// Begins a run or an access. Errors: slug "state-in-use" while another one lasts.
  Status begin();
  void end() { is_used_.store(false, std::memory_order_release); }

  /// Gives the states that are not in place a second buffer. Not during a run.
  Status add_buffers(std::span<const size_t> writers);
  /// Checks that no value is broken. Errors: slug "state-broken", with the state.
  Status check_whole() const;
  /// Returns whether the program has the same states. Errors: slug "state-type", with the first
  /// that differs.
  Status check_fits(const Program& program) const;

  size_t size() const { return states_.size(); }
  const NamedTensor& type(size_t k) const { return states_[k].type; }
  uint64_t bytes(size_t k) const { return states_[k].bytes; }
  std::byte* now(size_t k) const { return states_[k].now.get(); }
  std::byte* next(size_t k) const { return states_[k].next.get(); }
  void swap(size_t k) { std::swap(states_[k].now, states_[k].next); }
  void set_broken(size_t k, bool is_broken) { states_[k].is_broken = is_broken; }
  void set_zero(size_t k);
  uint64_t total_bytes() const;  ///< of all buffers

 private:
  struct State {
    NamedTensor type;
    uint64_t bytes = 0;
    Memory now, next;        // next: empty where all runs work in place
    bool is_broken = false;  // a run has failed after it had written a part
  };
  std::vector<State> states_;
  std::atomic<bool> is_used_ = false;
};

}  // namespace byoc
