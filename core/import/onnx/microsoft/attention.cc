// SPDX-License-Identifier: Apache-2.0
// Attention and QAttention of com.microsoft, which project their input, and what all operators of
// attention share.
#include "core/import/onnx/microsoft/attention.h"

#include <cmath>

#include "core/import/onnx/microsoft/quantized_products.h"
#include "core/import/onnx/rows/range.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Multiplies each head of a by the head of b that serves it.
Result<ValueId> product_of_heads(Graph& graph, ValueId a, ValueId b) {
  const Shape from = graph.type(a).shape, by = graph.type(b).shape;
  if (from.size() != 4 || by.size() != 4 || from[1] == by[1]) return graph.call("matmul", {a, b});
  return product_of_groups(graph, a, b);
}

// Notes that a dim of a mask or bias is the length of q or k in every run.
void note_extent(Graph& graph, ValueId value, size_t dim, ValueId head) {
  const Shape& heads = graph.type(head).shape;
  if (heads.size() == 4) graph.note_equal(graph.type(value).shape[dim], heads[2]);
}

ValueId bias_where(Graph& graph, ValueId allowed, double filter, DType dtype) {
  return graph.call("where", {allowed, graph.scalar(dtype, 0), graph.scalar(dtype, filter)});
}

// Returns the bias of [n] or [2 n] numbers of keys.
Result<ValueId> length_bias(Graph& graph, const Mask& mask, const Qkv& heads) {
  const TensorType type = graph.type(mask.mask);
  if (graph.rank(heads.q) != 4)
    return invalid(cat("query must have rank 4 in heads, it is ", graph.type(heads.q)));
  const Dim n = graph.type(heads.q).shape[0];
  const bool has_starts =
      type.shape[0].is_static() && n.is_static() && type.shape[0].extent() == 2 * n.extent();
  if (type.shape[0] != n && !has_starts)
    return unimplemented(cat(mask.name, " is ", type, ", of its forms with one dim those of ", n,
                             " and ", has_starts ? "" : "twice as many ", "entries are supported"));
  BYOC_TRY(const Dim t, run_extent(graph, heads.k, 2, "key"));
  const ValueId keys = counted_to(graph, t);
  const ValueId numbers = cast_to(graph, mask.mask, DType::kI64);
  auto per_image = [&](int64_t part) {
    ValueId list = has_starts
                       ? sliced(graph, numbers, 0, part * n.extent(), (part + 1) * n.extent())
                       : numbers;
    return reshaped(graph, list, {-1, 1, 1, 1});
  };
  ValueId allowed = graph.call("less", {keys, per_image(0)});
  if (has_starts)
    allowed =
        graph.call("logical_and", {allowed, graph.call("greater_equal", {keys, per_image(1)})});
  return bias_where(graph, allowed, mask.filter, graph.type(heads.q).dtype);
}

// ---- Attention, QAttention

// The inputs that both have, by their places.
struct InputPlaces {
  size_t mask, past, bias, past_length;
};

// Returns the widths of q, k and v, parts of `width`.
Result<Ints> widths_of(const OnnxNode& node, int64_t width) {
  Ints widths = node.ints("qkv_hidden_sizes");
  if (widths.empty()) widths.assign(3, width / 3);
  if (widths.size() == 3 && widths[0] + widths[1] + widths[2] == width) return widths;
  return invalid(cat("its weights have ", width,
                     " columns, which are not the sum of the three "
                     "qkv_hidden_sizes"));
}

// Joins k and v with those of the past [2, n, heads, length, size].
ValueId with_past(Graph& graph, Value past, int64_t which, ValueId now) {
  if (!past) return now;
  ValueId before =
      graph.call("squeeze", {sliced(graph, *past, 0, which, which + 1)}, {{"axes", Ints{0}}});
  return concatenated(graph, {before, now}, 2);
}

