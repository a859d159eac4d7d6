// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Runs fuse_ops with these default codegens, in order of priority.
Result<IRModule> fuse_ops_with(IRModule module, const std::vector<std::string>& defaults,
                               const PassContext& context);

}  // namespace byoc
