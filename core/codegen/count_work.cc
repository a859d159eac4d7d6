// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/count_work.h"

#include "byoc/op/op.h"
#include "byoc/te/module.h"

namespace byoc {

void count_work(const IRModule& module, const Function& function, ExternalFunction& out) {
  if (te::has_loops(function)) {  // the attributes are there when they were made of ops
    out.flops += function.attrs.f("flops", 0);
    out.ops += static_cast<uint64_t>(function.attrs.i("ops", 0));
    return;
  }
  for (const Node& node : function.nodes) {
    if (auto* call = std::get_if<Call>(&node.kind)) {
      std::vector<TypeId> in, results;
      for (ValueId arg : function.args(node)) in.push_back(function.type(arg));
      for (size_t k = 0; k < node.types.size(); ++k) results.push_back(node.types[k]);
      out.flops += flops(*call->op, in, results, *call->attrs);
      ++out.ops;
    } else if (auto* invoke = std::get_if<Invoke>(&node.kind)) {
      count_work(module, module.function(invoke->function), out);  // composites do not nest
    }
  }
}

std::unordered_map<Symbol, size_t> count_calls(const IRModule& module) {
  std::unordered_map<Symbol, size_t> out;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      if (const auto* invoke = std::get_if<Invoke>(&node.kind)) ++out[invoke->function];
    }
  }
  return out;
}

}  // namespace byoc
