// SPDX-License-Identifier: Apache-2.0
// Scan:  v..., s... = loop(slices, true, @body, v..., scanned..., values that the body reads...)
// The body takes its slices of the scanned values by the number of the iteration.
// In opset 8 all operands have a batch first, and Scan is one of opset 9 over the batch:
//   before: v, s = Scan(lengths, v, x) {body}            v [n, ...], x [n, steps, ...]
//   after:  v, s = Scan(v, x) { v, s = Scan(v, x) {body} }
#include <limits>

#include "core/import/onnx/control/kinds.h"
#include "core/import/onnx/control/repetition.h"
#include "core/import/onnx/operands.h"

namespace byoc::onnx_import {
namespace {

class ScanConverter : public RepetitionConverter {
 public:
  using RepetitionConverter::RepetitionConverter;

  Result<std::vector<ValueId>> convert_scan() {
    if (node_.opset() < 9 && !node_.has(kAxes)) return convert_batched();
    Repeated loop;
    BYOC_TRY(loop.graph, subgraph(proto_, "body"));
    const auto scanned = static_cast<size_t>(std::max<int64_t>(node_.i("num_scan_inputs", 0), 0));
    if (scanned == 0 || scanned > node_.num_inputs())
      return bad_graph(
          cat("num_scan_inputs is ", scanned, ", it has ", node_.num_inputs(), " inputs"));
    const size_t carried = node_.num_inputs() - scanned;
    BYOC_TRY_STATUS(check_inner(*loop.graph, static_cast<int>(node_.num_inputs())));
    BYOC_TRY_STATUS(read_carried(loop, 0, carried));
    BYOC_TRY_STATUS(count_stacked(loop, 0));
    ScanAttrs attrs;
    BYOC_TRY(attrs.input_axes, list_attr(kAxes, scanned));
    BYOC_TRY(attrs.input_directions, list_attr("scan_input_directions", scanned));
    BYOC_TRY(attrs.output_axes, list_attr("scan_output_axes", loop.stacked));
    BYOC_TRY(attrs.output_directions, list_attr("scan_output_directions", loop.stacked));
    BYOC_TRY_STATUS(read_scanned(loop, attrs, carried));
    BYOC_TRY(loop.captured, captured({loop.graph}));
    BYOC_TRY(std::vector<BodyParam> params, params_of(loop, 0));
    BYOC_TRY(Body body, with_body(*loop.graph, params, [&](GraphBuilder& builder) {
               return fill_scan(builder, loop, attrs);
             }));
    BYOC_TRY(std::vector<ValueId> results, add_loop(loop, std::move(body)));
    return placed(std::move(results), carried, attrs);
  }

 private:
  static constexpr const char* kAxes = "scan_input_axes";  // came with opset 9

  static onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const char* name,
                                             onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  /// Adds the attributes of opset 9 that scan `count` operands along axis 0.
  static void set_scanned(onnx::NodeProto& node, int count) {
    add_attribute(node, "num_scan_inputs", onnx::AttributeProto::INT).set_i(count);
    auto& axes = add_attribute(node, kAxes, onnx::AttributeProto::INTS);
    for (int k = 0; k < count; ++k) axes.add_ints(0);
  }

  /// Converts the form of opset 8.
  Result<std::vector<ValueId>> convert_batched() {
    if (node_.has_input(0)) return unimplemented("sequence_lens of opset 8 is not supported");
    BYOC_TRY(onnx::GraphProto * body, subgraph(proto_, "body"));
    const int operands = std::max(proto_.input_size() - 1, 0);
    if (operands == 0 || body->input_size() != operands ||
        body->output_size() != proto_.output_size())
      return bad_graph(cat("its graph ", in_quotes(body->name()), " has ", body->input_size(),
                           " inputs and ", body->output_size(), " outputs, expected ", operands,
                           " and ", proto_.output_size()));
    onnx::NodeProto whole, one;
    one.set_op_type("Scan");
    set_scanned(one,
                static_cast<int>(std::clamp<int64_t>(node_.i("num_scan_inputs", 0), 0, operands)));
    auto& directions = add_attribute(one, "scan_input_directions", onnx::AttributeProto::INTS);
    for (int64_t direction : node_.ints("directions")) directions.add_ints(direction);
    auto& graph = *add_attribute(whole, "body", onnx::AttributeProto::GRAPH).mutable_g();
    for (const auto& input : body->input()) {
      graph.add_input()->set_name(cat(input.name(), "/batch"));
      one.add_input(cat(input.name(), "/batch"));
    }
    for (int k = 0; k < body->output_size(); ++k) {
      graph.add_output()->set_name(cat("result", k, "/batch"));
      one.add_output(cat("result", k, "/batch"));
    }
    add_attribute(one, "body", onnx::AttributeProto::GRAPH).mutable_g()->Swap(body);
    graph.add_node()->Swap(&one);
    set_scanned(whole, operands);
    whole.set_op_type("Scan");
    whole.set_name(proto_.name());
    whole.mutable_input()->Assign(proto_.input().begin() + 1, proto_.input().end());
    *whole.mutable_output() = proto_.output();
    proto_.Swap(&whole);
    return convert_control(context_, proto_, NodeView(proto_, node_.opset(), node_.folder()));
  }

