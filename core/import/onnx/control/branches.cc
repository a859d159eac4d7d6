// SPDX-License-Identifier: Apache-2.0
// If:    y = if(condition, @then, @else, values that the branches read...)
// Results that have other extents in one branch than in the other get counted dims.
#include "core/import/onnx/control/converter.h"
#include "core/import/onnx/control/counted_results.h"
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
    BYOC_TRY_STATUS(make_equal(first, second, values));
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

  // Gives the results of both branches the same types.
  Status make_equal(Body& first, Body& second, const NamedValues& values) {
    if (first.results.size() != second.results.size())
      return bad_graph(cat("its branches return ", first.results.size(), " and ",
                           second.results.size(), " values"));
    std::vector<TypeId> captured;
    for (const auto& [name, value] : values) captured.push_back(outer().type(value));
    const std::string size = outer().new_size("if");
    for (size_t k = 0; k < first.results.size(); ++k) {
      const std::optional<TensorType> type =
          common_type(*first.results[k], *second.results[k], captured, cat(size, "_", k));
      if (!type)
        return unimplemented(cat("result ", k, " is ", first.results[k], " in one branch and ",
                                 second.results[k],
                                 " in the other; branches with results of different dtypes or "
                                 "ranks are not supported"));
      for (Body* branch : {&first, &second}) {
        BYOC_TRY_STATUS(convert_result(branch->function, k, *type, context_.ops));
        branch->results[k] = *type;
      }
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
