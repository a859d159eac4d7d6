// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the steps and instructions of a planned module.
#include "byoc/ir/module.h"
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Appends inputs, outputs, constants, steps, code and copies to `out.program`. The modules of
/// `out` are those of `module`; their aliases are removed. Errors: slug "symbolic-shape".
Status write_steps(const IRModule& module, Executable& out);

}  // namespace byoc
