// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binds the caller's views as the arguments of one run.
#include <span>

#include "byoc/runtime/tensor.h"
#include "runtime/artifact/open_sizes.h"

namespace byoc {

struct ContextState;

/// Sets the dims of all views, when the open sizes of the inputs have changed. Errors: those of
/// OpenViews::update.
Status take_sizes(ContextState& context, std::span<const DLTensor> inputs);
/// Gives the arena, the workspace and all copies the bytes that the sizes need. Allocates when they
/// need more than any before. Errors: slug "size-overflow", "no-memory", "allocator".
Status fit_sizes(ContextState& context);
/// Returns the bytes of an argument with the dims of this run. Errors: slug "size-overflow".
Result<uint64_t> bytes_of_tensor(const NamedTensor& tensor, const OpenViews& open);
/// Fills `values` of the context from the caller's views, through staging memory where they cannot
/// be used as they are. Views on a device of the program are used there; what the host reads of
/// them is copied to staging memory now. Allocates only for sizes that are larger than any before.
Status bind_arguments(ContextState& context, std::span<const DLTensor> inputs,
                      std::span<const DLTensor> outputs);
/// Copies outputs from staging memory to the caller's views. Errors: those of Device::copy.
Status return_outputs(const ContextState& context, std::span<const DLTensor> outputs);

}  // namespace byoc