  /// The attributes about scanned inputs and stacked outputs, completed.
  struct ScanAttrs {
    Ints input_axes, output_axes, input_directions, output_directions;
  };

  Result<Ints> list_attr(const char* name, size_t size) {
    Ints out = node_.ints(name);
    BYOC_TRY_STATUS(Status(node_.status()));
    if (out.empty()) out.assign(size, 0);
    if (out.size() == size) return out;
    return bad_graph(cat("attribute ", name, " has ", out.size(), " entries, expected ", size));
  }

  Status read_scanned(Repeated& loop, ScanAttrs& attrs, size_t first) {
    for (size_t k = 0; k < attrs.input_axes.size(); ++k) {
      BYOC_TRY(ValueId value, operand(first + k));
      const TensorType& type = outer().type(value);
      BYOC_TRY(size_t axis, normal_axis(attrs.input_axes[k], type.shape.size()));
      attrs.input_axes[k] = static_cast<int64_t>(axis);
      const Dim rows = type.shape[axis];
      if (!rows.is_static())
        return unimplemented(cat("scanned input ", k, " is ", type, "; the number of iterations ",
                                 rows, " must be a number"))
            .with_help("bind the sizes, as in --shape N=1");
      if (k > 0 && !(rows == loop.rows))
        return bad_graph(cat("its scanned inputs have ", loop.rows, " and ", rows, " slices"));
      loop.rows = rows;
      loop.scanned.push_back(value);
    }
    outer().begin_node({}, node_.name());
    const int64_t trips = loop.rows.extent();
    loop.trips = integer(outer(), trips);
    loop.condition = outer().scalar(DType::kBool, 1);
    return Status(outer().status());
  }

  Result<std::vector<ValueId>> fill_scan(GraphBuilder& builder, const Repeated& loop,
                                         const ScanAttrs& attrs) {
    const ValueId counter{0, 0};
    const size_t carried = loop.carried.size();
    builder.begin_node({}, node_.name());
    for (size_t k = 0; k < loop.scanned.size(); ++k) {
      const ValueId whole{static_cast<uint32_t>(1 + carried + k), 0};
      ValueId at = counter;
      if (attrs.input_directions[k] == 1) {
        const int64_t last = loop.rows.extent() - 1;
        at = builder.call("subtract", {integer(builder, last), counter});
      }
      ValueId slice = builder.call("gather", {whole, at}, {{"axis", attrs.input_axes[k]}});
      scopes_.set(loop.graph->input(static_cast<int>(carried + k)).name(), slice);
    }
    BYOC_TRY_STATUS(Status(builder.status()));
    BYOC_TRY_STATUS(context_.convert_nodes(*loop.graph));
    BYOC_TRY(std::vector<ValueId> results, outputs_of(*loop.graph));
    BYOC_TRY(ValueId goes_on, constant_of_type(builder, DType::kBool, 1));
    results.insert(results.begin(), goes_on);
    return results;
  }

  /// Reverses and transposes the stacked results as the attributes demand.
  Result<std::vector<ValueId>> placed(std::vector<ValueId> results, size_t first,
                                      const ScanAttrs& attrs) {
    outer().begin_node({}, node_.name());
    for (size_t k = first; k < results.size(); ++k) {
      ValueId& result = results[k];
      if (attrs.output_directions[k - first] == 1) {
        result = outer().call("slice", {result},
                              {{"starts", Ints{-1}},
                               {"ends", Ints{std::numeric_limits<int64_t>::min()}},
                               {"axes", Ints{0}},
                               {"steps", Ints{-1}}});
      }
      BYOC_TRY(size_t axis, normal_axis(attrs.output_axes[k - first], outer().rank(result)));
      Ints perm;
      for (size_t d = 1; d < outer().rank(result); ++d) perm.push_back(static_cast<int64_t>(d));
      perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(axis), 0);
      if (axis > 0) result = outer().call("transpose", {result}, {{"perm", perm}});
    }
    BYOC_TRY_STATUS(Status(outer().status()));
    return results;
  }
};

}  // namespace

Result<std::vector<ValueId>> convert_scan(ControlContext& context, onnx::NodeProto& proto,
                                          const NodeView& node) {
  return ScanConverter(context, proto, node).convert_scan();
}

}  // namespace byoc::onnx_import
