// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices for one function, and its loops at each of them. The knob "compute" of a convolution
// is the strategy of translation; all others are those of the schedule's template.
#include "byoc/ir/module.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin {

/// The knob space of a function.
struct FunctionSpace {
  /// Names the computation: te::canonical_text with direct computes.
  std::string task;
  std::string kind;
  double flops = 0, bytes = 0;
  topi::Choices choices;
};
/// Returns nullopt where there is one choice alone: also for functions that are split. Errors: those
/// of translation.
Result<std::optional<FunctionSpace>> space_of(const IRModule& module, const te::Target& target);

/// Lowers a function at a point of its space. Errors: kInvalidArgument naming the knob and its
/// values when the point is outside of the space; those of translation.
Result<te::LoopFunction> loops_at(const IRModule& module, const te::Target& target,
                                  const topi::Point& point);

}  // namespace byoc::llvm_plugin
