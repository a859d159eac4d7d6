// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention as com.microsoft has it in several operators.
#include "core/import/onnx/convert.h"

namespace byoc::onnx_import {

/// q [n, h, s, d], k [n, g, t, d] and v [n, g, t, e], where g divides h.
struct Qkv {
  ValueId q, k, v;
};

/// The way from the scores q k to weights.
struct Scoring {
  double scale = 0;    // 0: 1 / sqrt(d)
  double softcap = 0;  // 0: none
  Value bias = {};     // added to the scores, it broadcasts to [n, h, s, t]
  Value sink = {};     // broadcasts to [n, h, s, 1]: one more score, of no value
};

struct Attended {
  ValueId y, scores, probabilities;  // [n, h, s, e], [n, h, s, t]
};

/// Reshapes [n, length, heads * size] to [n, heads, length, size].
Result<ValueId> heads_of(Graph& graph, ValueId x, int64_t heads, const char* name);
/// Reshapes [n, heads, length, size] to [n, length, heads * size].
Result<ValueId> joined_heads(Graph& graph, ValueId x);
Result<Attended> attended(Graph& graph, const Qkv& heads, const Scoring& how);

/// A mask of int32, and the number that it adds to the scores of what is masked.
struct Mask {
  ValueId mask;
  double filter;
  const char* name;
};
/// Returns a mask as a bias of the scores: [n, t] or [n, s, t] with 0 for what is masked; [n] with
/// the numbers of keys that are valid, [2 n] with the first keys that are after these numbers.
Result<ValueId> mask_bias(Graph& graph, const Mask& mask, const Qkv& heads);
/// Returns the bias by which a query sees the keys up to its own. The first `past` keys were before
/// the queries.
Result<ValueId> causal_bias(Graph& graph, const Qkv& heads);
/// Adds a bias to those before it.
void join_bias(Graph& graph, Value& all, ValueId more);
/// Adds the bias [n, h, s, t] of the model, whose n and h may be 1. Its s and t may have names of
/// their own.
void join_given(Graph& graph, Value& all, ValueId bias, const Qkv& heads);

}  // namespace byoc::onnx_import
