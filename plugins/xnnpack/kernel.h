// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan.h"

namespace byoc::xnnpack {

/// Runs a plan on the calling thread. One run at a time: operators hold the addresses of a run.
class XnnpackKernel : public sdk::Kernel {
 public:
  explicit XnnpackKernel(Plan plan) : plan_(std::move(plan)), ranges_(plan_.values) {}
  sdk::KernelInfo info() const override;
  void run(const sdk::Call& call) const override;

 private:
  void run_step(const Step& step, const sdk::Call& call) const;
  void run_operator_of(const Step& step, const sdk::Call& call, float* y) const;

  Plan plan_;
  mutable std::vector<Range> ranges_;  // of the present run, by value
};

}  // namespace byoc::xnnpack
