// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Checks the invariants that every later step relies on: indices are in range, sizes are those of
/// the types, arena places lie inside the arena, a step's outputs overlap no other argument except
/// in declared pairs, every output is written (once, without control flow) and read only
/// afterwards, and all bytes that are named are present. Linear in the size of the program. Errors:
/// kInvalidArgument, slug "executable", naming the place.
Status check_executable(const Executable& executable);
/// Checks a fallback as a program, and that it has the inputs and outputs of `executable`. Errors:
/// as check_executable.
Status check_fallback(const Executable& executable);

}  // namespace byoc
