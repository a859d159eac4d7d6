// SPDX-License-Identifier: Apache-2.0
// Attention and RotaryEmbedding, converted into products, softmax and masks.
// Source: ONNX opsets 23 to 25, Attention; opset 23, RotaryEmbedding.
#include <cmath>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/rows/range.h"
#include "core/import/onnx/rows/rotary.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// q [n, h, s, d], k [n, g, t, d], v [n, g, t, e], where g divides h: each head of k and v serves
// h / g heads of q. n may be symbolic.
struct Heads {
  ValueId q, k, v;
  int64_t h = 0, g = 0, d = 0, e = 0;
  Dim s = Dim(0), t = Dim(0);  // which may be open
  Value past = {};             // of the first keys, which were seen before these queries
  bool are_packed = false;     // in the model they have rank 3, [n, length, heads * size]
};

// Reshapes [n, length, heads * size] to [n, heads, length, size].
Result<ValueId> split_heads(Graph& graph, ValueId x, int64_t heads, const char* name) {
  BYOC_TRY(int64_t width, known_extent(graph, x, 2, name));
  if (heads < 1 || width % heads != 0)
    return invalid(cat(name, " is ", graph.type(x), ", its last dim does not divide into ", heads,
                       " heads (q_num_heads, kv_num_heads)"));
  return transposed(graph, reshaped(graph, x, {0, 0, heads, width / heads}), {0, 2, 1, 3});
}

Status check_heads(Graph& graph, const Heads& heads) {
  const Shape &q = graph.type(heads.q).shape, &k = graph.type(heads.k).shape,
              &v = graph.type(heads.v).shape;
  bool fits = q[0] == k[0] && q[0] == v[0] && q[3] == k[3] && k[1] == v[1] && k[2] == v[2];
  if (fits && heads.g > 0 && heads.h % heads.g == 0) return {};
  return invalid(cat("Q, K and V do not fit each other as [n, heads, length, size]: they are ",
                     graph.type(heads.q), ", ", graph.type(heads.k), " and ", graph.type(heads.v)));
}

// Joins the cached keys or values with the new ones.
Result<ValueId> with_past(Graph& graph, ValueId now, Value past) {
  if (!past) return now;
  if (graph.rank(*past) != 4)
    return invalid(cat("past_key and past_value must have rank 4, one is ", graph.type(*past)));
  return concatenated(graph, {*past, now}, 2);
}

Result<Heads> read_heads(Graph& graph, const OnnxNode& node) {
  Heads heads{graph.input(0), graph.input(1), graph.input(2)};
  size_t rank = graph.rank(heads.q);
  if ((rank != 3 && rank != 4) || graph.rank(heads.k) != rank || graph.rank(heads.v) != rank)
    return invalid(cat("Q, K and V must all have rank 3 or 4, they are ", graph.type(heads.q), ", ",
                       graph.type(heads.k), " and ", graph.type(heads.v)));
  heads.are_packed = rank == 3;
  if (heads.are_packed) {
    int64_t h = node.i("q_num_heads", 0), g = node.i("kv_num_heads", 0);
    BYOC_TRY(heads.q, split_heads(graph, heads.q, h, "Q"));
    BYOC_TRY(heads.k, split_heads(graph, heads.k, g, "K"));
    BYOC_TRY(heads.v, split_heads(graph, heads.v, g, "V"));
  }
  BYOC_TRY(heads.k, with_past(graph, heads.k, graph.optional_input(4)));
  BYOC_TRY(heads.v, with_past(graph, heads.v, graph.optional_input(5)));
  heads.past = graph.optional_input(4);
  BYOC_TRY(heads.h, known_extent(graph, heads.q, 1, "Q"));
  BYOC_TRY(heads.s, run_extent(graph, heads.q, 2, "Q"));
  BYOC_TRY(heads.d, known_extent(graph, heads.q, 3, "Q"));
  BYOC_TRY(heads.g, known_extent(graph, heads.k, 1, "K"));
  BYOC_TRY(heads.t, run_extent(graph, heads.k, 2, "K"));
  BYOC_TRY(heads.e, known_extent(graph, heads.v, 3, "V"));
  BYOC_TRY_STATUS(check_heads(graph, heads));
  return heads;
}

// ---- the bias that is added to the scores: 0 where a query may see a key, -infinity elsewhere

ValueId bias_of(Graph& graph, ValueId allowed, DType dtype) {
  return graph.call("where", {allowed, graph.scalar(dtype, 0), minus_infinity(graph, dtype)});
}

