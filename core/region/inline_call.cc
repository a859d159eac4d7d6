// SPDX-License-Identifier: Apache-2.0
#include "core/region/inline_call.h"

#include <algorithm>
#include <unordered_set>

#include "core/region/judge.h"

namespace byoc {

void inline_call(Rewriter& rewriter, uint32_t node, const Function& body) {
  std::vector<ValueId> args = rewriter.mapped_args(node);
  Rewriter inner(body);
  std::vector<ValueId> now(body.nodes.size());  // first output of each node of the body
  size_t params = body.num_params();
  std::vector<ValueId> inner_args;
  auto moved = [&](ValueId v) {
    return v.node < params ? args[v.node] : ValueId{now[v.node].node, v.output};
  };
  for (uint32_t k = static_cast<uint32_t>(params); k < body.nodes.size(); ++k) {
    inner_args.clear();
    for (ValueId arg : body.args(body.nodes[k])) inner_args.push_back(moved(arg));
    now[k] = {rewriter.to().add_copy(body.nodes[k], inner_args), 0};
  }
  for (uint32_t k = 0; k < body.results.size(); ++k)
    rewriter.set({node, k}, moved(body.results[k]));
}

Function inline_composites_in(const IRModule& module, const Function& function,
                              const std::vector<std::string>& owners) {
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    auto* invoke = std::get_if<Invoke>(&function.nodes[node].kind);
    const Function* callee = invoke ? module.find(invoke->function) : nullptr;
    bool goes = callee != nullptr && callee->attrs.has("composite") &&
                (owners.empty() ||
                 std::find(owners.begin(), owners.end(), composite_owner(*callee)) != owners.end());
    if (goes) inline_call(rewriter, node, *callee);
    else rewriter.copy(node);
  }
  return std::move(rewriter).finish();
}

void drop_uncalled_composites(IRModule& module) {
  std::unordered_set<Symbol> called;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      if (auto* invoke = std::get_if<Invoke>(&node.kind)) called.insert(invoke->function);
    }
  }
  std::erase_if(module.functions, [&](const auto& item) {
    return item.second.attrs.has("composite") && !called.contains(item.first) &&
           item.first != module.entry;
  });
}

}  // namespace byoc
