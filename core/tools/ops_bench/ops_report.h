// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of `byoc bench --ops` as text and as JSON.
#include "core/tools/ops_bench/ops_bench.h"

namespace byoc::driver {

/// Returns a table of the cases, the worst ratio first, without a peer the slowest; then what is
/// refused, and the geometric mean of each number of threads. Wrong results come first.
std::string ops_text(const OpsBench& bench, const OpsBenchOptions& options);
/// Returns the members of byoc.bench-ops/1, in the order of the text.
Json ops_json(const OpsBench& bench, const OpsBenchOptions& options, const ModelOptions& model);

}  // namespace byoc::driver
