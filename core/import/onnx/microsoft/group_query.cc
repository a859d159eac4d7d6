// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention and RotaryEmbedding of com.microsoft. The cache is joined with the new keys
// and values, or has a fixed size and gets them at their positions.
#include "core/import/onnx/microsoft/attention.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/range.h"
#include "core/import/onnx/rows/rotary.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

// Where the new keys and values come in the cache.
struct Places {
  int64_t n = 0;             // images
  Dim s;                     // new positions; open where prompts of any length come
  int64_t past = 0;          // the length of the cache before
  bool is_joined = false;    // the cache is past and new ones; else it stays as long as it was
  bool is_prompt = false;    // the new ones are the first
  ValueId positions, total;  // i64: of the new ones, [n, s] or [1, s]; how many are valid, [n, 1]
  ValueId first;             // i64 [n]: the positions of the first new ones
};

// ---- rotation

// Turns the first dims of x [n, heads, s, size] by the angles of the positions [n, s].
Result<ValueId> turned(Graph& graph, ValueId x, ValueId positions,
                       std::pair<ValueId, ValueId> caches, bool interleaved) {
  BYOC_TRY(int64_t size, known_extent(graph, x, 3, "the input"));
  BYOC_TRY(int64_t half, known_extent(graph, caches.first, 1, "cos_cache"));
  const int64_t width = 2 * half;
  if (width > size)
    return invalid(cat("cos_cache is ", graph.type(caches.first), " for heads of ", size));
  if (graph.rank(caches.second) != 2)
    return invalid(cat("sin_cache must have rank 2, it is ", graph.type(caches.second)));
  auto angles_of = [&](ValueId cache) {
    ValueId rows = in_range(graph, positions, graph.type(cache).shape[0], 0, "rotary.position_ids");
    return unsqueezed(graph, graph.call("gather", {cache, rows}, {{"axis", int64_t{0}}}), {1});
  };
  ValueId moving = width == size ? x : sliced(graph, x, 3, 0, width);
  ValueId y =
      rotated(graph, moving, angles_of(caches.first), angles_of(caches.second), width, interleaved);
  return width == size ? y : concatenated(graph, {y, sliced(graph, x, 3, width, size)}, 3);
}

// The positions of RotaryEmbedding: [n, s] numbers, or one that the first of s has.
Result<ValueId> given_positions(Graph& graph, ValueId given, ValueId x) {
  if (graph.rank(given) == 2) return given;
  BYOC_TRY(int64_t s, known_extent(graph, x, 2, "its input"));
  ValueId first = reshaped(graph, cast_to(graph, given, DType::kI64), {-1, 1});
  return add(graph, first, counted(graph, s));
}

Converted rotary_of_runtime(Graph& graph, const OnnxNode& node) {
  if (node.i("is_packed_batching", 0) != 0)
    return unimplemented("is_packed_batching=1 is not supported");
  ValueId x = graph.input(0);
  const size_t rank = graph.rank(x);
  if (rank != 3 && rank != 4)
    return invalid(cat("its input must have rank 3 or 4, it is ", graph.type(x)));
  if (rank == 3) {
    BYOC_TRY(int64_t width, known_extent(graph, x, 2, "its input"));
    int64_t heads = node.i("num_heads", 0);
    if (heads == 0) {  // all dims of a head turn
      BYOC_TRY(int64_t half, known_extent(graph, graph.input(2), 1, "cos_cache"));
      heads = half > 0 ? width / (2 * half) : 0;
    }
    BYOC_TRY(x, heads_of(graph, x, heads, "its input"));
  }
  BYOC_TRY(ValueId positions, given_positions(graph, graph.input(1), x));
  BYOC_TRY(ValueId y, turned(graph, x, positions, {graph.input(2), graph.input(3)},
                             node.i("interleaved", 0) != 0));
  if (rank == 3) {
    BYOC_TRY(y, joined_heads(graph, y));
  }
  return std::vector{y};
}

// ---- GroupQueryAttention

