// Types of all nodes from those of parameters and constants, callees first, so that a call of a
// function finds its results known. What call_dps_packed returns is known to its plugin alone: it
// stays.
#include "byoc/pass/passes.h"
#include "byoc/text/text.h"
#include "core/simplify/infer.h"

namespace byoc {
namespace simplify {

namespace {

Status check_argument(const Function& caller, uint32_t node, const Function& callee, uint32_t k) {
  ValueId arg = caller.args(caller.nodes[node])[k];
  TypeId given = caller.type(arg), expected = callee.nodes[k].types[0];
  if (given == expected) return {};
  return invalid(cat("argument ", k, " is ", given, ", parameter ",
                     std::get<Param>(callee.nodes[k].kind).name, " is ", expected))
      .with_slug("signature-mismatch");
}

Result<TypeIds> infer_invoke(const IRModule& module, const Function& caller, uint32_t node) {
  Symbol name = std::get<Invoke>(caller.nodes[node].kind).function;
  const Function& callee = module.function(name);
  size_t given = caller.args(caller.nodes[node]).size(), expected = callee.num_params();
  if (given != expected) {
    return invalid(cat("@", name, " takes ", expected, " arguments, the call gives ", given))
        .with_slug("signature-mismatch");
  }
  for (uint32_t k = 0; k < given; ++k) BYOC_TRY_STATUS(check_argument(caller, node, callee, k));
  return TypeIds(callee.result_types());
}

Result<TypeIds> infer_node(const IRModule& module, const Function& function, uint32_t node) {
  const Node& n = function.nodes[node];
  if (auto* call = std::get_if<Call>(&n.kind)) return infer_call(function, n, *call);
  if (std::holds_alternative<Invoke>(n.kind)) return infer_invoke(module, function, node);
  return n.types;
}

}  // namespace

Result<TypeIds> infer_call(const Function& function, const Node& node, const Call& call) {
  std::vector<TypeId> inputs;
  for (ValueId arg : function.args(node)) inputs.push_back(function.type(arg));
  BYOC_TRY(std::vector<TypeId> types, byoc::infer_types(*call.op, inputs, *call.attrs));
  return TypeIds(types);
}

Status place(Status status, Symbol name, const Function& function, uint32_t node) {
  return std::move(status).at(describe(function, node)).at(cat("@", name));
}

}  // namespace simplify

Result<IRModule> infer_types(IRModule module, const PassContext&) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module));
  for (Symbol name : order) {
    Function& function = module.function(name);
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      Result<TypeIds> types = simplify::infer_node(module, function, k);
      if (!types.ok()) return simplify::place(std::move(types.status()), name, function, k);
      function.nodes[k].types = *types;
    }
  }
  return module;
}

}  // namespace byoc
