// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, LpPool and their global forms; MaxUnpool.
#include "core/import/onnx/rows/pool.h"

#include <algorithm>

#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/same_op.h"
#include "core/import/onnx/window.h"

namespace byoc::onnx_import {
namespace {

Result<Attrs> window_attrs(Graph& graph, const OnnxNode& node, ValueId pooled) {
  const TensorType& x = graph.type(pooled);
  if (x.shape.size() < 3 || x.shape.size() > 5) {
    return unimplemented(cat("only one to three spatial dims are supported, x is ", x));
  }
  BYOC_TRY(WindowAttrs window, read_window(node, x, node.ints("kernel_shape")));
  Attrs attrs = to_attrs(window);
  attrs.set("kernel_shape", window.kernel);
  attrs.set("ceil_mode", node.i("ceil_mode", 0) != 0);
  return attrs;
}

// Makes pads of the cells that ceil_mode adds.
Status pad_to_ceiling(const TensorType& x, Attrs& attrs) {
  const Ints kernel = attrs.ints("kernel_shape"), strides = attrs.ints("strides"),
             dilations = attrs.ints("dilations");
  Ints pads = attrs.ints("pads");
  for (size_t d = 0; d < kernel.size(); ++d) {
    const Dim extent = x.shape[2 + d];
    if (!extent.is_static())
      return unimplemented(cat("ceil_mode with count_include_pad needs known sizes, x is ", x));
    const int64_t window = dilations[d] * (kernel[d] - 1) + 1, begin = extent.extent() + pads[d];
    const int64_t rest = begin + pads[kernel.size() + d] - window;
    const int64_t last = (rest + strides[d] - 1) / strides[d] * strides[d];
    if (rest > 0 && last < begin) pads[kernel.size() + d] = last + window - begin;
  }
  attrs.set("pads", pads);
  attrs.set("ceil_mode", false);
  return {};
}

}  // namespace

Result<ValueId> add_max_pool(Graph& graph, const OnnxNode& node, ValueId x) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node, x));
  attrs.set("with_indices", node.num_outputs() == 2);
  attrs.set("storage_order", node.i("storage_order", 0));
  return graph.call("max_pool", {x}, attrs);
}

Result<ValueId> add_average_pool(Graph& graph, const OnnxNode& node, ValueId x,
                                 bool counts_past_end) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node, x));
  const bool counts_pads = node.i("count_include_pad", 0) != 0;
  attrs.set("count_include_pad", counts_pads);
  if (counts_past_end && counts_pads && attrs.b("ceil_mode", false))
    BYOC_TRY_STATUS(pad_to_ceiling(graph.type(x), attrs));
  return graph.call("average_pool", {x}, attrs);
}

namespace {

Converted max_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, add_max_pool(graph, node, graph.input(0)));
  if (node.num_outputs() < 2) return std::vector{y};
  return std::vector{y, ValueId{y.node, 1}};
}

Converted average_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, add_average_pool(graph, node, graph.input(0)));
  return std::vector{y};
}

Converted lp_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node, graph.input(0)));
  attrs.set("p", node.i("p", 2));
  return std::vector{graph.call("lp_pool", {graph.input(0)}, attrs)};
}

// Scatters x back to the positions where MaxPool found it. Indices refer to the result's shape
// without output_shape; a larger output_shape adds zeros at the ends.
Converted max_unpool(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  const TensorType type = graph.type(x);
  BYOC_TRY(WindowAttrs window, read_window(node, type, node.ints("kernel_shape")));
  if (!is_static(type.shape))
    return unimplemented(cat("the shape of x must be known, it is ", type));
  size_t rank = type.shape.size(), spatial = window.kernel.size();
  Ints shape = static_extents(type.shape), missing(2 * rank, 0);
  for (size_t d = 0; d < spatial; ++d) {
    int64_t& extent = shape[2 + d];
    if (extent >= int64_t{1} << 31) return invalid(cat("dim ", 2 + d, " of x is ", extent));
    extent = (extent - 1) * window.strides[d] - window.pads[d] - window.pads[spatial + d] +
             window.kernel[d];
    if (extent < 0) return invalid(cat("dim ", 2 + d, " of the result would be ", extent));
  }
  if (node.has_input(2)) {
    BYOC_TRY(Ints expected, constant_ints(graph, node, 2, "output_shape"));
    if (expected.size() != rank)
      return invalid(cat("output_shape has ", expected.size(), " entries, expected ", rank));
    for (size_t d = 0; d < rank; ++d) {
      if (expected[d] < 0) return invalid(cat("output_shape holds ", expected[d]));
      missing[rank + d] = expected[d] - shape[d];
    }
  }
  BYOC_TRY(int64_t cells, num_elements(make_shape(shape)));
  auto flat = [&](ValueId value) { return graph.call("reshape", {value}, {{"shape", Ints{-1}}}); };
  ValueId zeros = graph.call("expand", {graph.scalar(type.dtype, 0)}, {{"shape", Ints{cells}}});
  const ValueId places = in_range(graph, flat(graph.input(1)), cells, 0, "max_unpool.indices");
  ValueId y = graph.call("scatter_elements", {zeros, places, flat(x)});
  y = graph.call("reshape", {y}, {{"shape", shape}, {"allow_zero", true}});
  bool is_plain = std::all_of(missing.begin(), missing.end(),
                              [](int64_t cells_at_end) { return cells_at_end == 0; });
  return std::vector{is_plain ? y : graph.call("pad", {y}, {{"pads", missing}})};
}

constexpr Row kPoolRows[] = {
    {"MaxPool", 1, kNewest, max_pool},
    {"MaxUnpool", 9, kNewest, max_unpool},
    {"AveragePool", 1, kNewest, average_pool},
    {"LpPool", 2, kNewest, lp_pool},
    {"GlobalAveragePool", 1, kNewest, renamed<"global_average_pool">},
    {"GlobalMaxPool", 1, kNewest, renamed<"global_max_pool">},
    {"GlobalLpPool", 2, kNewest, renamed<"global_lp_pool">},
};

}  // namespace

std::span<const Row> pool_rows() { return kPoolRows; }

}  // namespace byoc::onnx_import
