// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cores of threads that work for each other.
#include <cstdint>

namespace byoc {

/// Returns the number of the core that this thread is on, or -1 where the system does not have it.
int current_core();

/// Moves this thread to another of its cores when it is on `core`; does nothing when it has no
/// other. Kernels start and wake threads where their caller is. Some leave them there for long,
/// such as those of virtual machines that keep cores idle: a worker then takes the time of the
/// thread it is to help. Does not change the cores that the thread may use.
void leave_core(int core);

/// Binds this thread to one of the processors that the first caller might use: the number `worker`
/// of those after `core`, in a circle. Does nothing where the system does not allow it.
void keep_core(int core, uint32_t worker);

}  // namespace byoc