Status refused_forms_of_group(const OnnxNode& node) {
  for (const char* attr : {"sliding_window_cache", "kv_cache_bit_width"}) {
    if (node.i(attr, 0) != 0) return unimplemented(cat(attr, " is not supported"));
  }
  for (const char* attr : {"k_quant_type", "v_quant_type"}) {
    if (node.s(attr, "NONE") != "NONE")
      return unimplemented(cat("a quantised cache (", attr, ") is not supported"));
  }
  for (auto [k, name] : {std::pair(12, "k_scale"),
                         {13, "v_scale"},
                         {14, "q_norm_weight"},
                         {15, "k_norm_weight"},
                         {16, "query_seqlens"}}) {
    if (node.has_input(static_cast<size_t>(k)))
      return unimplemented(cat("its input ", name, " is not supported"));
  }
  if (node.has_input(3) != node.has_input(4))
    return invalid("past_key and past_value are given together, or not at all");
  return {};
}

// Returns q, k and v in heads; q may be packed with k and v.
Result<Qkv> group_heads(Graph& graph, const OnnxNode& node) {
  const int64_t h = node.i("num_heads", 0), g = node.i("kv_num_heads", 0);
  ValueId q = graph.input(0);
  if (graph.rank(q) != 3 || h < 1 || g < 1 || h % g != 0)
    return invalid(cat("query must have rank 3, it is ", graph.type(q), "; num_heads ", h,
                       " and kv_num_heads ", g, " must be positive, the first a multiple"));
  Qkv parts{q, q, q};
  if (node.has_input(1)) {
    parts.k = graph.input(1);
    parts.v = graph.input(2);
  } else {
    BYOC_TRY(int64_t width, known_extent(graph, q, 2, "query"));
    const int64_t size = width / (h + 2 * g);
    parts = {sliced(graph, q, 2, 0, h * size), sliced(graph, q, 2, h * size, (h + g) * size),
             sliced(graph, q, 2, (h + g) * size, (h + 2 * g) * size)};
  }
  if (graph.rank(parts.k) != 3 || graph.rank(parts.v) != 3)
    return invalid(cat("key and value must have rank 3, they are ", graph.type(parts.k), " and ",
                       graph.type(parts.v)));
  Qkv heads = parts;
  BYOC_TRY(heads.q, heads_of(graph, parts.q, h, "query"));
  BYOC_TRY(heads.k, heads_of(graph, parts.k, g, "key"));
  BYOC_TRY(heads.v, heads_of(graph, parts.v, g, "value"));
  return heads;
}

bool is_open(Dim dim) { return !dim.is_static() && !dim.is_counted(); }

// Returns total_sequence_length: a constant, or an extent of an input such as the mask.
Result<Dim> read_total(Graph& graph, const OnnxNode& node) {
  const std::optional<Dim> extent = graph.dim_of(graph.input(6));
  if (extent && is_open(*extent)) return *extent;
  BYOC_TRY(Ints known, constant_ints(graph, node, 6, "total_sequence_length"));
  if (known.size() != 1) return invalid("total_sequence_length is not one number");
  return Dim(known[0]);
}

// Decides how the cache is used. With an open size it has a fixed size, and the new positions are
// the last valid ones: a prompt is then the case of as many valid ones as there are new ones.
Status choose_form(Places& places, Dim total) {
  if (places.s.is_static() && total.is_static()) {
    places.is_prompt = total == places.s;
    places.is_joined = total.extent() == places.past + places.s.extent();
  }
  if (places.is_joined || total.max() <= places.past) return {};
  if (!places.s.is_static() || !total.is_static())
    return unimplemented(cat("total_sequence_length is ", total, " for ", places.s,
                             " new positions and a cache of ", places.past))
        .with_help(
            "give the sizes with --shape; with an open number of new positions the cache has room "
            "for all: past_sequence_length and total_sequence_length are one number");
  return unimplemented(cat("total_sequence_length is ", total, ", with a cache of ", places.past,
                           " and ", places.s, " new positions"));
}

