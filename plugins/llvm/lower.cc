// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/lower.h"

#include <algorithm>

#include "byoc/ir/intern.h"
#include "byoc/te/module.h"
#include "byoc/text/graph_json.h"
#include "plugins/llvm/analysis/shared_work.h"
#include "plugins/llvm/analysis/written_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/knobs.h"
#include "plugins/llvm/open/translate_open.h"

namespace byoc::llvm_plugin {
namespace {

// The largest number of different kernels of a few small ops each that are compiled one by one, at
// about 10 ms each. With more of them all become sequences of ops, which share code: thousands of
// kernels would cost a minute of LLVM's time.
constexpr int64_t kMostSmallKernels = 64;

// The callers of these loops pass the function's parameters and nothing else.
Result<te::LoopFunction> loops_of(const IRModule& module, const te::Target& target) {
  if (has_open_sizes(module)) {
    BYOC_TRY(OpenDag dag, translate_open(module, target));
    return lower_open_whole(dag.open, dag.nominal, target);
  }
  BYOC_TRY(te::Dag dag, translate(module, target));
  return lower_whole(dag, target);
}

Result<KernelLoops> kernel_of(const IRModule& module, const te::Target& target) {
  if (has_open_sizes(module)) return open_kernel(module, target);
  BYOC_TRY(te::Dag dag, translate(module, target));
  return lower_with_constants(dag, inputs_of(module, dag), target);
}

Status check_translation(const IRModule& module, const te::Target& target) {
  return has_open_sizes(module) ? translate_open(module, target).status()
                                : translate(module, target).status();
}

IRModule module_of(Function piece) {
  IRModule out;
  out.functions[out.entry] = std::move(piece);
  return out;
}

}  // namespace

Result<IRModule> read_function(std::string_view graph_json, const RequestFacts& facts) {
  BYOC_TRY(IRModule out, read_graph_json(graph_json, all_ops(), nullptr));
  Function& function = out.function(out.entry);
  const auto parameters = std::ranges::count_if(
      function.nodes, [](const Node& node) { return std::holds_alternative<Param>(node.kind); });
  function.attrs.set(kInputsAttr, int64_t{parameters} - facts.constants);
  if (facts.exact_sums) function.attrs.set(kExactSumsAttr, true);
  if (facts.shared_weights) function.attrs.set(kSharedWeightsAttr, true);
  if (!facts.families.empty()) function.attrs.set(kFamiliesAttr, facts.families);
  return out;
}

Result<Lowered> lower_function(const IRModule& module, const te::Target& target, SplitWhen when,
                               const topi::Point& point) {
  Lowered out;
  if (te::has_loops(module.function(module.entry))) {
    if (!point.empty())
      return invalid("a point for a loop function, which has no knobs").with_slug("bad-point");
    BYOC_TRY(te::LoopFunction loops, written_loops(module));
    out.kernels.push_back(std::move(loops));
    return out;
  }
  std::optional<Split> split;
  if (point.empty() && !has_open_sizes(module)) {
    BYOC_TRY(split, split_function(module, target, when));
  }
  if (!split) {
    BYOC_TRY(KernelLoops kernel,
             point.empty() ? kernel_of(module, target) : kernel_at(module, target, point));
    out.kernels.push_back(std::move(kernel.loops));
    out.constants = std::move(kernel.constants);
    return out;
  }
  for (Function& piece : split->pieces) {
    BYOC_TRY(te::LoopFunction loops, loops_of(module_of(std::move(piece)), target));
    out.kernels.push_back(std::move(loops));
  }
  out.sequence = std::move(split->sequence);
  return out;
}

// Parameters are the first nodes of a function, and no nodes of its graph.
Result<std::vector<KernelGroup>> groups_of_graph(const FunctionToLower& function) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_function(function.graph_json, function.facts));
  const Function& body = module.function(module.entry);
  const auto params = static_cast<uint32_t>(std::ranges::count_if(
      body.nodes, [](const Node& node) { return std::holds_alternative<Param>(node.kind); }));
  std::vector<KernelGroup> out = groups_of(body);
  for (KernelGroup& group : out) {
    for (uint32_t& node : group.nodes) node -= params;
  }
  return out;
}

std::vector<FunctionModule> read_functions(std::span<const FunctionToLower> functions,
                                           const ForEach& for_each) {
  std::vector<FunctionModule> out(functions.size());
  for_each(out.size(), [&](size_t f) {
    InternScope scope(out[f].arena);  // one thread at a time may use an arena
    auto module = read_function(functions[f].graph_json, functions[f].facts);
    if (module.ok()) out[f].module = *std::move(module);
    else out[f].error = std::move(module.status());
  });
  auto is_small = [](const FunctionModule& f) {
    return f.error.ok() && is_small_function(f.module);
  };
  if (std::ranges::count_if(out, is_small) <= kMostSmallKernels) return out;
  for (FunctionModule& function : out) {
    if (is_small(function)) function.when = SplitWhen::kAlways;
  }
  return out;
}

Result<Lowered> lower_function(FunctionModule& function, const te::Target& target,
                               const topi::Point& point) {
  BYOC_TRY_STATUS(Status(function.error));
  InternScope scope(function.arena);
  return lower_function(function.module, target, function.when, point);
}

// Frees the interned values of the graph: tensor expressions contain none.
Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_function(graph_json));
  return loops_of(module, target);
}

Status can_translate(std::string_view graph_json, const te::Target& target,
                     const std::function<void(const IRModule&)>& then) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_function(graph_json));
  std::optional<Split> split;
  if (!has_open_sizes(module)) {
    BYOC_TRY(split, split_function(module, target));
  }
  if (!split) BYOC_TRY_STATUS(check_translation(module, target));
  if (split) {
    for (Function& piece : split->pieces)
      BYOC_TRY_STATUS(check_translation(module_of(std::move(piece)), target));
  }
  if (!then) return {};
  if (!has_open_sizes(module)) {
    then(module);
    return {};
  }
  BYOC_TRY(const IRModule nominal, nominal_module(module));
  then(nominal);
  return {};
}

std::string work_of(const Lowered& function, const te::Target& target) {
  std::vector<double> calls(function.kernels.size(), function.sequence ? 0 : 1);
  if (function.sequence) {
    for (const Sequence::Call& call : function.sequence->calls) ++calls.at(call.piece);
  }
  const WorkUnits units{target.vector_bits / 8, target.shares_all};
  SharedWork all;
  for (size_t k = 0; k < calls.size(); ++k)
    add(all, shared_work(function.kernels[k], target.threads, units), calls[k]);
  return print(all);
}

}  // namespace byoc::llvm_plugin
