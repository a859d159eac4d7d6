// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which stages of a Dag read which, and how often.
#include <set>

#include "plugins/cuda/loops/job.h"

namespace byoc::cuda {

/// Refers to the Dag. Immutable.
class Readers {
 public:
  using Reads = std::vector<std::pair<size_t, int64_t>>;  // stages, and loads in their expressions
  explicit Readers(const te::Dag& dag);
  const Reads& of(size_t stage) const { return readers_[stage]; }
  /// Returns the stage that makes a tensor.
  size_t maker_of(const te::Tensor& tensor) const { return maker_.at(tensor.id()); }
  bool is_output(const te::Tensor& tensor) const { return outputs_.contains(tensor.id()); }
  /// Returns null for a stage that is no Compute, or no reduction.
  const te::Compute* compute_of(size_t stage) const {
    return std::get_if<te::Compute>(&dag_.stages[stage].kind);
  }
  const te::Compute* reduction_of(const te::Tensor& tensor) const;
  /// Returns the reads of all elements of a stage in a run. All readers are Computes.
  int64_t reads_of(size_t stage) const;
  /// Returns true when the job reads a reduction that nothing else reads, at its own element.
  bool ends_a_reduction(const Job& job) const;

 private:
  const te::Dag& dag_;
  std::unordered_map<const void*, size_t> maker_;  // by tensor
  std::vector<Reads> readers_;                     // by stage
  std::set<const void*> outputs_;
};

using Users = std::unordered_map<const void*, std::vector<size_t>>;  // stages, by tensor

/// The jobs of a function, by stage, and the jobs and procedures that read a value.
struct Jobs {
  const std::vector<std::optional<Job>>& of;
  const Readers& readers;
  Users users;
};

/// Returns true when a load is at the element that these axes are at, of a tensor of their extents.
bool is_identity(const te::Load& load, const std::vector<te::Axis>& axes, const Extents& extents);

}  // namespace byoc::cuda
