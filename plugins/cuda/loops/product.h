// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions that are products: sums of a(batch, m, k) b(batch, n, k), such as matrix products and
// convolutions, whatever the expressions a and b are.
#include <optional>
#include <unordered_set>

#include "plugins/cuda/loops/job.h"

namespace byoc::cuda {

using Vars = std::unordered_set<const void*>;  // Var::id()
/// Returns the variables of an expression.
Vars vars_of(const te::Expr& x);
/// Returns true for sums of one value.
bool is_sum(const te::Combiner& combiner);

/// The axes of a product, by the factors whose value depends on them.
struct Product {
  te::Expr a, b;                    // of the axes of the job
  std::vector<size_t> batch, m, n;  // places in Job::extents; n has the last axis of the result
  int64_t batch_size = 1, m_size = 1, n_size = 1, k_size = 1;
};

/// Returns the product that the job is; nullopt for other reductions.
std::optional<Product> product_of_job(const Job& job);
/// Returns the indices of the job for flat places among its batch, m and n axes.
te::Exprs indices_of(const Job& job, const Product& product, const te::Expr& batch,
                     const te::Expr& m, const te::Expr& n);
/// Returns true where neighbours along `var` are neighbours in memory, for the first load of x that
/// depends on it.
bool is_adjacent_along(const te::Expr& x, const te::Var& var);

/// The loops of a product in tiles: each group has a tile of results, whose factors it brings to
/// shared memory a slice of k at a time; each thread has sums in registers.
/// nullopt where the product is too small for tiles.
std::optional<te::Stmt> product_kernel(const Job& job, Groups& groups);

}  // namespace byoc::cuda
