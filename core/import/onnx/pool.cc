// MaxPool, AveragePool, LpPool and their global forms.
#include "core/import/onnx/same.h"
#include "core/import/onnx/window.h"

namespace byoc::onnx_import {
namespace {

Result<Attrs> window_attrs(Graph& graph, const OnnxNode& node) {
  const TensorType& x = graph.type(graph.input(0));
  if (x.shape.size() < 3 || x.shape.size() > 5) {
    return unimplemented(cat("only one to three spatial dims are supported, x is ", x));
  }
  BYOC_TRY(WindowAttrs window, read_window(node, x, node.ints("kernel_shape")));
  Attrs attrs = to_attrs(window);
  attrs.set("kernel_shape", window.kernel);
  attrs.set("ceil_mode", node.i("ceil_mode", 0) != 0);
  return attrs;
}

Converted max_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node));
  bool with_indices = node.num_outputs() == 2;
  attrs.set("with_indices", with_indices);
  attrs.set("storage_order", node.i("storage_order", 0));
  ValueId y = graph.call("max_pool", {graph.input(0)}, attrs);
  if (!with_indices) return std::vector{y};
  return std::vector{y, ValueId{y.node, 1}};
}

Converted average_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node));
  attrs.set("count_include_pad", node.i("count_include_pad", 0) != 0);
  return std::vector{graph.call("average_pool", {graph.input(0)}, attrs)};
}

Converted lp_pool(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Attrs attrs, window_attrs(graph, node));
  attrs.set("p", node.i("p", 2));
  return std::vector{graph.call("lp_pool", {graph.input(0)}, attrs)};
}

constexpr Row kRows[] = {
    {"MaxPool", 1, kNewest, max_pool},
    {"AveragePool", 1, kNewest, average_pool},
    {"LpPool", 2, kNewest, lp_pool},
    {"GlobalAveragePool", 1, kNewest, same<"global_average_pool">},
    {"GlobalMaxPool", 1, kNewest, same<"global_max_pool">},
    {"GlobalLpPool", 2, kNewest, same<"global_lp_pool">},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace byoc::onnx_import
