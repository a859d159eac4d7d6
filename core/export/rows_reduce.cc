// SPDX-License-Identifier: Apache-2.0
// Reductions, norms, scans.
#include "core/export/rows.h"

namespace byoc::onnx_export {
namespace {

/// Writes a reduction. Its axes are an operand from opset `axes_operand` on.
Status reduce(Call& call, std::string_view op_type, int axes_operand) {
  const Ints axes = call.attrs().ints("axes");
  const bool is_noop = axes.empty() && call.attrs().b("noop_with_empty_axes", false);
  if (is_noop) call.need(axes_operand);
  Names inputs = {call.input(0)};
  const bool as_operand = call.opset() >= axes_operand;
  if (as_operand && !axes.empty()) inputs.push_back(call.ints(axes));
  onnx::NodeProto& node = call.add(op_type, inputs, call.outputs());
  if (!as_operand) add_attribute(node, "axes", axes);
  add_attribute(node, "keepdims", call.attrs().b("keepdims", true));
  if (is_noop && as_operand) add_attribute(node, "noop_with_empty_axes", true);
  return {};
}

Status reduce_sum(Call& call) { return reduce(call, "ReduceSum", 13); }

/// Writes a reduction that ONNX has under the name of the row.
Status reduce_other(Call& call) { return reduce(call, find_row(call.op().name)->op_type, 18); }

Status topk(Call& call) {
  onnx::NodeProto& node =
      call.add("TopK", {call.input(0), call.ints({call.attrs().i("k")})}, call.outputs());
  add_attribute(node, "axis", call.attrs().i("axis", -1));
  add_attribute(node, "largest", call.attrs().b("largest", true));
  add_attribute(node, "sorted", call.attrs().b("sorted", true));
  return {};
}

/// Writes CumSum and CumProd.
Status cumulative(Call& call) {
  const std::string axis = call.filled({DType::kI64, {}}, call.attrs().i("axis"));
  onnx::NodeProto& node =
      call.add(find_row(call.op().name)->op_type, {call.input(0), axis}, call.outputs());
  add_attribute(node, "exclusive", call.attrs().b("exclusive", false));
  add_attribute(node, "reverse", call.attrs().b("reverse", false));
  return {};
}

Status layer_norm(Call& call) {
  Names inputs = call.inputs();
  if (inputs.size() == 1) {  // ONNX requires the scale
    const Shape& shape = call.input_type(0).shape;
    int64_t axis = call.attrs().i("axis", -1);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    inputs.push_back(
        call.filled({call.input_type(0).dtype, Shape(shape.begin() + axis, shape.end())}, 1));
  }
  onnx::NodeProto& node = call.add("LayerNormalization", inputs, call.outputs());
  add_attribute(node, "axis", call.attrs().i("axis", -1));
  add_attribute(node, "epsilon", call.attrs().f("epsilon", 1e-5));
  return {};
}

constexpr Row kReduceRows[] = {
    {"argmax", "ArgMax"},
    {"argmin", "ArgMin"},
    {"batch_norm", "BatchNormalization"},
    {"cumprod", "CumProd", 26, cumulative},
    {"cumsum", "CumSum", 0, cumulative},
    {"group_norm", "GroupNormalization", 21},
    {"hardmax", "Hardmax"},
    {"instance_norm", "InstanceNormalization"},
    {"l1", "ReduceL1", 0, reduce_other},
    {"l2", "ReduceL2", 0, reduce_other},
    {"layer_norm", "LayerNormalization", 0, layer_norm},
    {"log_softmax", "LogSoftmax"},
    {"log_sum", "ReduceLogSum", 0, reduce_other},
    {"log_sum_exp", "ReduceLogSumExp", 0, reduce_other},
    {"lp_norm", "LpNormalization"},
    {"lrn", "LRN"},
    {"max", "ReduceMax", 0, reduce_other},
    {"mean", "ReduceMean", 0, reduce_other},
    {"mean_variance_norm", "MeanVarianceNormalization"},
    {"min", "ReduceMin", 0, reduce_other},
    {"prod", "ReduceProd", 0, reduce_other},
    {"softmax", "Softmax"},
    {"sum", "ReduceSum", 0, reduce_sum},
    {"sum_square", "ReduceSumSquare", 0, reduce_other},
    {"topk", "TopK", 0, topk},
};

}  // namespace

std::span<const Row> reduce_rows() { return kReduceRows; }

}  // namespace byoc::onnx_export