Status refused_forms(const OnnxNode& node, const InputPlaces& places) {
  for (const char* attr : {"do_rotary", "past_present_share_buffer"}) {
    if (node.i(attr, 0) != 0) return unimplemented(cat(attr, "=1 is not supported"));
  }
  if (node.has_input(places.past_length))
    return unimplemented("its input past_sequence_length is not supported");
  return {};
}

// Converts what follows the projection to q, k and v, side by side in `all`.
Converted projected_attention(Graph& graph, const OnnxNode& node, ValueId all,
                              const InputPlaces& places) {
  BYOC_TRY_STATUS(refused_forms(node, places));
  if (graph.rank(all) != 3)
    return invalid(cat("its input must have rank 3, the projection is ", graph.type(all)));
  BYOC_TRY(int64_t width, known_extent(graph, all, 2, "the projection"));
  BYOC_TRY(Ints widths, widths_of(node, width));
  std::vector<ValueId> parts;
  for (int64_t from = 0; int64_t each : widths) {
    BYOC_TRY(ValueId part, heads_of(graph, sliced(graph, all, 2, from, from + each),
                                    node.i("num_heads", 0), "the projection"));
    parts.push_back(part);
    from += each;
  }
  Value past = graph.optional_input(places.past);
  const Qkv heads{parts[0], with_past(graph, past, 0, parts[1]),
                  with_past(graph, past, 1, parts[2])};
  Scoring how{node.f("scale", 0)};
  if (Value mask = graph.optional_input(places.mask)) {
    const Mask given{*mask, node.f("mask_filter_value", -10000), "mask_index"};
    BYOC_TRY(how.bias, mask_bias(graph, given, heads));
  }
  if (node.i("unidirectional", 0) != 0) {
    BYOC_TRY(ValueId causal, causal_bias(graph, heads));
    join_bias(graph, how.bias, causal);
  }
  if (Value bias = graph.optional_input(places.bias)) join_given(graph, how.bias, *bias, heads);
  BYOC_TRY(Attended result, attended(graph, heads, how));
  BYOC_TRY(ValueId y, joined_heads(graph, result.y));
  std::vector<ValueId> outputs{y};
  if (node.num_outputs() > 1)
    outputs.push_back(
        concatenated(graph, {unsqueezed(graph, heads.k, {0}), unsqueezed(graph, heads.v, {0})}, 0));
  return outputs;
}

Converted attention_with_weights(Graph& graph, const OnnxNode& node) {
  ValueId all = graph.call("matmul", {graph.input(0), graph.input(1)});
  if (Value bias = graph.optional_input(2)) all = add(graph, all, *bias);
  return projected_attention(graph, node, all, {3, 4, 5, 6});
}

Converted quantized_attention(Graph& graph, const OnnxNode& node) {
  constexpr size_t kNone = 9;  // no such input
  const Quantized x{graph.input(0), graph.input(3), graph.optional_input(6)};
  const Quantized weight{graph.input(1), graph.input(4), graph.optional_input(7)};
  BYOC_TRY(ValueId all, product_of_quantized(graph, x, weight, graph.input(2)));
  return projected_attention(graph, node, all, {5, 8, kNone, kNone});
}

constexpr Row kAttentionRows[] = {
    {"Attention", 1, 1, attention_with_weights},
    {"QAttention", 1, 1, quantized_attention},
};

}  // namespace

Result<ValueId> heads_of(Graph& graph, ValueId x, int64_t heads, const char* name) {
  BYOC_TRY(int64_t width, known_extent(graph, x, 2, name));
  if (heads < 1 || width % heads != 0)
    return invalid(
        cat(name, " is ", graph.type(x), ", its last dim does not divide into ", heads, " heads"));
  return transposed(graph, reshaped(graph, x, {0, 0, heads, width / heads}), {0, 2, 1, 3});
}

