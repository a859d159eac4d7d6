// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention of queries to the first keys of a cache.
#include "core/op/kernel/expression.h"

namespace byoc::op {

/// The extents of one call: q [n, heads, s, d], k [n, kv_heads, t, d], v [n, kv_heads, t, e]. Each
/// of them may be packed instead: [n, length, heads * size]. lengths[n] of the t keys are valid,
/// and the queries are at the last s of these positions.
struct CachedAttention {
  int64_t n = 0, heads = 1, kv_heads = 1, s = 0, t = 0, d = 0, e = 0;
  double scale = 1, softcap = 0;  // of the scores; no cap: 0
  bool is_causal = false;         // no key after the query is seen
  int64_t left = -1, right = -1;  // keys seen before and after the query; -1: all
  bool has_packed[3] = {};        // per operand
  /// Returns the heads of q that a head of k and v serves.
  int64_t group() const { return heads / kv_heads; }
  /// Returns true where the visible keys depend on the query.
  bool has_bounds() const { return is_causal || left >= 0 || right >= 0; }
};

/// The place of an element: all its indices but the last are of one row.
template <class Index>
std::vector<Index> row_place(bool is_packed, int64_t size, Index image, Index head, Index position,
                             Index column) {
  if (is_packed) return {image, position, head * size + column};
  return {image, head, position, column};
}

/// Returns the loops. Operands: q, k, v, lengths, and a mask or none. The loops over keys end at
/// the length; each row of k and v is read once by all heads of its group. n and s may be open.
Result<Tensors> cached_attention_loops(te::Builder& builder, const CachedAttention& plan,
                                       std::string_view of, Inputs in, TypeId out);

}  // namespace byoc::op
