// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm, Einsum, Det.
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Converts alpha * A' * B' + beta * C; a C that adds nothing is omitted.
Converted gemm(Graph& graph, const OnnxNode& node) {
  ValueId y = graph.call("gemm", {graph.input(0), graph.input(1)},
                         {{"trans_a", node.i("transA", 0) != 0},
                          {"trans_b", node.i("transB", 0) != 0},
                          {"alpha", node.f("alpha", 1)}});
  double beta = node.f("beta", 1);
  if (!node.has_input(2) || beta == 0) return std::vector{y};
  ValueId c = graph.input(2);
  if (beta != 1) c = graph.call("multiply", {c, graph.scalar(graph.type(c).dtype, beta)});
  return std::vector{graph.call("add", {y, c})};
}

constexpr Row kDenseRows[] = {
    {"MatMul", 1, kNewest, renamed<"matmul">},
    {"Gemm", 1, kNewest, gemm},
    {"Einsum", 12, kNewest, renamed<"einsum">},
    {"Det", 11, kNewest, renamed<"det">},
};

}  // namespace

std::span<const Row> dense_rows() { return kDenseRows; }

}  // namespace byoc::onnx_import
