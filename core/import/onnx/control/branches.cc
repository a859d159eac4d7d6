// SPDX-License-Identifier: Apache-2.0
// If:    y = if(condition, @then, @else, values that the branches read...)
#include "core/import/onnx/control/converter.h"
#include "core/import/onnx/control/kinds.h"

namespace byoc::onnx_import {
namespace {

class IfConverter : public Converter {
 public:
  using Converter::Converter;

  Result<std::vector<ValueId>> convert_if() {
    BYOC_TRY(onnx::GraphProto * then, subgraph(proto_, "then_branch"));
    BYOC_TRY(onnx::GraphProto * otherwise, subgraph(proto_, "else_branch"));
    BYOC_TRY_STATUS(check_inner(*then, 0));
    BYOC_TRY_STATUS(check_inner(*otherwise, 0));
    BYOC_TRY(ValueId condition, scalar_operand(0, DType::kBool, 0));
    if (std::optional<Ints> known = outer().const_ints(condition))
      return convert_in_place(known->front() != 0 ? *then : *otherwise);
    BYOC_TRY(auto values, captured({then, otherwise}));
    BYOC_TRY(Body first, branch(*then, values));
    BYOC_TRY(Body second, branch(*otherwise, values));
    BYOC_TRY_STATUS(check_branches(first, second));
    Control control{Control::kIf, 0, {}, {}, {}};
    control.body = add_function("then", std::move(first.function));
    control.otherwise = add_function("else", std::move(second.function));
    std::vector<ValueId> args = {condition};
    for (const auto& [name, value] : values) args.push_back(value);
    return add_control(control, std::move(args), first.results);
  }

 private:
  Result<std::vector<ValueId>> convert_in_place(onnx::GraphProto& graph) {
    scopes_.enter(outer(), graph);
    Status status = context_.convert_nodes(graph);
    Result<std::vector<ValueId>> results =
        status.ok() ? outputs_of(graph) : Result<std::vector<ValueId>>(std::move(status));
    scopes_.leave();
    return results;
  }

  Result<Body> branch(onnx::GraphProto& graph, const NamedValues& values) {
    std::vector<BodyParam> params;
    for (const auto& [name, value] : values) params.push_back({name, outer().type(value)});
    return with_body(graph, params, [&](GraphBuilder&) -> Result<std::vector<ValueId>> {
      BYOC_TRY_STATUS(context_.convert_nodes(graph));
      return outputs_of(graph);
    });
  }

  Status check_branches(const Body& first, const Body& second) {
    if (first.results.size() != second.results.size())
      return bad_graph(cat("its branches return ", first.results.size(), " and ",
                           second.results.size(), " values"));
    for (size_t k = 0; k < first.results.size(); ++k) {
      if (first.results[k] == second.results[k]) continue;
      return unimplemented(cat("result ", k, " is ", first.results[k], " in one branch and ",
                               second.results[k],
                               " in the other; branches with results of different types are not "
                               "supported"));
    }
    return {};
  }
};

}  // namespace

Result<std::vector<ValueId>> convert_if(ControlContext& context, onnx::NodeProto& proto,
                                        const NodeView& node) {
  return IfConverter(context, proto, node).convert_if();
}

}  // namespace byoc::onnx_import