// Finds out from total_sequence_length where the new keys come.
Result<Places> read_places(Graph& graph, const OnnxNode& node, const Qkv& heads) {
  Places places;
  BYOC_TRY(places.n, known_extent(graph, heads.q, 0, "query"));
  places.s = graph.type(heads.q).shape[2];
  BYOC_TRY_STATUS(run_extent(graph, heads.q, 2, "query").status());
  if (node.has_input(3)) {
    BYOC_TRY(places.past, known_extent(graph, graph.input(3), 2, "past_key"));
    BYOC_TRY(const Dim total, read_total(graph, node));
    BYOC_TRY_STATUS(choose_form(places, total));
  } else {
    places.is_prompt = places.is_joined = true;
  }
  ValueId ends = cast_to(graph, graph.input(5), DType::kI64);
  places.total = add(graph, reshaped(graph, ends, {places.n, 1}), graph.constant_ints({1}));
  places.positions = unsqueezed(graph, counted_to(graph, places.s), {0});
  if (places.is_prompt) {
    places.first = graph.constant_ints(Ints(static_cast<size_t>(places.n), 0));
  } else {
    ValueId first = graph.call("subtract", {places.total, extent_of(graph, heads.q, 2)});
    places.positions = add(graph, places.positions, first);
    places.first = reshaped(graph, first, {places.n});
  }
  return places;
}

// Names what places.first has, for errors: seqlens_k counts up to the last of the new positions.
std::string name_of_first(const Places& places) {
  const bool is_one = places.s.is_static() && places.s.extent() == 1;
  return cat("group_query.", is_one ? "seqlens_k" : "first_new_position");
}

// Returns the cache with the new keys or values.
Result<ValueId> present(Graph& graph, const Places& places, Value past, ValueId now) {
  if (!past) return now;
  if (graph.rank(*past) != 4)
    return invalid(cat("a cache must have rank 4, one is ", graph.type(*past)));
  if (places.is_joined && (places.n == 1 || places.past == 0))
    return concatenated(graph, {*past, now}, 2);
  if (places.is_joined) {  // each image has its own length: the cache grows at its end
    Ints pads(8, 0);
    pads[6] = places.s.extent();
    past = graph.call("pad", {*past}, {{"pads", pads}});
  }
  return graph.call("update_rows", {*past, now, places.first},
                    {{"axis", int64_t{2}}, {"of", name_of_first(places)}});
}

// Returns the bias by which queries see valid keys: those up to their own, and within the window.
Result<ValueId> visible_bias(Graph& graph, const OnnxNode& node, const Qkv& heads,
                             const Places& places) {
  BYOC_TRY(const Dim t, run_extent(graph, heads.k, 2, "the cache"));
  const ValueId keys = counted_to(graph, t);
  const int64_t window = node.i("local_window_size", -1);
  const bool is_causal = node.i("causal", 1) != 0;
  ValueId queries = unsqueezed(graph, places.positions, {1, 3});
  ValueId allowed = is_causal
                        ? graph.call("less_equal", {keys, queries})
                        : graph.call("less", {keys, reshaped(graph, places.total, {-1, 1, 1, 1})});
  if (window > 0) {
    ValueId first = graph.call("subtract", {queries, graph.constant_ints({window})});
    allowed = graph.call("logical_and", {allowed, graph.call("greater", {keys, first})});
  }
  const DType dtype = graph.type(heads.q).dtype;
  return graph.call("where", {allowed, graph.scalar(dtype, 0), minus_infinity(graph, dtype)});
}

// Adds attention_bias, whose last dim may be shorter than the cache.
Status add_given_bias(Graph& graph, Value& all, const Qkv& heads) {
  Value given = graph.optional_input(10);
  if (!given) return {};
  BYOC_TRY(const Dim cache, run_extent(graph, heads.k, 2, "the cache"));
  BYOC_TRY(const Dim given_width, run_extent(graph, *given, 3, "attention_bias"));
  if (given_width != cache) {
    BYOC_TRY(int64_t t, known_extent(graph, heads.k, 2, "the cache"));
    BYOC_TRY(int64_t width, known_extent(graph, *given, 3, "attention_bias"));
    if (width > t)
      return invalid(cat("attention_bias is ", graph.type(*given), " for ", t, " keys"));
    Ints pads(8, 0);
    pads[7] = t - width;
    given = graph.call("pad", {*given}, {{"pads", pads}});
  }
  join_bias(graph, all, *given);
  return {};
}

