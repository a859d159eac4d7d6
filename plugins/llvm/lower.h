// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function as it crosses the ABI -> loops: tensor expressions, a schedule, lowering.
#include "byoc/translate/translate.h"
#include "plugins/llvm/split.h"

namespace byoc::llvm_plugin {

/// One function: a kernel, or kernels that a sequence calls, whose pieces they are.
struct Lowered {
  std::vector<te::LoopFunction> kernels;
  std::optional<Sequence> sequence;
};

/// Reads a function. Errors: kBadGraph.
Result<IRModule> read_function(std::string_view graph_json);
/// Splits what is too large for one kernel, or all.
/// Errors: kUnimplemented where an op has no tensor expression or is not static.
Result<Lowered> lower_function(const IRModule& module, const te::Target& target, SplitWhen when);
/// The whole function as one kernel, whatever its size. Errors: those of both.
Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target);
/// As far as it can be told without a schedule.
Status can_translate(std::string_view graph_json, const te::Target& target);

}  // namespace byoc::llvm_plugin
