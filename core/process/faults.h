// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of illegal accesses, for the parent of this process.

namespace byoc::process {

/// Installs the handler of illegal accesses in this process, which must be a child. An access
/// outside of guarded memory ends the process, and Activity::fault names the memory.
void name_faults();

}  // namespace byoc::process
