// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Gives the values on devices their places in an arena per device, by their live ranges in the
/// list of steps. before: Place::offset numbers the values; after: it is in bytes, and
/// ProgramDevice::arena_bytes are set. A value lives until the end of the outermost loop that reads
/// it and does not write it. The steps are in the order of the instructions. O(n log n), times the
/// depth of loops.
void plan_devices(Program& program);

}  // namespace byoc
