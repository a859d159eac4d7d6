// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention as one kernel: y = softmax(score(q k)) v, whose scores are in no memory of the device.
// Keys are read in blocks, with the greatest score of a row so far:
//   top' = max(top, scores);  p = e^(scores - top');  c = e^(top - top')
//   sum = sum c + p;  acc = acc c + p v;  at the end y = acc / sum
// Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018; T. Dao et
// al., "FlashAttention", 2022.
#include "plugins/cuda/loops/product.h"
#include "plugins/cuda/loops/readers.h"

namespace byoc::cuda {

/// A product of softmax and values, by the axes of its job. `key` is the axis of its sum.
struct Attention {
  Product values;               // m: queries, k: keys, n: columns; b: values
  te::Expr q, k;                // factors of the dot products, at the axes of `depth`
  std::vector<te::Axis> depth;  // the axes of the dot products
  Extents depths;
  te::Var dot;                   // a dot product
  te::Expr score;                // of `dot`, at a query and a key
  te::Expr is_zero;              // a query has zeros as its result; empty: none has
  te::Combiner greatest;         // of two scores
  std::vector<size_t> replaced;  // stages that nothing else reads

  int64_t depth_size() const { return product_of(depths); }
};

/// Returns the attention that ends with the job of a stage, by its expressions: whatever ops they
/// come from, whatever is done to the scores. nullopt: it is none, its heads have more than 128
/// numbers, or another job reads the scores.
std::optional<Attention> attention_of(size_t stage, const Jobs& jobs);

/// The kernel of such a job: by tensor cores where queries, keys and values are f16 or bf16.
te::Stmt attention_kernel(const Job& job, const Attention& attention, Groups& groups);

}  // namespace byoc::cuda
