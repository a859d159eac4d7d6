// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention of com.microsoft, whose query, key and value are projected before.
#include "core/import/onnx/microsoft/attention.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Returns part `which` of x [n, length, heads, parts, size] as [n, heads, length, size].
ValueId packed_part(Graph& graph, ValueId x, int64_t which) {
  ValueId part =
      graph.call("squeeze", {sliced(graph, x, 3, which, which + 1)}, {{"axes", Ints{3}}});
  return transposed(graph, part, {0, 2, 1, 3});
}

// Returns x [n, length, width] in heads, with its part of the bias. `begin`: of that part.
Result<ValueId> biased_heads(Graph& graph, const OnnxNode& node, ValueId x, const char* name,
                             int64_t& begin) {
  if (graph.rank(x) != 3)
    return invalid(cat(name, " must have rank 3 here, it is ", graph.type(x)));
  BYOC_TRY(int64_t width, known_extent(graph, x, 2, name));
  if (Value bias = graph.optional_input(3))
    x = add(graph, x, sliced(graph, *bias, 0, begin, begin + width));
  begin += width;
  return heads_of(graph, x, node.i("num_heads", 0), name);
}

// Returns the heads of the inputs, in any of their forms.
Result<Qkv> read_qkv(Graph& graph, const OnnxNode& node) {
  ValueId q = graph.input(0);
  const bool is_packed = graph.rank(q) == 5, has_key = node.has_input(1);
  const bool is_pair = has_key && graph.rank(graph.input(1)) == 5;
  if (node.has_input(3) && (is_packed || is_pair))
    return unimplemented("a bias for packed inputs is not supported");
  if (is_packed)
    return Qkv{packed_part(graph, q, 0), packed_part(graph, q, 1), packed_part(graph, q, 2)};
  int64_t begin = 0;
  BYOC_TRY(q, biased_heads(graph, node, q, "query", begin));
  if (!has_key) return invalid("its input key is missing, and query is not packed with it");
  ValueId k = graph.input(1);
  if (is_pair) return Qkv{q, packed_part(graph, k, 0), packed_part(graph, k, 1)};
  if (!node.has_input(2)) return invalid("its input value is missing");
  ValueId v = graph.input(2);
  if (graph.rank(k) == 4 && graph.rank(v) == 4) return Qkv{q, k, v};
  BYOC_TRY(k, biased_heads(graph, node, k, "key", begin));
  BYOC_TRY(v, biased_heads(graph, node, v, "value", begin));
  return Qkv{q, k, v};
}

Converted multi_head_attention(Graph& graph, const OnnxNode& node) {
  for (auto [k, name] : {std::pair(8, "past_sequence_length"), {9, "cache_indirection"}}) {
    if (node.has_input(static_cast<size_t>(k)))
      return unimplemented(cat("its input ", name,
                               ", for a cache that runs share, is not "
                               "supported"));
  }
  BYOC_TRY(Qkv heads, read_qkv(graph, node));
  if (Value past = graph.optional_input(6)) heads.k = concatenated(graph, {*past, heads.k}, 2);
  if (Value past = graph.optional_input(7)) heads.v = concatenated(graph, {*past, heads.v}, 2);
  Scoring how{node.f("scale", 0)};
  if (Value mask = graph.optional_input(4)) {
    const Mask given{*mask, node.f("mask_filter_value", -10000), "key_padding_mask"};
    BYOC_TRY(how.bias, mask_bias(graph, given, heads));
  }
  if (node.i("unidirectional", 0) != 0) {
    BYOC_TRY(ValueId causal, causal_bias(graph, heads));
    join_bias(graph, how.bias, causal);
  }
  if (Value bias = graph.optional_input(5)) join_given(graph, how.bias, *bias, heads);
  BYOC_TRY(Attended result, attended(graph, heads, how));
  BYOC_TRY(ValueId y, joined_heads(graph, result.y));
  std::vector<ValueId> outputs{y, heads.k, heads.v, result.scores};
  outputs.resize(std::min<size_t>(outputs.size(), node.num_outputs()));
  return outputs;
}

constexpr Row kMultiHeadRows[] = {
    {"MultiHeadAttention", 1, 1, multi_head_attention},
};

}  // namespace

std::span<const Row> microsoft_multi_head_rows() { return kMultiHeadRows; }

}  // namespace byoc::onnx_import
