// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that exporters write in place of those of newer opsets, or beside
// them: CDist, ExpandDims, GridSample, Trilu.
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/steps.h"
#include "core/import/onnx/same_op.h"
#include "core/import/onnx/tables.h"

namespace byoc::onnx_import {
namespace {

// Converts as the operator of that name in the default domain, whose row reads no opset.
template <OpName op>
Converted as_in_onnx(Graph& graph, const OnnxNode& node) {
  return find_row({"", op.text}, kNewestOpset)->convert(graph, node);
}

// Adds the distances of the rows of a [m, n] and b [k, n].
Converted distances_of_rows(Graph& graph, const OnnxNode& node) {
  const std::string metric = node.s("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return unimplemented(cat("its metric \"", metric, "\" is not supported"));
  ValueId off = graph.call(
      "subtract", {unsqueezed(graph, graph.input(0), {1}), unsqueezed(graph, graph.input(1), {0})});
  Attrs over_last{{"axes", Ints{-1}}, {"keepdims", false}};
  ValueId y = graph.call("sum_square", {off}, over_last);
  return std::vector{metric == "euclidean" ? graph.call("sqrt", {y}) : y};
}

Converted expand_dims(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Ints axis, constant_ints(graph, node, 1, "axis"));
  return std::vector{unsqueezed(graph, graph.input(0), axis)};
}

constexpr Row kOtherRows[] = {
    {"CDist", 1, 1, distances_of_rows},
    {"ExpandDims", 1, 1, expand_dims},
    {"GridSample", 1, 1, as_in_onnx<"GridSample">},
    {"Trilu", 1, 1, as_in_onnx<"Trilu">},
};

}  // namespace

std::span<const Row> microsoft_other_rows() { return kOtherRows; }

}  // namespace byoc::onnx_import
