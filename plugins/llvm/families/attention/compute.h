// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention as tensor expressions: both of its products read their right operand in panels of one
// vector of columns, and softmax is between them.
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::attention {

/// The compute of both products.
inline constexpr const char* kCompute = "attention";

/// Returns the compute of the scores, or of the product with the values. Of the scores,
/// x [.., m, d] by y [.., d, n], it has these stages, then matmul[.., m, n], which reads the first
/// n columns of the sums:
///   attention.queries[.., m, d]            x
///   attention.keys[.., j, d, lane]         y in panels; the last one is filled up with zeros
///   attention.scores[.., m, j * lane]      sums over d
/// Of the product with the values, x [.., m, n] by y [.., n, e]:
///   attention.values[.., j, n, lane]       y in panels
///   attention.results[.., m, j * lane]     sums over n of x, which is no stage of its own
ComputeFn compute_of(bool is_scores, int64_t lanes);

/// The roles of these stages.
inline constexpr std::string_view kQueries = "attention.queries", kKeys = "attention.keys",
                                  kScores = "attention.scores", kValues = "attention.values",
                                  kResults = "attention.results";

}  // namespace byoc::llvm_plugin::attention
