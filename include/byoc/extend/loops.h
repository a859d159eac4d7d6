// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops of libraries as loops.
#include "byoc/pass/pass.h"

namespace byoc {

/// Makes each call of an op of a library (byoc/op/added.h) that is in no region a call of loops, by
/// the op's tensor expression, for a plugin that compiles loops. Ops without an expression stay.
Result<IRModule> make_added_loops(IRModule, const PassContext&);

/// The attribute of a function of loops with the name of the op that they are made of. Attributes
/// of the op follow as `library_op_NAME`.
inline constexpr const char* kLibraryOpAttr = "library_op";
/// Returns the function with a call of the op in the place of its loops, for a plugin that has the
/// op's reference kernel; the function itself when it is not made of an op of a library.
Function with_library_op(const Function& function);

}  // namespace byoc
