// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures this machine.
#include "core/machine/machine.h"

namespace byoc::machine {

/// Measures for at most about a second, with threads on all cores that this process may use, and
/// 128 MiB of memory until it returns. Rates are the best of several short runs, by the processor
/// time of threads, and times the shortest, so that other work of the machine changes them little.
Machine measure_machine();

}  // namespace byoc::machine
