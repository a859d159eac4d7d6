// SPDX-License-Identifier: Apache-2.0
#pragma once
// The way in which threads of OpenMP wait for each other.

namespace byoc {

/// Lets threads of OpenMP sleep while they wait, instead of spin, when other processes run on half
/// of the cores or more for a tenth of a second: a thread that spins keeps the one it waits for
/// from its core. Where cores are free, loops take half the time if threads spin. Called first
/// in `main`, with its arguments. libgomp reads `GOMP_SPINCOUNT` when it is loaded, before `main`,
/// so this sets the variable and begins the program again. Returns when there is no need: without
/// `--threads` in the arguments, or where the user has set that variable or `OMP_WAIT_POLICY`.
void sleep_beside_others(char** argv);

}  // namespace byoc