// Returns attn_mask as a bias. A mask with fewer keys than there are allows no others.
Result<ValueId> given_bias(Graph& graph, const OnnxNode& node, ValueId mask, Dim t, DType dtype) {
  if (graph.rank(mask) == 0)
    return invalid(cat("attn_mask must have rank 1 to 4, it is ", graph.type(mask)));
  bool is_bool = graph.type(mask).dtype == DType::kBool;
  ValueId bias = is_bool ? bias_of(graph, mask, dtype) : cast_to(graph, mask, dtype);
  auto last = static_cast<int64_t>(graph.rank(mask)) - 1;
  BYOC_TRY(const Dim width, run_extent(graph, mask, static_cast<size_t>(last), "attn_mask"));
  if (node.opset() < 24 || width == t) return bias;
  if (!width.is_static() || !t.is_static())
    return unimplemented(cat("attn_mask has ", width, " keys of ", t,
                             ", and whether the others are masked is not known"))
        .with_help("give the sizes with --shape");
  if (width.extent() >= t.extent()) return bias;
  Ints pads(2 * static_cast<size_t>(last + 1), 0);
  pads.back() = t.extent() - width.extent();
  return graph.call("pad", {bias},
                    {{"pads", pads}, {"value", -std::numeric_limits<double>::infinity()}});
}

struct Window {
  bool is_causal;
  int64_t left, right;  // -1: unbounded
  bool is_bounded() const { return is_causal || left >= 0 || right >= 0; }
};

Window window_of(const OnnxNode& node) {
  Window window{node.i("is_causal", 0) != 0, -1, -1};
  if (node.opset() < 25) return window;
  window.left = node.i("left_window_size", -1);
  window.right = node.i("right_window_size", -1);
  return window;
}

// Returns key - query position [s, t], or [n, 1, s, t] where valid lengths are given per image.
ValueId distances(Graph& graph, const Heads& heads, Value lengths) {
  ValueId positions = counted_to(graph, heads.s);
  if (heads.past) positions = add(graph, positions, extent_of(graph, *heads.past, 2));
  ValueId queries = unsqueezed(graph, positions, {1});
  if (lengths) {  // the queries are the last of the valid positions
    ValueId offset = graph.call("subtract", {*lengths, extent_of(graph, heads.q, 2)});
    queries = add(graph, queries, reshaped(graph, offset, {-1, 1, 1, 1}));
  }
  return graph.call("subtract", {counted_to(graph, heads.t), queries});
}

ValueId bounded_bias(Graph& graph, ValueId distance, const Window& window, DType dtype) {
  Value allowed;
  auto require = [&](const char* op, int64_t bound) {
    ValueId holds = graph.call(op, {distance, graph.constant_ints({bound})});
    allowed = allowed ? graph.call("logical_and", {*allowed, holds}) : holds;
  };
  if (window.is_causal) require("less_equal", 0);
  if (window.right >= 0 && !window.is_causal) require("less_equal", window.right);
  if (window.left >= 0) require("greater_equal", -window.left);
  return bias_of(graph, *allowed, dtype);
}

// Returns the sum of all biases; empty when every query may see every key.
Result<Value> total_bias(Graph& graph, const OnnxNode& node, const Heads& heads, DType dtype) {
  Value bias, past = graph.optional_input(4);
  Value lengths = node.opset() >= 24 ? graph.optional_input(6) : std::nullopt;
  auto join = [&](ValueId more) { bias = bias ? add(graph, *bias, more) : more; };
  if (lengths) *lengths = in_range(graph, *lengths, heads.t, 1, "attention.nonpad_kv_seqlen");
  if (lengths && past)
    return invalid("nonpad_kv_seqlen cannot be combined with past_key and past_value");
  if (Value mask = graph.optional_input(3)) {
    BYOC_TRY(ValueId given, given_bias(graph, node, *mask, heads.t, dtype));
    join(given);
  }
  const Window window = window_of(node);
  if (window.left < -1 || window.right < -1)
    return invalid(cat("left_window_size ", window.left, " and right_window_size ", window.right,
                       " must be at least -1"));
  if (window.is_bounded())
    join(bounded_bias(graph, distances(graph, heads, lengths), window, dtype));
  if (lengths) {
    ValueId valid =
        graph.call("less", {counted_to(graph, heads.t), reshaped(graph, *lengths, {-1, 1, 1, 1})});
    join(bias_of(graph, valid, dtype));
  }
  return bias;
}

// ---- scores and their softmax

// Multiplies each head of a by its head of b.
Result<ValueId> product(Graph& graph, const Heads& heads, ValueId a, ValueId b) {
  if (heads.h == heads.g) return graph.call("matmul", {a, b});
  return product_of_groups(graph, a, b);
}

// A query that may see no key has probability 0 for all, not NaN.
ValueId without_masked_rows(Graph& graph, ValueId probabilities, ValueId bias) {
  DType dtype = graph.type(bias).dtype;
  ValueId most = graph.call("max", {bias}, {{"axes", Ints{-1}}});
  ValueId sees_none = graph.call("equal", {most, minus_infinity(graph, dtype)});
  ValueId none = graph.scalar(graph.type(probabilities).dtype, 0);
  return graph.call("where", {sees_none, none, probabilities});
}

