// SPDX-License-Identifier: Apache-2.0
// Normalisations and Dropout.
#include "core/import/onnx/rows/norm.h"

#include <cstring>

#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/computed.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Returns x, and scale, bias, mean, var cast to its dtype (from opset 15 on they may have another).
std::vector<ValueId> in_one_dtype(Graph& graph) {
  std::vector<ValueId> operands = graph.inputs();
  if (operands.empty()) return operands;
  DType dtype = graph.type(operands[0]).dtype;
  for (ValueId& operand : operands) {
    if (graph.type(operand).dtype != dtype)
      operand = graph.call("cast", {operand}, {{"to", dtype}});
  }
  return operands;
}

// Adds the running statistic after this batch: running * momentum + batch * (1 - momentum).
ValueId blended(Graph& graph, ValueId running, ValueId batch, double momentum) {
  DType dtype = graph.type(running).dtype;
  if (graph.type(batch).dtype != dtype) batch = graph.call("cast", {batch}, {{"to", dtype}});
  ValueId kept = graph.call("multiply", {running, graph.scalar(dtype, momentum)});
  ValueId added = graph.call("multiply", {batch, graph.scalar(dtype, 1 - momentum)});
  return graph.call("add", {kept, added});
}

// Converts training: normalises by the batch's own mean and variance, and updates the running ones.
Converted batch_norm_training(Graph& graph, const OnnxNode& node) {
  std::vector<ValueId> operands = in_one_dtype(graph);
  if (operands.size() != 5) return invalid(cat("it has ", operands.size(), " inputs, expects 5"));
  Ints axes{0};
  for (size_t d = 2; d < graph.rank(operands[0]); ++d) axes.push_back(static_cast<int64_t>(d));
  ValueId middle = graph.call("mean", {operands[0]}, {{"axes", axes}});
  ValueId off = graph.call("subtract", {operands[0], middle});
  Attrs per_channel{{"axes", axes}, {"keepdims", false}};
  ValueId mean = graph.call("mean", {operands[0]}, per_channel);
  ValueId var = graph.call("mean", {graph.call("multiply", {off, off})}, per_channel);
  ValueId y = graph.call("batch_norm", {operands[0], operands[1], operands[2], mean, var},
                         {{"epsilon", node.f("epsilon", 1e-5)}});
  double momentum = node.f("momentum", 0.9);
  return std::vector{y, blended(graph, graph.input(3), mean, momentum),
                     blended(graph, graph.input(4), var, momentum)};
}

Converted batch_norm(Graph& graph, const OnnxNode& node) {
  int opset = node.opset();
  if (opset >= 14 && node.i("training_mode", 0) != 0) return batch_norm_training(graph, node);
  if (opset < 9 && node.i("spatial", 1) == 0)
    return unimplemented("spatial=0, statistics per pixel instead of per channel");
  if (opset < 7 && node.i("is_test", 0) == 0) return unimplemented("is_test=0, training");
  if (opset < 14 && node.num_outputs() > 1)
    return unimplemented("outputs of training are not supported");
  Attrs attrs{{"epsilon", node.f("epsilon", 1e-5)}};
  return std::vector{graph.call("batch_norm", in_one_dtype(graph), attrs)};
}

Converted layer_norm(Graph& graph, const OnnxNode& node) {
  bool stats = node.has_output(1) || node.has_output(2);
  Attrs attrs{{"axis", node.i("axis", -1)}, {"epsilon", node.f("epsilon", 1e-5)}, {"stats", stats}};
  ValueId y = graph.call("layer_norm", in_one_dtype(graph), attrs);
  std::vector<ValueId> outputs{y};
  for (uint32_t k = 1; k < node.num_outputs(); ++k) outputs.push_back({y.node, k});
  return outputs;
}

}  // namespace

Result<ValueId> add_rms_norm(Graph& graph, ValueId x, ValueId scale, const RmsAttrs& attrs) {
  const DType to = graph.type(scale).dtype;
  ValueId y = graph.call("rms_norm", {x, cast_to(graph, scale, graph.type(x).dtype)},
                         {{"axis", attrs.axis}, {"epsilon", attrs.epsilon}});
  return cast_to(graph, y, to);
}

