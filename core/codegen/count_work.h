// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/ir/module.h"

namespace byoc {

/// Adds the flops and ops of a function, including those of its composites, to `out`.
void count_work(const IRModule& module, const Function& function, ExternalFunction& out);

}  // namespace byoc