Result<ValueId> joined_heads(Graph& graph, ValueId x) {
  BYOC_TRY(int64_t heads, known_extent(graph, x, 1, "the result"));
  BYOC_TRY(int64_t size, known_extent(graph, x, 3, "the result"));
  return reshaped(graph, transposed(graph, x, {0, 2, 1, 3}), {0, 0, heads * size});
}

Result<Attended> attended(Graph& graph, const Qkv& heads, const Scoring& how) {
  const DType dtype = graph.type(heads.q).dtype;
  BYOC_TRY(int64_t size, known_extent(graph, heads.q, 3, "query"));
  const double scale = how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<double>(size));
  BYOC_TRY(ValueId scores,
           product_of_heads(graph, heads.q, transposed(graph, heads.k, {0, 1, 3, 2})));
  scores = multiply(graph, scores, graph.scalar(dtype, scale));
  if (how.softcap > 0) {
    const ValueId cap = graph.scalar(dtype, how.softcap);
    scores = multiply(graph, graph.call("tanh", {graph.call("divide", {scores, cap})}), cap);
  }
  if (how.bias) scores = add(graph, scores, *how.bias);
  ValueId all = scores;
  if (how.sink) {
    Shape column = graph.type(heads.q).shape;
    for (size_t d = 0; d < column.size(); ++d)
      BYOC_TRY_STATUS(run_extent(graph, heads.q, d, "query").status());
    column[3] = Dim(1);
    all = concatenated(graph, {scores, shaped_to(graph, "expand", *how.sink, column)}, 3);
  }
  ValueId weights = graph.call("softmax", {all}, {{"axis", int64_t{-1}}});
  if (how.sink) weights = sliced(graph, weights, 3, 0, -1);
  BYOC_TRY(const ValueId y, product_of_heads(graph, weights, heads.v));
  return Attended{y, scores, weights};
}

Result<ValueId> mask_bias(Graph& graph, const Mask& mask, const Qkv& heads) {
  const size_t rank = graph.rank(mask.mask);
  if (rank == 1) return length_bias(graph, mask, heads);
  if (rank != 2 && rank != 3)
    return unimplemented(
        cat(mask.name, " is ", graph.type(mask.mask), ", only ranks 1 to 3 are supported"));
  if (rank == 3) note_extent(graph, mask.mask, 1, heads.q);
  note_extent(graph, mask.mask, rank - 1, heads.k);
  ValueId allowed =
      graph.call("greater", {mask.mask, graph.scalar(graph.type(mask.mask).dtype, 0)});
  allowed = unsqueezed(graph, allowed, rank == 2 ? Ints{1, 2} : Ints{1});
  return bias_where(graph, allowed, mask.filter, graph.type(heads.q).dtype);
}

Result<ValueId> causal_bias(Graph& graph, const Qkv& heads) {
  BYOC_TRY(const Dim s, run_extent(graph, heads.q, 2, "query"));
  BYOC_TRY(const Dim t, run_extent(graph, heads.k, 2, "key"));
  const ValueId past =
      graph.call("subtract", {extent_of(graph, heads.k, 2), extent_of(graph, heads.q, 2)});
  ValueId last = add(graph, counted_to(graph, s), past);
  ValueId allowed = graph.call("less_equal", {counted_to(graph, t), unsqueezed(graph, last, {1})});
  return bias_where(graph, allowed, -std::numeric_limits<double>::infinity(),
                    graph.type(heads.q).dtype);
}

void join_bias(Graph& graph, Value& all, ValueId more) {
  all = all ? add(graph, *all, more) : more;
}

void join_given(Graph& graph, Value& all, ValueId bias, const Qkv& heads) {
  if (graph.rank(bias) == 4) {
    note_extent(graph, bias, 2, heads.q);
    note_extent(graph, bias, 3, heads.k);
  }
  join_bias(graph, all, bias);
}

std::span<const Row> microsoft_attention_rows() { return kAttentionRows; }

}  // namespace byoc::onnx_import
