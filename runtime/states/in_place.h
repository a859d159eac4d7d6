// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the states whose new value a step may write over the old one.
#include <limits>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// The value of `writer_of_states` for a state that needs a second buffer.
inline constexpr size_t kNoWriter = std::numeric_limits<size_t>::max();

/// Returns per state the step that writes its new value in place, or kNoWriter. A step may do so
/// when its kernel declares the pair (byoc_kernel_info.inplace_pairs), it reads the old value once,
/// and no later step and no copy reads that. Programs with control flow have no such step. The
/// executable has passed check_executable. Cost: linear in the arguments of all steps.
std::vector<size_t> writers_of_states(const Executable& executable);

}  // namespace byoc
