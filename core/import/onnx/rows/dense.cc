// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm, Einsum, Det.
#include "byoc/ir/dim.h"
#include "core/import/onnx/rows/range.h"
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

// Reshapes to dims of which the first may also be counted, when the others are static.
ValueId regrouped(Graph& graph, ValueId x, Shape shape) {
  if (is_static(shape) || !is_static(Shape(shape.begin() + 1, shape.end())))
    return shaped_to(graph, "reshape", x, shape);
  shape[0] = Dim(0);
  Ints dims = static_extents(shape);
  dims[0] = -1;
  return graph.call("reshape", {x}, {{"shape", dims}, {"allow_zero", true}});
}

constexpr Row kDenseRows[] = {
    {"MatMul", 1, kNewest, renamed<"matmul">},
    {"Gemm", 1, kNewest, gemm},
    {"Einsum", 12, kNewest, renamed<"einsum">},
    {"Det", 11, kNewest, renamed<"det">},
};

}  // namespace

Result<ValueId> product_of_groups(Graph& graph, ValueId a, ValueId b) {
  const Shape from = graph.type(a).shape, by = graph.type(b).shape;
  const bool are_static = from[1].is_static() && by[1].is_static();
  if (!are_static || by[1].extent() < 1 || from[1].extent() % by[1].extent() != 0)
    return invalid(cat("heads are multiplied, of which one has ", from[1], " heads and the other ",
                       by[1], ", the first has to be a known multiple of the second"));
  BYOC_TRY(const Dim group, dim_product(Dim(from[1].extent() / by[1].extent()), from[2]));
  ValueId y = graph.call("matmul", {regrouped(graph, a, {from[0], by[1], group, from[3]}), b});
  return regrouped(graph, y, {from[0], from[1], from[2], by[3]});
}

std::span<const Row> dense_rows() { return kDenseRows; }

}  // namespace byoc::onnx_import
