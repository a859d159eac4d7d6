// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices for one function, and its loops at each of them. The knob "compute" of a convolution
// is the strategy of translation; the templates of schedules have the others. Where computes
// have templates with different knobs, a point has all of them, and a compute uses its own.
#include "byoc/ir/module.h"
#include "plugins/llvm/constants/kernel_loops.h"

namespace byoc::llvm_plugin {

/// The knob space of a function.
struct FunctionSpace {
  /// Names the computation: te::canonical_text with direct computes. Of a function with open sizes
  /// it is the text at the numbers that schedules are chosen for, so that functions with other
  /// bounds share the task where these numbers agree, and the dims that are open.
  std::string task;
  std::string kind;
  double flops = 0, bytes = 0;
  topi::Choices choices;
  // By value of the knob "compute": estimates, and the bytes of constants that a run reads.
  std::map<std::string, double> compute_ns, constant_bytes;
};
/// Returns how many inputs the Dag of a module's entry has before its constants (read_function).
size_t inputs_of(const IRModule& module, const te::Dag& dag);
/// Returns nullopt where there is only one choice: also for functions that are split. Errors: as
/// translation has them.
Result<std::optional<FunctionSpace>> space_of(const IRModule& module, const te::Target& target);

/// Lowers a function with open sizes at a point of its template; no point: at the first that fits.
/// Errors: those of translate_open and lower_open; of a point as those of kernel_at.
Result<KernelLoops> open_kernel(const IRModule& module, const te::Target& target,
                                const topi::Point* point = nullptr);
/// Lowers a function at a point of its space. Errors: kInvalidArgument naming the knob and its
/// values when the point is outside of the space; those of translation.
Result<KernelLoops> kernel_at(const IRModule& module, const te::Target& target,
                              const topi::Point& point);
/// Returns the loops of kernel_at for a function whose constants are inputs.
Result<te::LoopFunction> loops_at(const IRModule& module, const te::Target& target,
                                  const topi::Point& point);

}  // namespace byoc::llvm_plugin
