// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax, norms and the like as one kernel: reductions of rows, and an elementwise job that reads
// their results.
#include "plugins/cuda/loops/readers.h"

namespace byoc::cuda {

/// The reductions that a job reads per row, in order. A later one may read the results of earlier
/// ones, of the same row.
struct Rows {
  std::vector<Job> reductions;
  std::vector<te::Exprs> places;  // of each result, by the row axes of the job
  std::vector<size_t> rows, columns;
  std::vector<size_t> replaced;  // stages of the reductions: nothing else reads them
};

/// Returns the rows of an elementwise job; nullopt where its reductions are better kernels of their
/// own: their results are read elsewhere too, or at other rows, or rows are short, or very long.
std::optional<Rows> rows_of(size_t stage, const Jobs& jobs);

/// The kernel: a group of threads per row. The results of reductions are in shared memory.
te::Stmt rows_kernel(const Job& job, const Rows& rows, Groups& groups);

}  // namespace byoc::cuda
