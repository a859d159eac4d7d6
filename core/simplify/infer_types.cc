// SPDX-License-Identifier: Apache-2.0
// Infers the types of all nodes from those of parameters and constants, callees first, so that the
// result types of called functions are available. Results of call_dps_packed keep their types.
//   before: %0 = add(%x, %x) : f32[1]      with %x: f32[2]
//   after:  %0 = add(%x, %x) : f32[2]
// This is the first pass of a compilation. It refuses operands that no node computes, which modules
// built by hand may have.
#include <optional>

#include "byoc/ir/control.h"
#include "byoc/pass/simplify.h"
#include "byoc/text/text.h"
#include "core/simplify/infer.h"

namespace byoc {
namespace simplify {

namespace {

std::optional<Operands> operands_of(const Node& node) {
  using Slice = std::optional<Operands>;
  return std::visit(overloaded{
                        [](const Param&) { return Slice(); },
                        [](const Constant&) { return Slice(); },
                        [](const Call& call) { return Slice(call.args); },
                        [](const Invoke& invoke) { return Slice(invoke.args); },
                        [](const Extern& external) { return Slice(external.args); },
                        [](const Control& control) { return Slice(control.args); },
                    },
                    node.kind);
}

/// Checks that every value is an output of one of the first `limit` nodes.
Status check_values(const Function& function, std::span<const ValueId> values, size_t limit) {
  for (ValueId value : values) {
    if (value.node < limit && value.output < function.nodes[value.node].types.size()) continue;
    return invalid(cat("value ", value.node, "#", value.output,
                       " is read, and no node before computes it"))
        .with_slug("ir-invalid");
  }
  return {};
}

Status check_operands(const Function& function, uint32_t node) {
  std::optional<Operands> slice = operands_of(function.nodes[node]);
  if (!slice) return {};
  if (uint64_t{slice->begin} + slice->count > function.operands.size()) {
    return invalid("its operands are outside the function's list of operands")
        .with_slug("ir-invalid");
  }
  return check_values(function, function.args(function.nodes[node]), node);
}

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
  BYOC_TRY_STATUS(check_operands(function, node));
  if (auto* call = std::get_if<Call>(&n.kind)) return infer_call(function, n, *call);
  if (std::holds_alternative<Invoke>(n.kind)) return infer_invoke(module, function, node);
  if (std::holds_alternative<Control>(n.kind)) return control_types(module, function, n);
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
    Status results = simplify::check_values(function, function.results, function.nodes.size());
    if (!results.ok()) return std::move(results).at("return").at(cat("@", name));
  }
  return module;
}

}  // namespace byoc
