// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Does what choose_computes does, for functions that came after it: run_codegen makes some of what
/// plugins decline. Rules about calls that are not among them are no error.
Result<IRModule> choose_for_new_functions(IRModule module, const PassContext& context);

}  // namespace byoc
