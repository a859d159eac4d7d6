// SPDX-License-Identifier: Apache-2.0
// Normalisations of com.microsoft, with the additions before them, and EmbedLayerNormalization.
#include "core/import/onnx/rows/norm.h"

#include "core/import/onnx/microsoft/quantized.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Returns input + skip + bias. A skip [s, h] or [1, s, h] is for each image.
ValueId skip_sum(Graph& graph, size_t bias) {
  ValueId sum = add(graph, graph.input(0), graph.input(1));
  if (Value more = graph.optional_input(bias)) sum = add(graph, sum, *more);
  return sum;
}

// Outputs: y, the mean, the inverse deviation, the sum.
Converted skip_layer_norm(Graph& graph, const OnnxNode& node) {
  const ValueId sum = skip_sum(graph, 4);
  const bool stats = node.has_output(1) || node.has_output(2);
  std::vector<ValueId> args{sum, graph.input(2)};
  if (Value beta = graph.optional_input(3)) args.push_back(*beta);
  ValueId y =
      graph.call("layer_norm", args,
                 {{"axis", int64_t{-1}}, {"epsilon", node.f("epsilon", 1e-12)}, {"stats", stats}});
  std::vector<ValueId> outputs{y, {y.node, 1}, {y.node, 2}, sum};
  outputs.resize(std::min<size_t>(outputs.size(), node.num_outputs()));
  return outputs;
}

Converted skip_simplified_norm(Graph& graph, const OnnxNode& node) {
  if (node.has_output(1))
    return unimplemented("output 1, the mean, is not computed by this normalisation");
  const ValueId sum = skip_sum(graph, 3);
  const RmsAttrs attrs{-1, node.f("epsilon", 1e-12)};
  BYOC_TRY(ValueId y, add_rms_norm(graph, sum, graph.input(2), attrs));
  std::vector<ValueId> outputs{y, y, y, sum};
  if (node.has_output(2)) {
    BYOC_TRY(outputs[2], inverse_root_mean_square(graph, sum, attrs));
  }
  outputs.resize(std::min<size_t>(outputs.size(), node.num_outputs()));
  return outputs;
}

// ---- EmbedLayerNormalization, QEmbedLayerNormalization

// Tables of the embedding, and the places of their scales and zero points; 0: they are floats.
struct Tables {
  size_t scales = 0, zero_points = 0;
};

// Returns input k, or rows of it, as real numbers.
Result<ValueId> real_numbers(Graph& graph, const Tables& tables, size_t k, ValueId x) {
  if (tables.scales == 0) return x;
  const size_t place = k - 2;  // word, position, segment, gamma, beta
  return dequantized(graph, {x, graph.input(tables.scales + place),
                             graph.optional_input(tables.zero_points + place)});
}

// Returns rows of table k, by indices that must be within it.
Result<ValueId> looked_up(Graph& graph, const Tables& tables, size_t k, ValueId rows,
                          const char* of) {
  ValueId table = graph.input(k);
  if (graph.rank(table) != 2)
    return invalid(cat("input ", k, " must have rank 2, it is ", graph.type(table)));
  rows = in_range(graph, rows, graph.type(table).shape[0], 0, of);
  ValueId found = graph.call("gather", {table, rows}, {{"axis", int64_t{0}}});
  return real_numbers(graph, tables, k, found);
}

// Returns the embedding of the positions: the first s of them, or those that are given.
Result<ValueId> embedded_positions(Graph& graph, const Tables& tables) {
  if (Value rows = tables.scales == 0 ? graph.optional_input(8) : std::nullopt)
    return looked_up(graph, tables, 3, *rows, "embed_layer_normalization.position_ids");
  const TensorType ids = graph.type(graph.input(0));
  if (ids.shape.size() != 2) return invalid(cat("input_ids must have rank 2, it is ", ids));
  if (!ids.shape[1].is_static())
    return unimplemented(cat("dim 1 of input_ids must be known without position_ids, it is ", ids));
  return real_numbers(graph, tables, 3, sliced(graph, graph.input(3), 0, 0, ids.shape[1].extent()));
}

// Returns how many entries of each row of the mask are 1, or zeros without one.
ValueId mask_lengths(Graph& graph) {
  constexpr int64_t kLast = -1;
  Attrs over_row{{"axes", Ints{kLast}}, {"keepdims", false}};
  Value mask = graph.optional_input(7);
  if (!mask) {
    ValueId ids = graph.input(0);
    ValueId none = multiply(graph, ids, graph.scalar(graph.type(ids).dtype, 0));
    return graph.call("sum", {none}, over_row);
  }
  ValueId is_one = graph.call("equal", {*mask, graph.scalar(graph.type(*mask).dtype, 1)});
  return graph.call("sum", {cast_to(graph, is_one, DType::kI32)}, over_row);
}

Converted embedded(Graph& graph, const OnnxNode& node, const Tables& tables) {
  BYOC_TRY(ValueId sum,
           looked_up(graph, tables, 2, graph.input(0), "embed_layer_normalization.input_ids"));
  BYOC_TRY(ValueId positions, embedded_positions(graph, tables));
  sum = add(graph, sum, positions);
  if (Value rows = graph.optional_input(1)) {
    BYOC_TRY(ValueId segments,
             looked_up(graph, tables, 4, *rows, "embed_layer_normalization.segment_ids"));
    sum = add(graph, sum, segments);
  }
  BYOC_TRY(ValueId gamma, real_numbers(graph, tables, 5, graph.input(5)));
  BYOC_TRY(ValueId beta, real_numbers(graph, tables, 6, graph.input(6)));
  ValueId y = graph.call("layer_norm", {sum, gamma, beta},
                         {{"axis", int64_t{-1}}, {"epsilon", node.f("epsilon", 1e-12)}});
  std::vector<ValueId> outputs{y};
  if (node.num_outputs() > 1) outputs.push_back(mask_lengths(graph));
  if (node.num_outputs() > 2) outputs.push_back(sum);
  return outputs;
}

Converted embed_layer_norm(Graph& graph, const OnnxNode& node) { return embedded(graph, node, {}); }

Converted quantized_embed_layer_norm(Graph& graph, const OnnxNode& node) {
  return embedded(graph, node, {.scales = 8, .zero_points = 13});
}

constexpr Row kNormRows[] = {
    {"EmbedLayerNormalization", 1, 1, embed_layer_norm},
    {"QEmbedLayerNormalization", 1, 1, quantized_embed_layer_norm},
    {"SimplifiedLayerNormalization", 1, 1, simplified_layer_norm},
    {"SkipLayerNormalization", 1, 1, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, 1, skip_simplified_norm},
};

}  // namespace

std::span<const Row> microsoft_norm_rows() { return kNormRows; }

}  // namespace byoc::onnx_import
