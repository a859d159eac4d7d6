// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images whose channels are the last dim, as images whose channels are dim 1, and back.
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {

/// Moves the last dim of x to place 1. Errors: kInvalidArgument for a rank below 3.
inline Result<ValueId> channels_second(Graph& graph, ValueId x) {
  const auto rank = static_cast<int64_t>(graph.rank(x));
  if (rank < 3) return invalid(cat("its input must have rank 3 or more, it is ", graph.type(x)));
  Ints perm{0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d) perm.push_back(d);
  return transposed(graph, x, perm);
}

/// Moves dim 1 of x to the end.
inline ValueId channels_last(Graph& graph, ValueId x) {
  const auto rank = static_cast<int64_t>(graph.rank(x));
  if (rank < 3) return x;  // an operand failed
  Ints perm{0};
  for (int64_t d = 2; d < rank; ++d) perm.push_back(d);
  perm.push_back(1);
  return transposed(graph, x, perm);
}

}  // namespace byoc::onnx_import
