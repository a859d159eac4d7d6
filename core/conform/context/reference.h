// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results that a plugin's are compared with.
#include "byoc/ir/module.h"

namespace byoc::conform {

using Buffers = std::vector<std::shared_ptr<const Buffer>>;

/// Returns the results of `main`, which has ops alone, by their reference kernels; `given` has the
/// parameters. Errors: those of evaluate.
Result<Buffers> reference_results(const IRModule& module, const Buffers& given);

}  // namespace byoc::conform
