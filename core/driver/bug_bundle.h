// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder byoc-bug-HASH that a defect of byoc leaves.

namespace byoc::driver {

/// Lets a defect of this process leave a folder in the current folder, or in that of temporary
/// files: the module before the pass, the command, the versions, what `byoc doctor` prints, and a
/// line that repeats the defect. The first defect of a process is reported, and nothing when
/// BYOC_BUG is "0". `argv` must live as long as the process.
void leave_bug_bundles(int argc, char** argv);

}  // namespace byoc::driver
