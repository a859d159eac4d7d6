// SPDX-License-Identifier: Apache-2.0
// Ops with a state that one run hands to the next: LinearAttention, CausalConvWithState,
// TensorScatter. Source: ONNX opset 27, LinearAttention and CausalConvWithState; opset 24,
// TensorScatter.
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/conv.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Adds zeros of a static shape, in place of a state that is not given.
Result<ValueId> empty_state(Graph& graph, const Shape& shape, DType dtype) {
  if (!is_static(shape))
    return unimplemented(cat("an omitted state of shape ", shape, " needs known sizes"))
        .with_help("give the sizes with --shape");
  return expanded(graph, graph.scalar(dtype, 0), static_extents(shape));
}

Converted causal_conv(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0), weight = graph.input(1);
  const Shape x_shape = graph.type(x).shape, w_shape = graph.type(weight).shape;
  if (x_shape.size() != 3 || w_shape.size() != 3 || w_shape[0] != x_shape[1] ||
      w_shape[1] != Dim(1) || !is_static(w_shape) || w_shape[2] == Dim(0))
    return invalid(cat("input must be [n, c, length] and weight [c, 1, k], they are ",
                       graph.type(x), " and ", graph.type(weight)));
  std::string activation = node.s("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return invalid(cat("activation is \"", activation, "\", expected none, silu or swish"));
  const int64_t kept = w_shape[2].extent() - 1;
  Value past = graph.optional_input(3);
  if (!past) {
    BYOC_TRY(past, empty_state(graph, {x_shape[0], x_shape[1], kept}, graph.type(x).dtype));
  }
  ValueId all = concatenated(graph, {*past, x}, 2);
  ValueId y = graph.call("conv1d", {all, weight}, {{"group", x_shape[1].extent()}});
  if (Value bias = graph.optional_input(2)) y = add_bias(graph, y, *bias);
  if (activation != "none") y = graph.call("swish", {y});
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  ValueId state = kept == 0 ? *past : sliced(graph, all, 2, -kept, kEnd);
  return std::vector{y, state};
}

Converted linear_attention(Graph& graph, const OnnxNode& node) {
  std::string rule = node.s("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    return invalid(
        cat("update_rule is \"", rule, "\", expected linear, gated, delta or gated_delta"));
  if (node.has_input(4) != gated || node.has_input(5) != delta)
    return invalid(cat("update_rule \"", rule, "\" ", gated ? "requires" : "forbids",
                       " the input decay, and ", delta ? "requires" : "forbids", " beta"));
  ValueId q = graph.input(0), k = graph.input(1), v = graph.input(2);
  const int64_t heads = node.i("kv_num_heads", 0), q_heads = node.i("q_num_heads", 0);
  Value state = graph.optional_input(3);
  if (!state) {
    const Shape &key = graph.type(k).shape, &value = graph.type(v).shape;
    if (key.size() != 3 || value.size() != 3 || heads < 1 || !key[2].is_static() ||
        !value[2].is_static())
      return invalid(cat("key and value must be [n, t, heads * size] of known sizes, they are ",
                         graph.type(k), " and ", graph.type(v), " with kv_num_heads ", heads));
    BYOC_TRY(state,
             empty_state(graph, {key[0], heads, key[2].extent() / heads, value[2].extent() / heads},
                         graph.type(q).dtype));
  }
  std::vector<ValueId> operands = {q, k, v, *state};
  if (gated) operands.push_back(graph.input(4));
  if (delta) operands.push_back(graph.input(5));
  Attrs attrs{
      {"rule", rule}, {"q_heads", q_heads}, {"kv_heads", heads}, {"scale", node.f("scale", 0)}};
  ValueId y = graph.call("linear_attention", operands, attrs);
  return std::vector{y, ValueId{y.node, 1}};
}

// Writes `update` into the cache along one dim, beginning at an index per image.
Converted tensor_scatter(Graph& graph, const OnnxNode& node) {
  ValueId cache = graph.input(0), update = graph.input(1);
  BYOC_TRY(size_t axis, normal_axis(node.i("axis", -2), graph.rank(cache)));
  Value starts = graph.optional_input(2);
  if (!starts) {
    const Dim images = graph.type(update).shape.empty() ? Dim(0) : graph.type(update).shape[0];
    if (!images.is_static())
      return unimplemented(
                 cat("without write_indices the first dim of update must be known, it is ",
                     graph.type(update)))
          .with_help("give the sizes with --shape");
    starts = graph.constant_ints(Ints(static_cast<size_t>(images.extent()), 0));
  }
  return std::vector{graph.call("update_rows", {cache, update, *starts},
                                {{"axis", static_cast<int64_t>(axis)},
                                 {"mode", node.s("mode", "linear")},
                                 {"of", "tensor_scatter.write_indices"}})};
}

constexpr Row kStateRows[] = {
    {"CausalConvWithState", 27, kNewest, causal_conv},
    {"LinearAttention", 27, kNewest, linear_attention},
    {"TensorScatter", 24, kNewest, tensor_scatter},
};

}  // namespace

std::span<const Row> state_rows() { return kStateRows; }

}  // namespace byoc::onnx_import
