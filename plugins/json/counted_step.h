// SPDX-License-Identifier: Apache-2.0
#pragma once
// An op that reads or gives values with counted dims: its kernel is prepared in every run.
#include "byoc/op/op.h"

namespace byoc::json_plugin {

class CountedStep {
 public:
  /// Returns true when the kernel cannot be prepared once: some dims are known in a run alone.
  static bool is_needed(const OpDef& op, Types in, Types out);
  /// Makes a step; `args` are the numbers of the operands. Errors: those of preparing a kernel for
  /// the bounds of counted dims and for usual sizes.
  static Result<CountedStep> make(const OpDef& op, Types in, Types out, const Attrs& attrs,
                                  std::vector<uint32_t> args);
  void set_results(std::vector<uint32_t> results) { results_ = std::move(results); }
  /// Runs the op. `types` has the types of all values in this run; those of the results are set.
  /// Errors: of inferring and preparing; kOutOfRange when a result is larger than its bound.
  Status run(const void* const* in, void* const* out, std::vector<TensorType>& types) const;

 private:
  Result<std::vector<TypeId>> results_of(Types in, const void* const* data) const;

  const OpDef* op_ = nullptr;
  Attrs attrs_;
  std::vector<uint32_t> args_, results_;  // numbers of values
  std::vector<TensorType> bounds_;        // of the results
};

}  // namespace byoc::json_plugin
