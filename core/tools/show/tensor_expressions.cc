// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/tensor_expressions.h"

#include "byoc/ir/visit.h"

namespace byoc::driver {
namespace {

using Json = nlohmann::ordered_json;

Json extents_json(const te::Exprs& extents) {
  Json out = Json::array();
  for (const te::Expr& extent : extents) {
    if (auto number = te::as_int(extent)) out.push_back(*number);
    else out.push_back(te::print(extent));
  }
  return out;
}

Json tensor_json(const te::Tensor& tensor) {
  return {{"name", tensor.name()},
          {"dtype", dtype_name(tensor.dtype())},
          {"shape", extents_json(tensor.shape())}};
}

Json tensors_json(const std::vector<te::Tensor>& tensors) {
  Json out = Json::array();
  for (const te::Tensor& tensor : tensors) out.push_back(tensor_json(tensor));
  return out;
}

Json axes_json(const std::vector<te::Axis>& axes) {
  Json out = Json::array();
  for (const te::Axis& axis : axes)
    out.push_back({{"name", axis.var.name()}, {"extent", extents_json({axis.extent})[0]}});
  return out;
}

Json stage_json(const te::Stage& stage) {
  Json out = {{"name", stage.name}, {"kind", "placeholder"}};
  std::visit(overloaded{
                 [](const te::Placeholder&) {},
                 [&](const te::Compute& compute) {
                   out["kind"] = compute.reduce.empty() ? "compute" : "reduction";
                   out["axes"] = axes_json(compute.axes);
                   out["reduce"] = axes_json(compute.reduce);
                   for (const te::Expr& value : compute.values)
                     out["values"].push_back(te::print(value));
                 },
                 [&](const te::Procedure& procedure) {
                   out["kind"] = "procedure";
                   out["text"] = te::print(procedure.body);
                 },
             },
             stage.kind);
  out["outputs"] = tensors_json(stage.outputs);
  if (stage.op.empty()) return out;
  out["op"] = stage.op;
  out["compute"] = stage.compute;
  out["node"] = stage.call;
  return out;
}

}  // namespace

std::vector<Symbol> functions_of_interest(const IRModule& module, const std::string& function) {
  if (!function.empty()) return {function};
  std::vector<Symbol> compiled;
  for (const auto& [name, body] : module.functions) {
    bool is_region = body.attrs.has("compiler") && !body.attrs.has("composite");
    if (is_region && name != module.entry) compiled.push_back(name);
  }
  if (compiled.empty()) compiled.push_back(module.entry);
  return compiled;
}

Result<te::Dag> dag_of(const IRModule& module, Symbol function, const te::Target& target) {
  Result<te::Dag> dag =
      te::translate_to_te(module, module.function(function), target, te::by_level());
  if (!dag.ok()) return std::move(dag.status()).at(cat("function ", function));
  return dag;
}

Json dag_json(const IRModule& module, Symbol function, const te::Dag& dag) {
  Json stages = Json::array();
  for (const te::Stage& stage : dag.stages) stages.push_back(stage_json(stage));
  return {{"function", function.str()},
          {"name", dag.name},
          {"anchor", te::find_anchor(module.function(function)).node},
          {"inputs", tensors_json(dag.inputs)},
          {"outputs", tensors_json(dag.outputs)},
          {"stages", stages}};
}

}  // namespace byoc::driver
