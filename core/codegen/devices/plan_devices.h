// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Gives the values on devices their places in an arena per device, by their live ranges in the
/// list of steps. before: Place::offset numbers the values; after: it is in bytes, and
/// ProgramDevice::arena_bytes are set. A value is written and read within one block of calls, so
/// that its steps are between two instructions of control flow. O(n log n).
void plan_devices(Program& program);

}  // namespace byoc
