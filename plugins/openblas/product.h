// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops that are matrix products, as one description: what BLAS needs to run them.
#include <optional>

#include "byoc/plugin/sdk/plugin.h"

namespace byoc::openblas {

/// Where the matrices of an operand lie in memory, counted in elements.
struct Matrices {
  uint32_t arg = 0;            // the operand of the node
  std::vector<int64_t> steps;  // from one matrix to the next, per batch dim; 0: the same matrix
  bool transposed = false;     // columns are contiguous, not rows
  int64_t ld = 1;              // the leading dimension
};

/// The operand of an `add` that follows, counted in elements; 0 where it broadcasts.
struct Bias {
  uint32_t arg = 0;
  std::vector<int64_t> steps;  // per batch dim
  int64_t row = 0, column = 0;
};

/// y[batch..., m, n] = alpha * (a[batch..., m, k] * b[batch..., k, n]) + bias; y is compact.
struct Product {
  sdk::DType dtype = sdk::DType::kF32;
  std::vector<int64_t> batch;  // extents; dims in which b stays the same are part of m if possible
  int64_t m = 1, n = 1, k = 1;
  Matrices a, b;
  double alpha = 1;
  std::optional<Bias> bias;

  int64_t matrices() const;  // the number of results
};

/// Reads matmul, gemm, or a convolution whose kernel is one cell; alone, or as a composite with
/// transposed operands and a bias. Throws sdk::Declined with the reason for what BLAS cannot run.
Product read_product(const sdk::Graph& graph, const sdk::Node& node);

}  // namespace byoc::openblas
