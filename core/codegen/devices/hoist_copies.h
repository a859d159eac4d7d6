// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Moves copies to devices out of loops that do not write what they copy, and leaves out those of a
/// value that was copied to the device before the same loop. A copy leaves an `if` only together
/// with a loop around it. Sorts the steps by the instructions that call them. Before plan_devices:
/// the offsets of places on devices number the values.
///   before: loop {                        after: call 0: copy_to_device(w)
///             call 0: copy_to_device(w)          loop {
///             call 1: @sim_body_0                  call 1: @sim_body_0
///           }                                    }
/// O(n log n) in the instructions, times the depth of loops.
void hoist_copies(Program& program);

}  // namespace byoc
