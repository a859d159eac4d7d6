// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes what follows a transposed convolution where its loops store a result.
//   before: y[..] = sum            after: z[..] = relu(sum + bias[..])
//           z[..] = relu(y[..] + bias[..])
#include <optional>

#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin::phases {

/// The roles of the loops: results are stored as vectors, or one by one.
inline constexpr const char *kVectors = "phases.vectors", *kScalars = "phases.scalars";

/// Returns a Dag whose loops store its result; nullopt when the Dag has no loops that store
/// vectors, or when something else than one result of the same shape, elementwise, follows them.
std::optional<te::Dag> merged(const te::Dag& dag);

}  // namespace byoc::llvm_plugin::phases