// Returns true when the biases leave at least one key to every query: without masks, each query
// sees the key at its own position, where there is one.
bool leaves_keys(Graph& graph, const Heads& heads) {
  if (graph.optional_input(3) || graph.optional_input(6)) return false;
  const Shape& keys = graph.type(graph.input(1)).shape;
  const Dim now = keys[keys.size() - 2];
  return now == heads.s ||
         (now.is_static() && heads.s.is_static() && heads.s.extent() <= now.extent());
}

ValueId softcapped(Graph& graph, ValueId scores, double softcap) {
  if (!(softcap > 0)) return scores;
  ValueId cap = graph.scalar(graph.type(scores).dtype, softcap);
  ValueId part = graph.call("tanh", {graph.call("divide", {scores, cap})});
  return multiply(graph, part, cap);
}

ValueId scaled(Graph& graph, ValueId x, double factor) {
  return multiply(graph, x, graph.scalar(graph.type(x).dtype, factor));
}

Result<ValueId> probabilities_of(Graph& graph, const OnnxNode& node, const Heads& heads,
                                 ValueId scores, Value bias) {
  DType dtype = graph.type(scores).dtype, precision = dtype;
  if (node.has("softmax_precision")) {
    BYOC_TRY(precision, dtype_from_onnx(static_cast<int32_t>(node.i("softmax_precision", 1))));
  }
  ValueId y = graph.call("softmax", {cast_to(graph, scores, precision)}, {{"axis", -1}});
  if (bias && !leaves_keys(graph, heads)) y = without_masked_rows(graph, y, *bias);
  return cast_to(graph, y, dtype);
}

// ---- attention to the valid keys of a cache

// Returns true for a node whose lengths, Y and softmax are what cached_attention has.
bool has_cached_form(Graph& graph, const OnnxNode& node) {
  const bool has_lengths = node.opset() >= 24 && graph.optional_input(6) &&
                           !graph.optional_input(4) && !graph.optional_input(5);
  const bool is_usual = !node.has_output(3) && node.i("softmax_precision", 1) == 1 &&
                        (!node.has("scale") || node.f("scale", 0) > 0);
  return has_lengths && is_usual;
}

// Returns the heads of an operand of rank 4, else the number in the attribute.
int64_t heads_in(Graph& graph, ValueId x, const OnnxNode& node, const char* attr) {
  const Shape& shape = graph.type(x).shape;
  if (shape.size() != 4) return node.i(attr, 0);
  return shape[1].is_static() ? shape[1].extent() : 0;
}

// Returns Y by cached_attention; empty where the mask has another width than the cache, or packed
// keys and values are also results, which are [n, heads, length, size].
Result<Value> cached_attention(Graph& graph, const OnnxNode& node) {
  const ValueId q = graph.input(0), k = graph.input(1), v = graph.input(2);
  const size_t rank = graph.rank(k);
  const Shape& keys = graph.type(k).shape;
  if ((rank != 3 && rank != 4) || graph.rank(q) != rank || graph.rank(v) != rank) return Value();
  if (rank == 3 && (node.has_output(1) || node.has_output(2))) return Value();
  const Dim t = keys[rank - 2];
  if (!t.is_static()) return Value();
  std::vector<ValueId> operands = {q, k, v, *graph.optional_input(6)};
  if (Value mask = graph.optional_input(3)) {
    const TensorType& type = graph.type(*mask);
    if (type.shape.empty() || type.shape.back() != t) return Value();
    operands.push_back(*mask);
  }
  const Window window = window_of(node);
  const Attrs attrs{{"heads", heads_in(graph, q, node, "q_num_heads")},
                    {"kv_heads", heads_in(graph, k, node, "kv_num_heads")},
                    {"scale", node.f("scale", 0)},
                    {"causal", window.is_causal},
                    {"left_window", window.left},
                    {"right_window", window.right},
                    {"softcap", std::max(node.f("softcap", 0), 0.0)},
                    {"of", "attention.nonpad_kv_seqlen"}};
  return Value(graph.call("cached_attention", operands, attrs));
}

