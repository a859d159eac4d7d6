// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/choose/loops_in_place.h"

#include <algorithm>
#include <map>

#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/count_work.h"

namespace byoc {
namespace {

std::string words(std::span<const TypeId> types) {
  std::string out;
  for (TypeId type : types) out += cat(out.empty() ? "" : " ", type);
  return out.empty() ? "nothing" : out;
}

Status check_types(std::string_view what, std::span<const TypeId> have,
                   std::span<const TypeId> due) {
  if (std::ranges::equal(have, due)) return {};
  return invalid(cat("the schedule is of a computation with the ", what, " ", words(have),
                     ", the function has ", words(due)))
      .with_slug("provider-loops")
      .with_help("a provider schedules the Dag that it is given");
}

Strings texts_of(const std::vector<Symbol>& symbols) {
  Strings out;
  for (Symbol symbol : symbols) out.push_back(symbol.str());
  return out;
}

// Keeps what profiles and reports show of the ops.
void note_ops(const IRModule& module, const Function& ops, Function& loops) {
  ExternalFunction work;
  count_work(module, ops, work);
  if (Strings locs = texts_of(all_locs(module, ops)); !locs.empty())
    loops.attrs.set("locs", std::move(locs));
  loops.attrs.set("ops", static_cast<int64_t>(work.ops));
  loops.attrs.set("flops", work.flops);
}

// Returns `function` with the constants as further arguments of its calls, each constant once.
Function with_constants(const Function& function, const LiftedConstants& lifted) {
  Rewriter rewriter(function);
  std::map<std::pair<const Buffer*, uint32_t>, ValueId> known;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const auto* invoke = std::get_if<Invoke>(&function.nodes[k].kind);
    const auto constants = invoke == nullptr ? lifted.end() : lifted.find(invoke->function);
    if (constants == lifted.end()) {
      rewriter.copy(k);
      continue;
    }
    std::vector<ValueId> args = rewriter.mapped_args(k);
    for (const auto& [data, type] : constants->second) {
      auto [at, is_new] = known.try_emplace({data, type.id()});
      if (is_new) at->second = {rewriter.to().add_constant(data, type), 0};
      args.push_back(at->second);
    }
    const Node& node = function.nodes[k];
    rewriter.replace(k, rewriter.to().add_invoke(invoke->function, args, node.types, node.loc));
  }
  return std::move(rewriter).finish();
}

bool calls_any(const Function& function, const LiftedConstants& lifted) {
  return std::ranges::any_of(function.nodes, [&](const Node& node) {
    const auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr) return false;
    auto at = lifted.find(invoke->function);
    return at != lifted.end() && !at->second.empty();
  });
}

}  // namespace

std::vector<LiftedConstant> constants_of(const IRModule& module, const Function& function) {
  struct Frame {
    const Function* function;
    size_t next = 0;
  };
  std::vector<LiftedConstant> out;
  std::vector<Frame> frames = {{&function}};
  while (!frames.empty()) {
    Frame& top = frames.back();
    if (top.next == top.function->nodes.size()) {
      frames.pop_back();
      continue;
    }
    const Node& node = top.function->nodes[top.next++];
    if (const auto* constant = std::get_if<Constant>(&node.kind))
      out.push_back({constant->data, node.types[0]});
    if (const auto* invoke = std::get_if<Invoke>(&node.kind))
      frames.push_back({&module.function(invoke->function)});
  }
  return out;
}

Result<Function> loops_in_place_of(const IRModule& module, Symbol name,
                                   const te::LoopFunction& loops) {
  const Function& ops = module.function(name);
  BYOC_TRY(Function out, te::function_of(loops));
  FunctionSignature due = signature(ops);
  for (const LiftedConstant& constant : constants_of(module, ops))
    due.params.push_back(constant.type);
  const FunctionSignature have = signature(out);
  BYOC_TRY_STATUS(check_types("inputs", have.params, due.params));
  BYOC_TRY_STATUS(check_types("outputs", have.results, due.results));
  for (const auto& [key, value] : ops.attrs) {
    if (!out.attrs.has(key)) out.attrs.set(key, value);
  }
  note_ops(module, ops, out);
  return out;
}

void pass_constants(IRModule& module, const LiftedConstants& lifted) {
  for (auto& [name, function] : module.functions) {
    if (calls_any(function, lifted)) function = with_constants(function, lifted);
  }
}

}  // namespace byoc
