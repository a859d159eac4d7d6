// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools of com.microsoft on integers of 8 bits, also of images whose channels are
// the last dim.
#include "core/import/onnx/microsoft/layout.h"
#include "core/import/onnx/microsoft/quantized.h"
#include "core/import/onnx/rows/conv.h"
#include "core/import/onnx/rows/pool.h"

namespace byoc::onnx_import {
namespace {

// Adds f of x, images with their channels in dim 1, in the layout of x.
template <class F>
Converted in_layout(Graph& graph, const OnnxNode& node, F&& f) {
  const bool is_last = node.i("channels_last", 0) != 0;
  ValueId x = graph.input(0);
  if (is_last) {
    BYOC_TRY(x, channels_second(graph, x));
  }
  BYOC_TRY(ValueId y, f(x));
  return std::vector{is_last ? channels_last(graph, y) : y};
}

// Adds f of the real numbers of x, in integers of its type.
template <class F>
Converted quantized_pool(Graph& graph, const OnnxNode& node, F&& f) {
  return in_layout(graph, node, [&](ValueId x) -> Result<ValueId> {
    const DType dtype = graph.type(x).dtype;
    BYOC_TRY(ValueId real, dequantized(graph, {x, graph.input(1), graph.optional_input(2)}));
    BYOC_TRY(ValueId y, f(real));
    return requantized(graph, y, graph.input(3), graph.optional_input(4), dtype);
  });
}

Converted qlinear_average_pool(Graph& graph, const OnnxNode& node) {
  return quantized_pool(graph, node,
                        [&](ValueId x) { return add_average_pool(graph, node, x, true); });
}

Converted qlinear_global_pool(Graph& graph, const OnnxNode& node) {
  return quantized_pool(graph, node, [&](ValueId x) -> Result<ValueId> {
    return graph.call("global_average_pool", {x});
  });
}

Converted nhwc_max_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId x, channels_second(graph, graph.input(0)));
  BYOC_TRY(ValueId y, add_max_pool(graph, node, x));
  return std::vector{channels_last(graph, y)};
}

// The scales of the weight are of its dim 0; the bias is quantised with the product of both scales.
Converted qlinear_conv_last(Graph& graph, const OnnxNode& node) {
  return in_layout(graph, node, [&](ValueId x) -> Result<ValueId> {
    BYOC_TRY(ValueId real, dequantized(graph, {x, graph.input(1), graph.input(2)}));
    BYOC_TRY(ValueId weight, dequantized(graph, quantized_input(graph, 3)));
    BYOC_TRY(ValueId y, add_conv(graph, node, real, weight));
    if (Value bias = graph.optional_input(8)) {
      ValueId scale = multiply(graph, graph.input(1), graph.input(4));
      BYOC_TRY(ValueId more, dequantized(graph, {*bias, scale, {}}));
      y = add_bias(graph, y, more);
    }
    return requantized(graph, y, graph.input(6), graph.input(7), graph.type(x).dtype);
  });
}

constexpr Row kQuantizedWindowsRows[] = {
    {"NhwcMaxPool", 1, 1, nhwc_max_pool},
    {"QLinearAveragePool", 1, 1, qlinear_average_pool},
    {"QLinearConv", 1, 1, qlinear_conv_last},
    {"QLinearGlobalAveragePool", 1, 1, qlinear_global_pool},
};

}  // namespace

std::span<const Row> microsoft_quantized_windows_rows() { return kQuantizedWindowsRows; }

}  // namespace byoc::onnx_import
