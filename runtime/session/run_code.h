// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the instructions of a program with control flow.
#include <functional>
#include <span>

#include "runtime/session/session_state.h"

namespace byoc {

/// Connects the instructions of each block. `code` has passed check_code, but for targets and the
/// extents of loops it is complete.
void find_targets(std::span<BoundInstruction> code);

/// Runs `code`. `run_step` runs a step; `check` ends the run when its status is not ok, and is
/// called after every iteration. Neither recurses nor allocates. Errors: those of the callbacks;
/// slug "loop-extent" when a loop does not run as many times as its stacked results have rows.
Status run_code(std::span<const BoundInstruction> code,
                const std::function<Status(size_t)>& run_step,
                const std::function<Status()>& check);

}  // namespace byoc
