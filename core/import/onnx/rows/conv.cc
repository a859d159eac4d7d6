// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose.
#include "core/import/onnx/rows/conv.h"

#include "core/import/onnx/window.h"

namespace byoc::onnx_import {
namespace {

// Returns the extents of the weight's kernel. kernel_shape must be equal to them when it is given.
Result<Ints> kernel_of(const OnnxNode& node, const TensorType& weight) {
  if (weight.shape.size() < 3 || weight.shape.size() > 5) {
    return unimplemented(
        cat("only one to three spatial dims are supported, the weight is ", weight));
  }
  if (!is_static(weight.shape))
    return unimplemented(cat("the weight's shape must be known, it is ", weight));
  Ints kernel = static_extents(weight.shape);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  if (!node.has("kernel_shape") || node.ints("kernel_shape") == kernel) return kernel;
  std::string text;
  print_to(text, AttrValue(node.ints("kernel_shape")));
  return invalid(cat("kernel_shape is ", text, ", the weight is ", weight));
}

Converted finish(Graph& graph, const OnnxNode& node, ValueId y) {
  if (node.has_input(2)) y = add_bias(graph, y, graph.input(2));
  return std::vector{y};
}

Converted conv(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, add_conv(graph, node, graph.input(0), graph.input(1)));
  return finish(graph, node, y);
}

// Sets pads or output_padding so that the result has the extents of output_shape: surplus cells are
// cut by pads, missing ones are added by output_padding.
Status fit_output(const OnnxNode& node, const TensorType& x, WindowAttrs& window,
                  Ints& output_padding) {
  size_t spatial = window.kernel.size();
  std::string auto_pad = node.s("auto_pad", "NOTSET");
  bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Ints output_shape = node.ints("output_shape");
  if (output_shape.empty() && !same) return {};
  if (!output_shape.empty() && output_shape.size() != spatial) {
    return invalid(cat("output_shape has ", output_shape.size(), " entries, expected ", spatial));
  }
  for (size_t d = 0; d < spatial; ++d) {
    Dim in = x.shape[2 + d];
    if (!in.is_static())
      return unimplemented(cat("the extent of dim ", 2 + d, " must be known, it is ", in));
    if (in.extent() >= int64_t{1} << 31) return invalid(cat("dim ", 2 + d, " of x is ", in));
    int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    int64_t full = (in.extent() - 1) * window.strides[d] + reach + output_padding[d];
    int64_t total =
        full - (output_shape.empty() ? in.extent() * window.strides[d] : output_shape[d]);
    if (total < 0) output_padding[d] -= total;
    split_padding(window.pads, d, std::max<int64_t>(total, 0), auto_pad != "SAME_UPPER");
  }
  return {};
}

Converted conv_transpose(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0), weight = graph.input(1);
  BYOC_TRY(Ints kernel, kernel_of(node, graph.type(weight)));
  BYOC_TRY(WindowAttrs window, read_window(node, graph.type(x), kernel));
  Ints output_padding = node.ints("output_padding");
  if (output_padding.empty()) output_padding.assign(kernel.size(), 0);
  if (output_padding.size() != kernel.size()) {
    return invalid(
        cat("output_padding has ", output_padding.size(), " entries, expected ", kernel.size()));
  }
  BYOC_TRY_STATUS(fit_output(node, graph.type(x), window, output_padding));
  Attrs attrs = to_attrs(window);
  attrs.set("group", node.i("group", 1));
  attrs.set("output_padding", output_padding);
  return finish(graph, node,
                graph.call(cat("conv", kernel.size(), "d_transpose"), {x, weight}, attrs));
}

constexpr Row kConvRows[] = {
    {"Conv", 1, kNewest, conv},
    {"ConvTranspose", 1, kNewest, conv_transpose},
};

}  // namespace

ValueId add_bias(Graph& graph, ValueId y, ValueId bias) {
  if (graph.rank(y) < 2) return y;  // `y` failed: a convolution has rank 3 or more
  Ints shape(graph.rank(y) - 1, 1);
  shape[0] = -1;
  return graph.call("add", {y, graph.call("reshape", {bias}, {{"shape", shape}})});
}

Result<ValueId> add_conv(Graph& graph, const OnnxNode& node, ValueId x, ValueId weight) {
  BYOC_TRY(Ints kernel, kernel_of(node, graph.type(weight)));
  BYOC_TRY(WindowAttrs window, read_window(node, graph.type(x), kernel));
  Attrs attrs = to_attrs(window);
  attrs.set("group", node.i("group", 1));
  return graph.call(cat("conv", kernel.size(), "d"), {x, weight}, attrs);
}

std::span<const Row> conv_rows() { return kConvRows; }

}  // namespace byoc::onnx_import
