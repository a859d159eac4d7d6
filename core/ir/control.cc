// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/control.h"

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"

namespace byoc {
namespace {

Status misfit(std::string message) {
  return invalid(std::move(message)).with_slug("control-types");
}

std::string words(std::span<const TypeId> types) {
  std::string out;
  for (TypeId type : types) out += cat(out.empty() ? "" : ", ", type);
  return out.empty() ? "nothing" : out;
}

TypeId scalar(DType dtype) { return TypeId(TensorType{dtype, {}}); }

bool same(std::span<const TypeId> a, std::span<const TypeId> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Status check_conditions(const Function& function, const Control& control) {
  std::span<const ValueId> args = function.args(control.args);
  if (args.size() < size_t{control.conditions()} + control.carried)
    return misfit(cat(args.size(), " operands, expected at least ",
                      size_t{control.conditions()} + control.carried));
  if (control.action == Control::kLoop && function.type(args[0]) != scalar(DType::kI64))
    return misfit(cat("the number of iterations is ", function.type(args[0]), ", expected i64[]"));
  TypeId condition = function.type(args[control.conditions() - 1]);
  if (condition == scalar(DType::kBool)) return {};
  return misfit(cat("the condition is ", condition, ", expected bool[]"));
}

Status check_params(const Function& function, const Node& node, Symbol name,
                    const FunctionSignature& body) {
  std::vector<TypeId> given = body_params(function, node);
  if (same(given, body.params)) return {};
  return misfit(
      cat("@", name, " receives ", words(given), ", its parameters are ", words(body.params)));
}

Result<TypeIds> if_types(const Control& control, std::span<const FunctionSignature> bodies) {
  BYOC_CHECK(bodies.size() == 2, bodies.size(), " bodies of an if");
  if (same(bodies[0].results, bodies[1].results)) return TypeIds(bodies[0].results);
  return misfit(cat("@", control.body, " returns ", words(bodies[0].results), ", @",
                    control.otherwise, " returns ", words(bodies[1].results)));
}

// The results of a body are the condition, the carried values, and the values that are stacked.
Result<TypeIds> loop_types(const Control& control, TypeIds have, const FunctionSignature& body) {
  std::span<const TypeId> results(body.results);
  if (results.empty() || results[0] != scalar(DType::kBool))
    return misfit(cat("@", control.body, " returns ", words(results), ", expected a bool[] first"));
  const size_t carried = control.carried;
  if (results.size() < carried + 1 || have.size() != results.size() - 1)
    return misfit(cat("@", control.body, " returns ", results.size(), " values, the loop carries ",
                      carried, " and has ", have.size(), " results"));
  std::span<const TypeId> params(body.params);
  if (!same(params.subspan(1, carried), results.subspan(1, carried)))
    return misfit(cat("@", control.body, " is given ", words(params.subspan(1, carried)),
                      " and returns ", words(results.subspan(1, carried)),
                      ", which is not what the next iteration receives"));
  std::vector<TypeId> types(results.begin() + 1, results.end());
  for (size_t k = carried; k < types.size(); ++k) {
    if (has_counted(types[k]->shape))
      return misfit(cat("stacked result ", k, " has rows of type ", types[k],
                        ", whose sizes differ from one iteration to the next"));
    if (have[k]->shape.empty()) return misfit(cat("stacked result ", k, " has no first dim"));
    TensorType stacked = *types[k];
    stacked.shape.insert(stacked.shape.begin(), have[k]->shape[0]);
    if (stacked.shape.size() > kMaxRank)
      return misfit(cat("stacked result ", k, " has more than ", kMaxRank, " dims"));
    types[k] = stacked;
  }
  return TypeIds(types);
}

}  // namespace

std::vector<TypeId> body_params(const Function& function, const Node& node) {
  const Control& control = std::get<Control>(node.kind);
  std::vector<TypeId> out;
  if (control.action == Control::kLoop) out.push_back(scalar(DType::kI64));
  for (ValueId arg : function.args(control.args).subspan(control.conditions()))
    out.push_back(function.type(arg));
  return out;
}

Result<TypeIds> control_types(const Function& function, const Node& node,
                              std::span<const FunctionSignature> bodies) {
  const Control& control = std::get<Control>(node.kind);
  BYOC_TRY_STATUS(check_conditions(function, control));
  for (size_t k = 0; k < bodies.size(); ++k)
    BYOC_TRY_STATUS(check_params(function, node, callees(node)[k], bodies[k]));
  if (control.action == Control::kIf) return if_types(control, bodies);
  return loop_types(control, node.types, bodies[0]);
}

Result<TypeIds> control_types(const IRModule& module, const Function& function, const Node& node) {
  std::vector<FunctionSignature> bodies;
  for (Symbol name : callees(node)) {
    if (!name.empty()) bodies.push_back(signature(module.function(name)));
  }
  return control_types(function, node, bodies);
}

}  // namespace byoc
