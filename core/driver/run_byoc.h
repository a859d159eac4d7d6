// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command `byoc` as a function, for its program and for libbyoc.so.

namespace byoc::driver {

/// Runs the command with the arguments of main and returns its exit code. Handles signals, and ends
/// the use of plugins in this process.
int run_byoc(int argc, char** argv);

}  // namespace byoc::driver
