// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of check_executable that are about devices. Errors: slug "executable".
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Returns the error for a part of an executable that does not fit the others.
Status bad_executable(std::string message);
/// Checks the list of devices of a program.
Status check_devices(const Program& program);
/// Checks the device of a compiled function, and the places of its arguments.
Status check_device_facts(const ExternalFunction& function);
/// Checks a place in the arena of a device.
Status check_device_place(const Program& program, const Place& place, const TensorSpec& type);
/// Checks that the arguments of a step are where its function reads and writes them, and that a
/// copy has one end on a device. `function`: null for copies and for functions of the host program.
Status check_placement(const Executable& executable, const Step& step,
                       const ExternalFunction* function);

}  // namespace byoc
