// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binds the caller's views as the arguments of one run.
#include <span>

#include "byoc/runtime/tensor.h"

namespace byoc {

struct ContextState;

/// Sets all that depends on the open sizes of the inputs, when they have changed. Errors: those of
/// OpenViews::update.
Status take_sizes(ContextState& context, std::span<const DLTensor> inputs);
/// Fills `values` of the context from the caller's views, through staging memory where they cannot
/// be used as they are. Allocates nothing unless it fails.
Status bind_arguments(ContextState& context, std::span<const DLTensor> inputs,
                      std::span<const DLTensor> outputs);
/// Copies outputs from staging memory to the caller's views.
void return_outputs(const ContextState& context, std::span<const DLTensor> outputs);

}  // namespace byoc
