// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a program over its steps, and the types of their arguments.
#include <nlohmann/json_fwd.hpp>

#include "byoc/runtime/artifact.h"

namespace byoc::driver {

/// Returns "arena_bytes", "peak_live_bytes" and "values": the place of each value in the arena, and
/// the steps that write it and read it last. A program with control flow has no "values".
nlohmann::ordered_json memory_json(const Program& program);

/// Returns one object per step: the types of its arguments and its workspace; of steps of the host
/// the types alone.
nlohmann::ordered_json steps_json(const Executable& executable);

}  // namespace byoc::driver
