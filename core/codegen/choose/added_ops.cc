// SPDX-License-Identifier: Apache-2.0
// Makes ops of libraries loops, which plugins compile that do not have the op. Calls inside of
// regions stay: their plugin takes the op.
//   before: %0 = example_swish(%x)
//   after:  loops example_swish(x: f32[8]) -> (y: f32[8]) { ... }
//           %0 = @example_swish(%x)
// Equal calls share one function.
#include <algorithm>

#include "byoc/extend/loops.h"
#include "byoc/ir/visit.h"
#include "byoc/op/added.h"
#include "byoc/te/module.h"
#include "byoc/te/target.h"
#include "byoc/translate/translate.h"
#include "core/codegen/choose/loops_in_place.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

class AddedLoops {
 public:
  AddedLoops(IRModule module, te::Target target)
      : module_(std::move(module)), target_(std::move(target)) {}

  Result<IRModule> run() {
    std::vector<Symbol> names;
    for (const auto& [name, function] : module_.functions) {
      const Attrs& attrs = function.attrs;
      if (!attrs.has("composite") && !attrs.has("primitive") && !attrs.has("compiler"))
        names.push_back(name);
    }
    for (Symbol name : names) BYOC_TRY_STATUS(replace_calls(name));
    return std::move(module_);
  }

 private:
  static const Call* added_call(const Node& node) {
    const auto* call = std::get_if<Call>(&node.kind);
    return call != nullptr && is_added(*call->op) && call->op->compute ? call : nullptr;
  }

  Status replace_calls(Symbol name) {
    const Function function = module_.function(name);
    if (std::ranges::none_of(function.nodes, added_call)) return {};
    BYOC_TRY(const Annotations annotations, read_annotations(function, name));
    Rewriter rewriter(function);
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      const Node& node = function.nodes[k];
      if (added_call(node) == nullptr || annotations.region_of[k] != kOutside) {
        rewriter.copy(k);
        continue;
      }
      Result<Symbol> loops = loops_of(function, k);
      if (!loops.ok())
        return std::move(loops.status()).at(cat("@", name, " ", node_name(function, k)));
      rewriter.replace(
          k, rewriter.to().add_invoke(*loops, rewriter.mapped_args(k), node.types, node.loc));
    }
    module_.function(name) = std::move(rewriter).finish();
    return {};
  }

  // Returns the function of loops for a call, whose operands are its parameters.
  Result<Symbol> loops_of(const Function& function, uint32_t index) {
    const Node& node = function.nodes[index];
    const Call& call = std::get<Call>(node.kind);
    std::string key = cat(call.op->name, " ", *call.attrs);
    for (ValueId arg : function.args(node)) key += cat(" ", function.type(arg));
    auto [at, is_new] = known_.try_emplace(std::move(key));
    if (!is_new) return at->second;
    Function alone;
    std::vector<ValueId> params;
    for (ValueId arg : function.args(node))
      params.push_back({alone.add_param(cat("x", params.size()), function.type(arg)), 0});
    const uint32_t now = alone.add_copy(node, params);
    for (uint32_t k = 0; k < node.types.size(); ++k) alone.results.push_back({now, k});
    const Symbol name = module_.unique_name(call.op->name);
    module_.functions.emplace(name, std::move(alone));
    BYOC_TRY(te::Dag dag,
             te::translate_to_te(module_, module_.function(name), target_, te::by_level()));
    BYOC_TRY(te::LoopFunction loops, te::lower(te::Schedule(dag)));
    BYOC_TRY(Function made, loops_in_place_of(module_, name, loops));
    module_.function(name) = std::move(made);
    return at->second = name;
  }

  IRModule module_;
  te::Target target_;
  std::map<std::string, Symbol> known_;
};

}  // namespace

Result<IRModule> make_added_loops(IRModule module, const PassContext& context) {
  const bool has_added = std::ranges::any_of(module.functions, [](const auto& item) {
    return std::ranges::any_of(item.second.nodes, [](const Node& node) {
      const auto* call = std::get_if<Call>(&node.kind);
      return call != nullptr && is_added(*call->op);
    });
  });
  if (!has_added) return module;
  BYOC_TRY(te::Target target,
           te::parse_target(context.target_json == "{}" ? "native" : context.target_json));
  target.threads = std::max(context.threads, 1U);
  return AddedLoops(std::move(module), std::move(target)).run();
}

}  // namespace byoc
