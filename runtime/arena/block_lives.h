// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lifetimes of the blocks of a program whose arena each run packs.
#include "byoc/base/arena.h"
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Returns the first and the last position that uses each block: positions are instructions, or
/// steps in a program without code; copies at the end have one more. A block that a loop uses and
/// that was used before lives until the loop ends; one that a loop appends to lives through all of
/// it. The bytes are 0. `program` has passed check_executable. Cost: O(places * depth of loops).
std::vector<Lifetime> block_lives(const Program& program);

}  // namespace byoc
