// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>

#include "plan.h"

namespace byoc::onednn {

/// Runs a plan. Re-entrant: every run takes a state of its own (memory objects and argument lists)
/// from a pool, which grows to the largest number of simultaneous runs. Only that growth allocates,
/// in addition to the allocations of oneDNN's own execute (MAY_ALLOC).
class OnednnKernel : public sdk::Kernel {
 public:
  OnednnKernel(Plan plan, dnnl::engine engine, uint32_t threads);
  ~OnednnKernel() override;
  sdk::KernelInfo info() const override;
  void run(const sdk::Call& call) const override { run_in(call, call.workspace()); }
  /// Runs in other memory than the call's workspace, of workspace_bytes.
  void run_in(const sdk::Call& call, void* workspace) const;
  uint64_t workspace_bytes() const { return plan_.workspace_bytes(); }

 private:
  struct State;
  std::unique_ptr<State> make_state() const;
  std::unique_ptr<State> take_state() const;
  void bind(State& state, const sdk::Call& call, char* workspace) const;
  dnnl_status_t execute(const State& state, size_t step) const;
  void tell_span(const sdk::Call& call, size_t step, uint64_t begin_ns) const;

  Plan plan_;
  dnnl::engine engine_;
  uint32_t threads_;
  struct Formats {
    std::string src, dst;
  };
  std::vector<Formats> formats_;  // per step, for spans
  mutable std::mutex mutex_;      // guards the pool; held for a push or a pop
  mutable std::vector<std::unique_ptr<State>> pool_;
};

/// Sets the size of the calling thread's OpenMP team while the object lives: oneDNN reads OpenMP's
/// number when a primitive is made and when it runs.
class ThreadScope {
 public:
  explicit ThreadScope(uint32_t threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace byoc::onednn