Result<ValueId> inverse_root_mean_square(Graph& graph, ValueId x, const RmsAttrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis(attrs.axis, graph.rank(x)));
  Ints axes;
  for (size_t d = axis; d < graph.rank(x); ++d) axes.push_back(static_cast<int64_t>(d));
  if (graph.type(x).dtype != DType::kF64) x = cast_to(graph, x, DType::kF32);
  ValueId square = graph.call("mean", {multiply(graph, x, x)}, {{"axes", axes}});
  ValueId moved = add(graph, square, graph.scalar(graph.type(x).dtype, attrs.epsilon));
  return graph.call("reciprocal", {graph.call("sqrt", {moved})});
}

Converted simplified_layer_norm(Graph& graph, const OnnxNode& node) {
  const RmsAttrs attrs{node.i("axis", -1), node.f("epsilon", 1e-5)};
  BYOC_TRY(ValueId y, add_rms_norm(graph, graph.input(0), graph.input(1), attrs));
  std::vector<ValueId> outputs{y};
  if (node.num_outputs() > 1) {
    BYOC_TRY(ValueId root, inverse_root_mean_square(graph, graph.input(0), attrs));
    outputs.push_back(root);
  }
  return outputs;
}

namespace {

// Adds a mask that drops no element: it is true everywhere (of x's own dtype up to opset 9).
Converted full_mask(Graph& graph, const OnnxNode& node, ValueId x) {
  TensorType type = graph.type(x);
  auto n = num_elements(type.shape);
  type.dtype = DType::kBool;
  auto fill = [&](std::byte* out) { std::memset(out, 1, static_cast<size_t>(*n)); };
  ValueId mask;
  if (n.ok() && *n <= kMostComputed) {
    mask = graph.constant(type, Buffer::make(static_cast<size_t>(*n), fill));
  } else {  // a bool equals itself, as it is never NaN
    const ValueId some = cast_to(graph, x, DType::kBool);
    mask = graph.call("equal", {some, some});
  }
  if (node.opset() < 10) mask = graph.call("cast", {mask}, {{"to", graph.type(x).dtype}});
  return std::vector{mask};
}

// Returns whether the results are random, which is so in training with a ratio above 0.
Result<bool> is_random(Graph& graph, const OnnxNode& node) {
  if (node.opset() < 7) return node.i("is_test", 0) == 0;
  if (node.opset() < 12 || !node.has_input(2)) return false;
  BYOC_TRY(Ints training, constant_ints(graph, node, 2, "training_mode"));
  if (training.size() != 1 || training[0] == 0) return false;
  auto ratio = node.has_input(1) ? graph.const_floats(graph.input(1)) : Floats{0.5};
  return !ratio || ratio->size() != 1 || (*ratio)[0] != 0;
}

Converted dropout(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(bool random, is_random(graph, node));
  if (random) return unimplemented("training, with random results");
  ValueId x = graph.input(0);
  std::vector<ValueId> outputs{x};
  if (node.num_outputs() > 1) {
    BYOC_TRY(std::vector<ValueId> mask, full_mask(graph, node, x));
    outputs.push_back(mask[0]);
  }
  return outputs;
}

constexpr Row kNormRows[] = {
    {"BatchNormalization", 1, kNewest, batch_norm},
    {"Dropout", 1, kNewest, dropout},
    {"GroupNormalization", 18, kNewest, renamed<"group_norm">},
    {"InstanceNormalization", 1, kNewest, renamed<"instance_norm">},
    {"LRN", 1, kNewest, renamed<"lrn">},
    {"LayerNormalization", 1, kNewest, layer_norm},  // before opset 17 by ONNX Runtime's optimizer
    {"LpNormalization", 1, kNewest, renamed<"lp_norm">},
    {"MeanVarianceNormalization", 9, kNewest, renamed<"mean_variance_norm">},
    {"RMSNormalization", 23, kNewest, renamed<"rms_norm">},
    {"SimplifiedLayerNormalization", 1, kNewest, simplified_layer_norm},  // likewise
};

}  // namespace

std::span<const Row> norm_rows() { return kNormRows; }

}  // namespace byoc::onnx_import