// Returns the scores with 0 in place of -infinity.
ValueId without_masked(Graph& graph, ValueId scores) {
  const DType dtype = graph.type(scores).dtype;
  ValueId masked = graph.call("equal", {scores, minus_infinity(graph, dtype)});
  return graph.call("where", {masked, graph.scalar(dtype, 0), scores});
}

// Returns true where queries are at the last valid positions of a cache of a fixed size, and
// weights are those of a plain softmax.
bool has_cached_form(Graph& graph, const OnnxNode& node, const Places& places) {
  const bool is_plain = !graph.optional_input(10) && !graph.optional_input(11) &&
                        node.i("smooth_softmax", 0) != 1 && !node.has_output(3) &&
                        node.f("scale", 0) >= 0;
  return is_plain && node.has_input(3) && !places.is_joined && !places.is_prompt;
}

ValueId attended_in_cache(Graph& graph, const OnnxNode& node, const Qkv& heads,
                          const Places& places) {
  const int64_t window = node.i("local_window_size", -1);
  ValueId lengths = reshaped(graph, places.total, {places.n});
  return graph.call("cached_attention", {heads.q, heads.k, heads.v, lengths},
                    {{"heads", node.i("num_heads", 1)},
                     {"kv_heads", node.i("kv_num_heads", 1)},
                     {"scale", node.f("scale", 0)},
                     {"causal", node.i("causal", 1) != 0},
                     {"left_window", window > 0 ? window - 1 : int64_t{-1}},
                     {"softcap", std::max(node.f("softcap", 0), 0.0)},
                     {"of", "group_query.seqlens_k"}});
}

Converted group_query_attention(Graph& graph, const OnnxNode& node) {
  BYOC_TRY_STATUS(refused_forms_of_group(node));
  BYOC_TRY(Qkv heads, group_heads(graph, node));
  BYOC_TRY(Places places, read_places(graph, node, heads));
  if (node.i("do_rotary", 0) != 0) {
    const bool interleaved = node.i("rotary_interleaved", 0) != 0;
    ValueId at = node.has_input(9) ? graph.input(9) : places.positions;
    const std::pair caches(graph.input(7), graph.input(8));
    BYOC_TRY(heads.q, turned(graph, heads.q, at, caches, interleaved));
    BYOC_TRY(heads.k, turned(graph, heads.k, at, caches, interleaved));
  }
  BYOC_TRY(heads.k, present(graph, places, graph.optional_input(3), heads.k));
  BYOC_TRY(heads.v, present(graph, places, graph.optional_input(4), heads.v));
  if (has_cached_form(graph, node, places)) {
    BYOC_TRY(ValueId y, joined_heads(graph, attended_in_cache(graph, node, heads, places)));
    std::vector<ValueId> outputs{y, heads.k, heads.v};
    outputs.resize(std::min<size_t>(outputs.size(), node.num_outputs()));
    return outputs;
  }
  Scoring how{node.f("scale", 0), node.f("softcap", 0)};
  BYOC_TRY(how.bias, visible_bias(graph, node, heads, places));
  BYOC_TRY_STATUS(add_given_bias(graph, how.bias, heads));
  if (Value sink = graph.optional_input(11)) how.sink = reshaped(graph, *sink, {1, -1, 1, 1});
  else if (node.i("smooth_softmax", 0) == 1) how.sink = graph.scalar(graph.type(heads.q).dtype, 0);
  BYOC_TRY(Attended result, attended(graph, heads, how));
  BYOC_TRY(ValueId y, joined_heads(graph, result.y));
  std::vector<ValueId> outputs{y, heads.k, heads.v};
  if (node.has_output(3)) {
    const int64_t which = node.i("qk_output", 0);
    if (which != 1 && which != 2) return invalid("output_qk needs qk_output 1 or 2");
    outputs.push_back(which == 1 ? without_masked(graph, result.scores) : result.probabilities);
  }
  outputs.resize(std::min<size_t>(outputs.size(), node.num_outputs()));
  return outputs;
}

constexpr Row kGroupQueryRows[] = {
    {"GroupQueryAttention", 1, 1, group_query_attention},
    {"RotaryEmbedding", 1, 1, rotary_of_runtime},
};

}  // namespace

std::span<const Row> microsoft_group_query_rows() { return kGroupQueryRows; }

}  // namespace byoc::onnx_import
