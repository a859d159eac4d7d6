// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/runtime/artifact.h"

namespace byoc::driver {

/// Puts copies around the one step of a program, where it calls a function of a device: before it
/// of what the function reads there, after it of what it writes. `module`: the step's. The
/// arguments of the step are inputs and outputs, and stay these.
void put_on_device(const ExternalModule& module, Program& program);

}  // namespace byoc::driver
