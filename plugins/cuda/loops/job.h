// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel before its loops: a stage with all that is inlined into it, and the elementwise stage
// that ends a reduction.
#include <memory>

#include "plugins/cuda/loops/group.h"

namespace byoc::cuda {

struct Attention;
struct Rows;

struct Job {
  const te::Stage* stage;  // a Compute
  te::Exprs values;        // of its outputs, or terms of the reduction
  Extents extents, reduce;
  // For a reduction with one output: the stage that reads it, at its own indices.
  const te::Stage* end = nullptr;
  te::Exprs end_values = {};
  std::shared_ptr<const Attention> attention = nullptr;  // of a product whose weights are softmax
  std::shared_ptr<const Rows> rows = nullptr;  // of an elementwise job: reductions of its rows

  const te::Compute& compute() const { return std::get<te::Compute>(stage->kind); }
  int64_t elements() const { return product_of(extents); }
  int64_t terms() const { return product_of(reduce); }
};

/// Replaces loads of `tensor`, all of which are at the same indices, by `value`.
te::Expr with_value(const te::Expr& x, const te::Tensor& tensor, const te::Expr& value);
/// Makes the statements that store the results at `indices`: `sums` are those of the reduction, or
/// empty for other stages.
te::Stmt stored(const Job& job, const te::Exprs& indices, const te::Exprs& sums);

/// Memory for partial results of a reduction, one per output, each of this shape.
std::vector<te::Tensor> partial_results(const Job& job, const te::Exprs& shape);
/// Makes: memory = identity.
te::Stmt cleared(const Job& job, const std::vector<te::Tensor>& memory, const te::Exprs& at);
/// Makes: memory at `at` = memory combined with `terms`.
te::Stmt combined(const Job& job, const std::vector<te::Tensor>& memory, const te::Exprs& at,
                  const te::Exprs& terms);
/// Returns the elements at `at`.
te::Exprs loads_of(const std::vector<te::Tensor>& memory, const te::Exprs& at);
/// Returns the terms at these places.
te::Exprs terms_at(const Job& job, const te::Exprs& indices, const te::Exprs& reduce);
/// Makes memory of the thread.
te::Stmt allocated(const std::vector<te::Tensor>& memory, te::Stmt body);

/// Makes the statements with which the threads of a group compute partial results of the reduction
/// at `at`: parts[0] of each is the whole one after them. `width`: threads, a power of two.
std::vector<te::Stmt> reduced_by_group(const Job& job, const te::Exprs& at, int64_t width,
                                       const std::vector<te::Tensor>& parts, Groups& groups);
/// Returns true where a group of threads per result is faster than a thread.
bool has_groups(const Job& job);

/// The loops of a job that is no reduction.
te::Stmt elementwise_kernel(const Job& job, Groups& groups);
/// The loops of any reduction.
te::Stmt reduction_kernel(const Job& job, Groups& groups);

}  // namespace byoc::cuda
