// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowers a function in the ABI's form to loops: tensor expressions, a schedule, lowering.
#include "byoc/ir/intern.h"
#include "byoc/translate/translate.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/for_each.h"
#include "plugins/llvm/split.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin {

/// One function: a kernel, or the kernels of the pieces that a sequence calls.
struct Lowered {
  std::vector<te::LoopFunction> kernels;
  std::optional<Sequence> sequence;
  std::optional<ConstantLoops> constants;  // of the only kernel
};

/// Facts about a function that its graph does not have.
struct RequestFacts {
  int64_t constants = 0;        // of the graph
  bool exact_sums = false;      // BYOC_STRICT_FP
  bool shared_weights = false;  // BYOC_SHARED_WEIGHTS
  std::string families = {};    // without, or preferred (kFamiliesAttr)
};
/// Reads a function, whose constants become parameters after the inputs. Errors: kBadGraph.
Result<IRModule> read_function(std::string_view graph_json, const RequestFacts& facts = {});
/// Lowers a function. Splits it when it is too large for one kernel, or always. A point of its knob
/// space chooses its schedule, and it is then one kernel. Errors: kUnimplemented where an op has no
/// tensor expression or is not static; those of loops_at.
Result<Lowered> lower_function(const IRModule& module, const te::Target& target, SplitWhen when,
                               const topi::Point& point = {});
/// One of the functions of a request.
struct FunctionToLower {
  std::string_view graph_json;
  RequestFacts facts;
  topi::Point point = {};
};
/// Returns the kernels of several anchors that families find in a graph; their nodes are places in
/// its "nodes". Errors: kBadGraph.
Result<std::vector<KernelGroup>> groups_of_graph(const FunctionToLower& function);
/// A function of a request, read, with its interned values: loops contain none of them.
struct FunctionModule {
  InternArena arena;
  IRModule module;
  SplitWhen when = SplitWhen::kTooLarge;
  Status error;
};
/// Reads functions on the threads of `for_each`. Small ones are split, so that they share pieces,
/// when there are many of them. Throws what for_each throws.
std::vector<FunctionModule> read_functions(std::span<const FunctionToLower> functions,
                                           const ForEach& for_each);
/// Lowers a function that was read. Errors: those of lower_function.
Result<Lowered> lower_function(FunctionModule& function, const te::Target& target,
                               const topi::Point& point = {});
/// Lowers the whole function as one kernel, whatever its size. Errors: those of both.
Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target);
/// Counts how the target's threads share a run of the function (print of SharedWork).
std::string work_of(const Lowered& function, const te::Target& target);
/// Returns an error when translation fails, which is checked without a schedule. Otherwise calls
/// `then` with the function that was read.
Status can_translate(std::string_view graph_json, const te::Target& target,
                     const std::function<void(const IRModule&)>& then = {});

}  // namespace byoc::llvm_plugin