// Returns Y, the keys and values with those of the past, and the scores of qk_matmul_output_mode.
Converted attention(Graph& graph, const OnnxNode& node) {
  if (has_cached_form(graph, node)) {
    BYOC_TRY(const Value y, cached_attention(graph, node));
    std::vector<ValueId> outputs = {y.value_or(ValueId()), graph.input(1), graph.input(2)};
    outputs.resize(std::min<size_t>(node.num_outputs(), outputs.size()));
    if (y) return outputs;
  }
  BYOC_TRY(Heads heads, read_heads(graph, node));
  DType dtype = graph.type(heads.q).dtype;
  double scale = node.f("scale", 1 / std::sqrt(static_cast<double>(heads.d)));
  if (scale < 0)
    return unimplemented(cat("scale is ", scale, ", only positive ones are supported"));
  double factor = std::sqrt(scale);
  ValueId keys = transposed(graph, cast_to(graph, heads.k, dtype), {0, 1, 3, 2});
  BYOC_TRY(const ValueId raw,
           product(graph, heads, scaled(graph, heads.q, factor), scaled(graph, keys, factor)));
  const ValueId capped = softcapped(graph, raw, node.f("softcap", 0));
  BYOC_TRY(Value bias, total_bias(graph, node, heads, dtype));
  const ValueId biased = bias ? add(graph, capped, *bias) : capped;
  BYOC_TRY(ValueId weights, probabilities_of(graph, node, heads, biased, bias));
  BYOC_TRY(ValueId y, product(graph, heads, weights, cast_to(graph, heads.v, dtype)));
  if (heads.are_packed)
    y = reshaped(graph, transposed(graph, y, {0, 2, 1, 3}), {0, 0, heads.h * heads.e});
  int64_t mode = node.i("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return invalid(cat("qk_matmul_output_mode is ", mode, ", not 0 to 3"));
  const ValueId stages[] = {raw, capped, biased, weights};
  std::vector<ValueId> outputs = {y, heads.k, heads.v, stages[mode]};
  outputs.resize(std::min<size_t>(node.num_outputs(), outputs.size()));
  return outputs;
}

// ---- RotaryEmbedding

// Returns a cache of angles as [n, s, r / 2], or that of every position in the model's order.
ValueId angles(Graph& graph, ValueId cache, Value positions) {
  if (!positions) return cache;
  const Dim most = graph.type(cache).shape[0];
  return graph.call("gather", {cache, in_range(graph, *positions, most, 0, "rotary.position_ids")},
                    {{"axis", 0}});
}

}  // namespace

ValueId rotated(Graph& graph, ValueId x, ValueId cosine, ValueId sine, int64_t size,
                bool interleaved) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  auto part = [&](int64_t which) {
    if (interleaved) return sliced(graph, x, -1, which, kEnd, 2);
    return sliced(graph, x, -1, which * (size / 2), (which + 1) * (size / 2));
  };
  ValueId a = part(0), b = part(1);
  ValueId real = graph.call("subtract", {multiply(graph, cosine, a), multiply(graph, sine, b)});
  ValueId imaginary = add(graph, multiply(graph, sine, a), multiply(graph, cosine, b));
  if (!interleaved) return concatenated(graph, {real, imaginary}, -1);
  Ints shape(graph.rank(x), 0);
  shape.back() = size;
  return reshaped(
      graph,
      concatenated(graph, {unsqueezed(graph, real, {-1}), unsqueezed(graph, imaginary, {-1})}, -1),
      shape);
}

namespace {

Converted rotary_embedding(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  size_t rank = graph.rank(x);
  if (rank != 3 && rank != 4) return invalid(cat("X must have rank 3 or 4, it is ", graph.type(x)));
  BYOC_TRY(int64_t width, known_extent(graph, x, rank - 1, "X"));
  int64_t heads = node.i("num_heads", 0), size = width;
  if (rank == 3) {  // [n, s, heads * size]; the heads become dim 2, instead of 1
    if (heads < 1 || width % heads != 0)
      return invalid(cat("X is ", graph.type(x), ", its last dim does not divide into ", heads,
                         " heads (num_heads)"));
    size = width / heads;
    x = reshaped(graph, x, {0, 0, heads, size});
  }
  int64_t turned = node.i("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (turned < 0 || turned > size || turned % 2 != 0)
    return invalid(cat("rotary_embedding_dim ", turned, " must be even and at most the head's ",
                       size, " elements"));
  Value positions = graph.optional_input(3);
  Ints head_dim = {rank == 3 ? 2 : 1};
  ValueId cosine = unsqueezed(graph, angles(graph, graph.input(1), positions), head_dim);
  ValueId sine = unsqueezed(graph, angles(graph, graph.input(2), positions), head_dim);
  ValueId moving = turned == size ? x : sliced(graph, x, -1, 0, turned);
  ValueId y = rotated(graph, moving, cosine, sine, turned, node.i("interleaved", 0) != 0);
  if (turned != size) y = concatenated(graph, {y, sliced(graph, x, -1, turned, size)}, -1);
  return std::vector{rank == 3 ? reshaped(graph, y, {0, 0, width}) : y};
}

constexpr Row kAttentionRows[] = {
    {"Attention", 23, kNewest, attention},
    {"RotaryEmbedding", 23, kNewest, rotary_embedding},
};

}  // namespace

std::span<const Row> attention_rows() { return kAttentionRows; }

}  // namespace byoc::onnx_import
