// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function with open sizes: a kernel per size, made when a run has that size.
#include <list>

#include "kernel.h"
#include "open_sizes.h"

namespace byoc::onednn {

/// Runs a function with open sizes by kernels that are made for numbers, by the code that makes
/// those of functions with numbers. At most kMostKept of them are kept; the one that was used least
/// recently goes first. Re-entrant: a run makes a kernel while others run those that are there, and
/// runs of one new size wait for the one that makes it.
class OpenKernel : public sdk::Kernel {
 public:
  static constexpr size_t kMostKept = 16;

  /// Makes the kernel of the nominal sizes, whose constants the others share, and plans the largest
  /// and the least ones, which no run may find impossible. Throws Refusal and dnnl::error.
  OpenKernel(sdk::Function& function, dnnl::engine engine, const ChainRules& rules);
  sdk::KernelInfo info() const override;
  /// Allocates for a size that is not kept.
  void run(const sdk::Call& call) const override;

 private:
  struct Entry {
    Sizes sizes;
    std::mutex making;                           // held while the kernel is made
    std::shared_ptr<const OnednnKernel> kernel;  // guarded by mutex_
  };
  using Entries = std::list<std::shared_ptr<Entry>>;

  Plan plan_for(const Sizes& sizes) const;
  std::shared_ptr<const OnednnKernel> make(const Sizes& sizes) const;
  std::shared_ptr<const OnednnKernel> kernel_for(const sdk::Call& call) const;
  std::shared_ptr<Entry> entry_for(std::span<const int64_t> sizes) const;
  std::shared_ptr<const OnednnKernel> made_by(Entry& entry, const sdk::Call& call) const;
  void forget(const Entry& entry) const;
  void report(const sdk::Call& call, const Sizes& sizes, uint64_t begin_ns) const;

  Graph graph_;
  dnnl::engine engine_;
  ChainRules rules_;
  uint32_t threads_;
  mutable ConstantStore constants_;  // thread-safe
  PackedLayouts layouts_;            // of the nominal sizes
  uint64_t workspace_bytes_ = 0;     // of the plans that compile makes
  std::shared_ptr<const OnednnKernel> nominal_;
  mutable std::mutex mutex_;  // guards the list
  mutable Entries entries_;   // most recently used first
};

}  // namespace byoc::onednn
