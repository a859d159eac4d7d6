// SPDX-License-Identifier: Apache-2.0
// Products of floats in com.microsoft: FusedMatMul, FusedGemm, FusedConv, NhwcConv.
#include "core/import/onnx/microsoft/activations.h"
#include "core/import/onnx/microsoft/layout.h"
#include "core/import/onnx/rows/conv.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Which dims of an operand are exchanged before the product.
struct Transposition {
  bool matrix, batch;  // the last two dims; the first dim moves to the place before the last
};

ValueId as_operand(Graph& graph, ValueId x, Transposition how) {
  const size_t rank = graph.rank(x);
  if (rank < 2 || (!how.matrix && !how.batch)) return x;
  Ints perm;
  for (size_t d = 0; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  if (how.batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (how.matrix) std::swap(perm[rank - 2], perm[rank - 1]);
  return transposed(graph, x, perm);
}

Converted fused_matmul(Graph& graph, const OnnxNode& node) {
  ValueId a = graph.input(0), b = graph.input(1);
  const double alpha = node.f("alpha", 1);
  Transposition of_a{node.i("transA", 0) != 0, node.i("transBatchA", 0) != 0};
  Transposition of_b{node.i("transB", 0) != 0, node.i("transBatchB", 0) != 0};
  if (graph.rank(a) == 2 && graph.rank(b) == 2) {
    Attrs attrs{{"trans_a", of_a.matrix}, {"trans_b", of_b.matrix}, {"alpha", alpha}};
    return std::vector{graph.call("gemm", {a, b}, attrs)};
  }
  ValueId y = graph.call("matmul", {as_operand(graph, a, of_a), as_operand(graph, b, of_b)});
  if (alpha != 1) y = multiply(graph, y, graph.scalar(graph.type(y).dtype, alpha));
  return std::vector{y};
}

std::optional<double> given(const OnnxNode& node, const char* attr) {
  return node.has(attr) ? std::optional(node.f(attr, 0)) : std::nullopt;
}

Converted fused_gemm(Graph& graph, const OnnxNode& node) {
  ValueId y = graph.call("gemm", {graph.input(0), graph.input(1)},
                         {{"trans_a", node.i("transA", 0) != 0},
                          {"trans_b", node.i("transB", 0) != 0},
                          {"alpha", node.f("alpha", 1)}});
  const double beta = node.f("beta", 1);
  if (Value c = graph.optional_input(2); c && beta != 0) {
    if (beta != 1) c = multiply(graph, *c, graph.scalar(graph.type(*c).dtype, beta));
    y = add(graph, y, *c);
  }
  BYOC_TRY(y, activated(graph, y, node.s("activation", ""),
                        {given(node, "activation_alpha"), given(node, "activation_beta")}));
  return std::vector{y};
}

// Adds act(conv(x, w) + bias + z).
Converted fused_conv(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId y, add_conv(graph, node, graph.input(0), graph.input(1)));
  if (Value bias = graph.optional_input(2)) y = add_bias(graph, y, *bias);
  if (Value z = graph.optional_input(3)) y = add(graph, y, *z);
  ActivationParams params;
  for (double param : node.floats("activation_params")) params.emplace_back(param);
  BYOC_TRY(y, activated(graph, y, node.s("activation", ""), params));
  return std::vector{y};
}

// The channels of x and of the result are their last dim; those of the weight are its second.
Converted nhwc_conv(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(ValueId x, channels_second(graph, graph.input(0)));
  BYOC_TRY(ValueId y, add_conv(graph, node, x, graph.input(1)));
  if (Value bias = graph.optional_input(2)) y = add_bias(graph, y, *bias);
  return std::vector{channels_last(graph, y)};
}

constexpr Row kProductsRows[] = {
    {"FusedConv", 1, 1, fused_conv},         {"FusedGemm", 1, 1, fused_gemm},
    {"FusedMatMul", 1, 1, fused_matmul},     {"NhwcConv", 1, 1, nhwc_conv},
    {"TransposeMatMul", 1, 1, fused_matmul},
};

}  // namespace

std::span<const Row> microsoft_products_rows() { return kProductsRows; }

}  // namespace byoc::onnx_import
